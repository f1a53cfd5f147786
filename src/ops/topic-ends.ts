/**
 * Where the inputs' partitions end, asked of the broker now and then and remembered.
 *
 * Stages of a request: begun -> answered, failed, or given up. One is under way at a time; a scrape waits for it up to a
 * deadline and is served what was known last, so that a Kafka that hangs never hangs a scrape.
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { GroupProcess } from '../consumers/group-processes.ts';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { settledWithin } from 'payment-processor-contract/kafka/settled-within';

/** Scrapes of several tools come close together; the broker is asked once for all. */
const FRESH_FOR_MS = 2_000;
/** What a scrape waits for the broker, well below the timeout of a scraper. */
const ANSWER_WAIT_MAX_MS = 1_000;
/** A question that gets no answer is given up, so that the next can be asked. */
const GIVE_UP_MS = 30_000;

/** Asks the broker; may reject, may hang. */
export interface OffsetSource {
  /** First and next offset of each partition. */
  topicEnds(topic: string): Promise<ReadonlyMap<number, PartitionOffsets>>;
  /** Next offset of each partition, of records that readers may not have yet as well. */
  highWatermarks?(topic: string): Promise<ReadonlyMap<number, bigint>>;
  /** The group's committed offsets, for lanes that do not know their position. */
  committedOffsets?(topic: string): Promise<ReadonlyMap<number, bigint>>;
  groupMembers?(): Promise<readonly GroupProcess[]>;
}

export interface TopicAnswer {
  readonly ends: ReadonlyMap<number, PartitionOffsets>;
  /** Asked before the ends; null when it was not. */
  readonly highWatermarks: ReadonlyMap<number, bigint> | null;
  /** Null when it cannot be asked for. */
  readonly committed: ReadonlyMap<number, bigint> | null;
}

export interface KnownTopicEnds {
  readonly topics: ReadonlyMap<string, TopicAnswer>;
  /** Null while they are not known. */
  readonly members: readonly GroupProcess[] | null;
  /** Since the broker was asked; since this object was made when it has never answered. */
  readonly ageMs: number;
}

export interface AskedTopics {
  /** Others write to them, perhaps in transactions. */
  readonly published: readonly string[];
  /** The group reads them, too, and nobody else writes to them. */
  readonly internal: readonly string[];
  /** Of these the ends are wanted alone, and how far they are written. */
  readonly others: readonly string[];
  /** Of these, too, and for people alone: what else is known does not hang on them. */
  readonly forPeople: readonly string[];
}

export class TopicEnds {
  readonly #source: OffsetSource;
  readonly #topics: AskedTopics;
  readonly #clock: Clock;
  #known: Pick<KnownTopicEnds, 'topics' | 'members'> = { topics: new Map(), members: null };
  #knownAtMs: number;
  #hasAnswered = false;
  #asking: { beganMs: number; ended: Promise<void> } | null = null;

  constructor(source: OffsetSource, topics: AskedTopics, clock: Clock) {
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
    return { ...this.#known, ageMs: this.#clock.monotonicMs() - this.#knownAtMs };
  }

  #ask(beganMs: number): void {
    const ended = this.#askAll().then(
      (answer) => {
        if (this.#asking !== asking) return;
        this.#known = answer;
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

  async #askAll(): Promise<Pick<KnownTopicEnds, 'topics' | 'members'>> {
    const { forPeople, internal, others, published } = this.#topics;
    const source = this.#source;
    const highWatermarks = eachOf(
      [...published, ...others],
      async (topic) => (await source.highWatermarks?.(topic)) ?? null,
    );
    const groupOffsets = eachOf(
      [...published, ...internal],
      async (topic) => (await source.committedOffsets?.(topic)) ?? null,
    );
    const [members, highs, committed, ends] = await Promise.all([
      // Of use to people alone: lag must not hang on it.
      source.groupMembers?.().catch(() => null) ?? null,
      highWatermarks,
      groupOffsets,
      // Last: what comes in between must not look as if readers could not have it, or as if the topic were another.
      Promise.all([highWatermarks, groupOffsets]).then(() =>
        eachOf([...published, ...internal, ...others, ...forPeople], (topic) => {
          const answer = source.topicEnds(topic);
          return forPeople.includes(topic) ? answer.catch(() => null) : answer;
        }),
      ),
    ]);
    const answers = [...ends].flatMap(([topic, known]): [string, TopicAnswer][] => {
      if (known === null) return [];
      const group = committed.get(topic) ?? null;
      return [[topic, { ends: known, highWatermarks: highs.get(topic) ?? null, committed: group }]];
    });
    return { members, topics: new Map(answers) };
  }
}

/** Asks of each in the same turn, so that one request may carry all. */
async function eachOf<Answer>(
  topics: readonly string[],
  ask: (topic: string) => Promise<Answer>,
): Promise<ReadonlyMap<string, Answer>> {
  return new Map(await Promise.all(topics.map(async (topic) => [topic, await ask(topic)] as const)));
}
