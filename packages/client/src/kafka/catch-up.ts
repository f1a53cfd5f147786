/**
 * Waits until a running reader has caught up. After an outage of Kafka or the registry, its first records may be
 * outdated. Concurrent callers share one request to the brokers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { writtenOffsets } from 'payment-processor-contract/kafka/partition-offsets';

export interface Place {
  readonly topic: string;
  /** Null: all partitions of the topic. */
  readonly partition: number | null;
}

interface End {
  readonly topic: string;
  readonly partition: number;
  /** After the last record, of open transactions included. */
  readonly offset: bigint;
}

/** Pause between two looks at the position; records usually come within milliseconds. */
const LOOK_AGAIN_MS = 20;
/** Pause after the brokers did not return the ends of the partitions. */
const ASK_AGAIN_MS = 1_000;

export class CatchUp {
  readonly #kafka: Kafka;
  readonly #topics: readonly string[];
  readonly #positionOf: (of: Pick<End, 'topic' | 'partition'>) => bigint | undefined;
  #asked: Promise<readonly End[]> = Promise.resolve([]);
  /**
   * The request that begins once the current one is answered: only it covers everything written before its callers
   * asked.
   */
  #next: Promise<readonly End[]> | null = null;

  /** @param positionOf the offset before which all is handled */
  constructor(
    kafka: Kafka,
    topics: readonly string[],
    positionOf: (of: Pick<End, 'topic' | 'partition'>) => bigint | undefined,
  ) {
    this.#kafka = kafka;
    this.#topics = topics;
    this.#positionOf = positionOf;
  }

  /**
   * @returns true: every record that was written there before this call is handled, and its transaction has ended.
   *   False: the signal came first
   */
  async with(place: Place, signal: AbortSignal): Promise<boolean> {
    let ends: readonly End[] = [];
    while (!signal.aborted) {
      if (ends.length === 0) ends = await this.#endsOf(place);
      // A partition that was added since has no position. While it is empty, nothing is missing.
      if (ends.length > 0 && ends.every((end) => (this.#positionOf(end) ?? 0n) >= end.offset)) return true;
      await delay(ends.length === 0 ? ASK_AGAIN_MS : LOOK_AGAIN_MS, undefined, { ref: false });
    }
    return false;
  }

  async #endsOf({ partition, topic }: Place): Promise<readonly End[]> {
    this.#next ??= this.#asked
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        this.#asked = this.#ask();
        return this.#asked;
      });
    const ends = await this.#next.catch(() => []);
    return ends.filter((end) => end.topic === topic && (partition === null || end.partition === partition));
  }

  #ask(): Promise<End[]> {
    return withAdmin(this.#kafka, async (admin) => {
      const ends: End[] = [];
      for (const topic of this.#topics)
        for (const [partition, offset] of await writtenOffsets(admin, topic)) ends.push({ topic, partition, offset });
      return ends;
    });
  }
}
