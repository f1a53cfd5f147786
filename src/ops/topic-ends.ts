/**
 * Where the inputs' partitions end, asked of the broker now and then and remembered.
 *
 * Stages of an asking: begun -> answered, failed, or given up. One is under way at a time; a scrape waits for it up to a
 * deadline and is served what was known last, so that a Kafka that hangs never hangs a scrape.
 */
import type { Clock } from '../api/clock.ts';
import type { PartitionOffsets } from '../consumers/topic-offsets.ts';

/** Scrapes of several tools come close together; the broker is asked once for all. */
const FRESH_FOR_MS = 2_000;
/** What a scrape waits for the broker, well below the time-out of a scraper. */
const ANSWER_WAIT_MAX_MS = 1_000;
/** An asking that never settles is given up, so that the next can begin. */
const GIVE_UP_MS = 30_000;

/** Asks the broker; may reject, may hang. */
export interface OffsetSource {
  /** First and next offset of each partition. */
  topicEnds(topic: string): Promise<ReadonlyMap<number, PartitionOffsets>>;
  /** The group's committed offsets, for lanes that do not know their position. */
  committedOffsets?(topic: string): Promise<ReadonlyMap<number, bigint>>;
}

export interface TopicAnswer {
  readonly ends: ReadonlyMap<number, PartitionOffsets>;
  /** Null when it cannot be asked for. */
  readonly committed: ReadonlyMap<number, bigint> | null;
}

export interface KnownTopicEnds {
  readonly topics: ReadonlyMap<string, TopicAnswer>;
  /** Since the broker was asked; since this object was made when it has never answered. */
  readonly ageMs: number;
}

export class TopicEnds {
  readonly #source: OffsetSource;
  readonly #topics: readonly string[];
  readonly #clock: Clock;
  #known: ReadonlyMap<string, TopicAnswer> = new Map();
  #knownAtMs: number;
  #hasAnswered = false;
  #asking: { beganMs: number; ended: Promise<void> } | null = null;

  constructor(source: OffsetSource, topics: readonly string[], clock: Clock) {
    this.#source = source;
    this.#topics = topics;
    this.#clock = clock;
    this.#knownAtMs = clock.monotonicMs();
  }

  /** Never rejects; settles within the deadline with what is known by then. */
  async latest(): Promise<KnownTopicEnds> {
    const nowMs = this.#clock.monotonicMs();
    if (!this.#hasAnswered || nowMs - this.#knownAtMs >= FRESH_FOR_MS) {
      if (this.#asking === null || nowMs - this.#asking.beganMs >= GIVE_UP_MS) this.#ask(nowMs);
      const asking = this.#asking;
      const waitMs = asking === null ? 0 : asking.beganMs + ANSWER_WAIT_MAX_MS - nowMs;
      if (asking !== null && waitMs > 0) await settledWithin(asking.ended, waitMs);
    }
    return { topics: this.#known, ageMs: this.#clock.monotonicMs() - this.#knownAtMs };
  }

  #ask(beganMs: number): void {
    const ended = this.#askAll().then(
      (answers) => {
        if (this.#asking !== asking) return;
        this.#known = new Map(answers);
        this.#knownAtMs = beganMs;
        this.#hasAnswered = true;
        this.#asking = null;
      },
      () => {
        // The age of what is known tells; the client of Kafka logs why.
        if (this.#asking === asking) this.#asking = null;
      },
    );
    const asking = { beganMs, ended };
    this.#asking = asking;
  }

  async #askAll(): Promise<[string, TopicAnswer][]> {
    return Promise.all(
      this.#topics.map(async (topic): Promise<[string, TopicAnswer]> => {
        const [ends, committed] = await Promise.all([
          this.#source.topicEnds(topic),
          this.#source.committedOffsets?.(topic) ?? null,
        ]);
        return [topic, { ends, committed }];
      }),
    );
  }
}

async function settledWithin(ended: Promise<void>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const waited = new Promise<void>((resolve) => (timer = setTimeout(resolve, waitMs)));
  await Promise.race([ended, waited]);
  clearTimeout(timer);
}
