/**
 * Samples of this process's last 15 minutes, for people without a monitoring system.
 *
 *   start   samples every 5 s until stop, at multiples of 5 s on the wall clock; keeps the newest
 *
 * Owns its timer. If the state cannot be read, that sample is missing.
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { Activity, IntervalFigures } from './activity.ts';
import type { ProcessorState } from './processor-state.ts';

export const SAMPLE_INTERVAL_MS = 5_000;
const HISTORY_MS = 15 * 60_000;
const SAMPLES_MAX = HISTORY_MS / SAMPLE_INTERVAL_MS;
/** A timer that fires slightly early would take two samples in one interval. */
const TIMER_MARGIN_MS = 50;

export interface Sample extends IntervalFigures {
  readonly at: string;
  /** Since the previous sample. Divide counts by it to get a rate. */
  readonly intervalSeconds: number;
  /** Commands not yet admitted in this process's lanes; null if unknown for every input. */
  readonly lagMessages: number | null;
  /** Number of inputs with a known lag. Lag is comparable only between samples with the same number. */
  readonly lagInputs: number;
  /** Admitted commands without a result. */
  readonly unfinished: number;
  /** 0 if every command has its result. */
  readonly oldestUnansweredSeconds: number;
}

export interface HistoryOptions {
  readonly activity: Pick<Activity, 'takeInterval'>;
  readonly readState: () => Promise<ProcessorState>;
  readonly clock: Clock;
  /** Reading the state failed: a bug. */
  readonly onError: (error: unknown) => void;
}

export class History {
  readonly #options: HistoryOptions;
  readonly #samples: Sample[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sampledMs: number;

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.#sampledMs = options.clock.monotonicMs();
  }

  start(): void {
    // All members sample at the same times, because their samples are merged.
    const waitMs = SAMPLE_INTERVAL_MS - (this.#options.clock.nowMs() % SAMPLE_INTERVAL_MS) + TIMER_MARGIN_MS;
    this.#timer = setTimeout(() => {
      this.start();
      this.sample().catch((error: unknown) => this.#options.onError(error));
    }, waitMs);
    this.#timer.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Oldest first. */
  samples(): readonly Sample[] {
    return this.#samples;
  }

  /** Reads the state and adds a sample. Settles once the state is read. */
  async sample(): Promise<void> {
    const state = await this.#options.readState();
    const { activity, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const intervalSeconds = Math.max(nowMs - this.#sampledMs, 1) / 1000;
    this.#sampledMs = nowMs;
    // Not `state.at`: a member that asks meanwhile continues from a later instant, and would miss this sample.
    const at = new Date(clock.nowMs()).toISOString();
    this.#samples.push({ at, ...sampleOf(state), ...activity.takeInterval(), intervalSeconds });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
  }
}

function sampleOf(
  state: ProcessorState,
): Pick<Sample, 'lagMessages' | 'lagInputs' | 'unfinished' | 'oldestUnansweredSeconds'> {
  const lags = state.lanes.flatMap((lane) => lane.inputs.filter((input) => input.command !== null));
  const known = lags.map((input) => input.lagMessages).filter((messages) => messages !== null);
  return {
    lagMessages: known.length === 0 ? null : known.reduce((sum, messages) => sum + messages, 0),
    lagInputs: known.length,
    unfinished: state.unfinished.reduce((sum, group) => sum + group.count, 0),
    oldestUnansweredSeconds: Math.max(0, ...Object.values(state.oldestUnansweredSeconds).map((age) => age ?? 0)),
  };
}
