/**
 * Whether a running reader has caught up: what it was brought first may have been overtaken long ago, if Kafka
 * or the registry was away. Those who ask at the same time share one question to the brokers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { writtenOffsets } from 'payment-processor-contract/kafka/partition-offsets';

export interface Place {
  readonly topic: string;
  /** Null: all of the topic's. */
  readonly partition: number | null;
}

interface End {
  readonly topic: string;
  readonly partition: number;
  /** After the last record, of open transactions included. */
  readonly offset: bigint;
}

/** Between two looks at the position; records usually come within milliseconds. */
const LOOK_AGAIN_MS = 20;
/** Pause after brokers did not say where the partitions end. */
const ASK_AGAIN_MS = 1_000;

export class CatchUp {
  readonly #kafka: Kafka;
  readonly #topics: readonly string[];
  readonly #positionOf: (of: Pick<End, 'topic' | 'partition'>) => bigint | undefined;
  #asked: Promise<readonly End[]> = Promise.resolve([]);
  /** Of the question that begins once the present one is answered. */
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
   * @returns true: all is handled that had been written there when this was called, open transactions included. False: the signal
   *   came first
   */
  async with(place: Place, signal: AbortSignal): Promise<boolean> {
    let ends: readonly End[] = [];
    while (!signal.aborted) {
      if (ends.length === 0) ends = await this.#endsOf(place);
      // A partition that was added since has no position: it is passed while it is empty.
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
