/**
 * Reads the state of this process from those who have it. Remembers per input where its lane stood last and since when
 * lag has been seen there, as much as there are lanes and topics.
 */
import type { Clock } from '../api/clock.ts';
import type { PaymentApi } from '../api/payment-api.ts';
import type { LaneSetStatus } from '../consumers/lane-set.ts';
import type { CommandType } from '../records/commands.ts';
import type { TopicNames } from '../records/topics.ts';
import type { Activity } from './activity.ts';
import { readiness, type Readiness } from './health.ts';
import { inputLag, type InputLag, type KnownOffsets, type Waiting } from './lag.ts';
import { processorState, type ProcessorState } from './processor-state.ts';
import { TopicEnds, type KnownTopicEnds, type OffsetSource } from './topic-ends.ts';

export interface StateReaderOptions {
  readonly lanes: OffsetSource & { status(): LaneSetStatus };
  readonly api: Pick<PaymentApi, 'snapshot'>;
  readonly isDraining: () => boolean;
  readonly topics: TopicNames;
  /** Command types that this process serves. */
  readonly commandTypes: readonly CommandType[];
  readonly laneCount: number;
  /** Calls under way at once, at most. */
  readonly callSlots: number;
  readonly activity: Pick<Activity, 'state'>;
  readonly clock: Clock;
}

interface InputMemory {
  readonly position: bigint | null;
  readonly waiting: Waiting | null;
}

const NOTHING: InputLag = { messages: null, oldestMs: null, cause: null, position: null, waiting: null };

export class StateReader {
  readonly #options: StateReaderOptions;
  readonly #ends: TopicEnds;
  readonly #memory = new Map<string, InputMemory>();

  constructor(options: StateReaderOptions) {
    this.#options = options;
    const { clock, commandTypes, lanes, topics } = options;
    this.#ends = new TopicEnds(
      lanes,
      [...commandTypes.map((type) => topics.commands[type]), topics.observations],
      clock,
    );
  }

  /** At once: asks nobody outside the process. */
  readiness(): Readiness {
    const { api, commandTypes, isDraining, lanes } = this.#options;
    return readiness({
      isDraining: isDraining(),
      lanes: lanes.status(),
      api: api.snapshot(),
      servedOperations: commandTypes,
    });
  }

  /** Settles within about a second, whatever Kafka does; never rejects for it. */
  async read(): Promise<ProcessorState> {
    const known = await this.#ends.latest();
    const { activity, api, callSlots, clock, laneCount, lanes } = this.#options;
    const status = lanes.status();
    const nowMs = clock.nowMs();
    const lags = this.#lags(status, known, nowMs);
    return processorState({
      nowMs,
      readiness: this.readiness(),
      lanes: status,
      laneCount,
      api: api.snapshot(),
      lagOf: (lane, topic) => lags.get(inputName(lane, topic)) ?? NOTHING,
      endsAgeMs: known.ageMs,
      callSlots,
      activity: activity.state(new Set(status.lanes.keys()), nowMs),
    });
  }

  #lags(status: LaneSetStatus, known: KnownTopicEnds, nowMs: number): Map<string, InputLag> {
    const lags = new Map<string, InputLag>();
    for (const [lane, { stage, inputs }] of status.lanes) {
      for (const input of inputs) {
        const name = inputName(lane, input.topic);
        const memory = this.#memory.get(name);
        const offsets = offsetsOf(known, input.topic, lane);
        const lag = inputLag(stage, input, offsets, memory?.position ?? null, memory?.waiting ?? null, nowMs);
        this.#memory.set(name, lag);
        lags.set(name, lag);
      }
    }
    // What another process owns by now is stale when it comes back.
    for (const name of this.#memory.keys()) if (!lags.has(name)) this.#memory.delete(name);
    return lags;
  }
}

function offsetsOf(known: KnownTopicEnds, topic: string, lane: number): KnownOffsets {
  const answer = known.topics.get(topic);
  const ends = answer?.ends.get(lane);
  if (answer === undefined || ends === undefined) return { endOffset: null, groupOffset: null };
  return {
    endOffset: ends.high,
    groupOffset: answer.committed === null ? null : (answer.committed.get(lane) ?? ends.low),
  };
}

function inputName(lane: number, topic: string): string {
  return `${lane} ${topic}`;
}
