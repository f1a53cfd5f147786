/**
 * Samples of this process's last quarter of an hour, for charts without a monitoring system.
 *
 *   start   samples at each full 5 s of the wall clock, until stop; the ring keeps the newest
 *
 * Owns its timer. A state that cannot be read leaves a gap in the time of the samples.
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
  /** Commands that are not admitted, all lanes; null if it is unknown for every lane. */
  readonly lagMessages: number | null;
  /** Inputs of this process's lanes with a known lag. Only samples with the same inputs can be compared. */
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
  /** A state could not be read: a bug. */
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
    // Not the state's own instant: a reader that asked during the reading asks next for samples newer than that.
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
