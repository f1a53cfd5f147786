/**
 * Asks Kafka where partitions end, what the group has committed and who is in it. Remembers the answers. A scrape asks
 * again if they are two seconds old.
 *
 * Stages of a request: begun -> answered, failed, or given up. One is under way at a time. A scrape waits for it up to
 * a deadline and then gets the last known values, so that a hanging Kafka never hangs a scrape.
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { GroupProcess } from '../consumers/group-processes.ts';
import type { TopicOffsets } from '../consumers/topic-offsets.ts';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { settledWithin } from 'payment-processor-contract/settled-within';

/** Scrapes by several tools come close together, and share one request to the broker. */
const FRESH_FOR_MS = 2_000;
/** How long a scrape waits for the broker, well below a scraper's timeout. */
const ANSWER_WAIT_MAX_MS = 1_000;
/** After this long we give up on a request, so that the next can start. */
const GIVE_UP_MS = 30_000;

/** Asks the broker; may reject, may hang. */
export type OffsetSource = Pick<TopicOffsets, 'ends' | 'highWatermarks' | 'committed' | 'members'>;

export interface TopicAnswer {
  readonly ends: ReadonlyMap<number, PartitionOffsets>;
  /** Read before the ends; null: not asked. */
  readonly highWatermarks: ReadonlyMap<number, bigint> | null;
  /** Null: not asked. */
  readonly committed: ReadonlyMap<number, bigint> | null;
}

export interface KnownTopicEnds {
  readonly topics: ReadonlyMap<string, TopicAnswer>;
  /** Null until they are known. */
  readonly members: readonly GroupProcess[] | null;
  /** Since the last answered request was sent; before the first, since construction. */
  readonly ageMs: number;
}

export interface AskedTopics {
  /** Topics that others write to, perhaps in transactions. */
  readonly published: readonly string[];
  /** Topics that the group reads and only we write to. */
  readonly internal: readonly string[];
  /** Topics of which we need only the ends and the high watermarks. */
  readonly others: readonly string[];
  /** Topics whose ends we only display: if they cannot be read, the other answers still count. */
  readonly displayed: readonly string[];
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

  /** Never rejects; settles within the deadline with the values known by then. */
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
        // The age of the ends shows the failure; the Kafka client logs the cause.
        if (this.#asking === asking) this.#asking = null;
      },
    );
    const asking = { beganMs, ended };
    this.#asking = asking;
  }

  async #askAll(): Promise<Pick<KnownTopicEnds, 'topics' | 'members'>> {
    const { displayed, internal, others, published } = this.#topics;
    const source = this.#source;
    const highWatermarks = eachOf([...published, ...others], (topic) => source.highWatermarks(topic));
    const groupOffsets = eachOf([...published, ...internal], (topic) => source.committed(topic));
    const [members, highs, committed, ends] = await Promise.all([
      // Only displayed: lag must not depend on it.
      source.members().catch(() => null),
      highWatermarks,
      groupOffsets,
      // Asked last. Otherwise records that arrive in between would look blocked, or the topic recreated.
      Promise.all([highWatermarks, groupOffsets]).then(() =>
        eachOf([...published, ...internal, ...others, ...displayed], (topic) => {
          const answer = source.ends(topic);
          return displayed.includes(topic) ? answer.catch(() => null) : answer;
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

/** Asks for all topics in one turn of the event loop, so that one request can carry them. */
async function eachOf<Answer>(
  topics: readonly string[],
  ask: (topic: string) => Promise<Answer>,
): Promise<ReadonlyMap<string, Answer>> {
  return new Map(await Promise.all(topics.map(async (topic) => [topic, await ask(topic)] as const)));
}
