/**
 * Whether a running reader has caught up with a partition: what it was brought first may have been overtaken long ago, if Kafka
 * or the registry was away. Those who ask at the same time share one question to the brokers.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { readBounds, type Bounds } from './topic-bounds.ts';

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** Between two looks at the position; records usually come within milliseconds. */
const LOOK_AGAIN_MS = 20;
/** Pause after brokers did not say where the partitions end. */
const ASK_AGAIN_MS = 1_000;

export class CatchUp {
  readonly #kafka: Kafka;
  readonly #topics: readonly string[];
  readonly #positionOf: (place: Place) => bigint | undefined;
  #asked: Promise<readonly Bounds[]> = Promise.resolve([]);
  /** Of the question that begins once the present one is answered. */
  #next: Promise<readonly Bounds[]> | null = null;

  /** @param positionOf the offset before which all is handled */
  constructor(kafka: Kafka, topics: readonly string[], positionOf: (place: Place) => bigint | undefined) {
    this.#kafka = kafka;
    this.#topics = topics;
    this.#positionOf = positionOf;
  }

  /**
   * @returns true: all is handled that had been written to the partition when this was called, open transactions included. False:
   *   the signal came first
   */
  async with(place: Place, signal: AbortSignal): Promise<boolean> {
    let end: bigint | undefined;
    while (!signal.aborted) {
      end ??= await this.#endOf(place);
      const position = this.#positionOf(place);
      if (end !== undefined && position !== undefined && position >= end) return true;
      await delay(end === undefined ? ASK_AGAIN_MS : LOOK_AGAIN_MS, undefined, { ref: false });
    }
    return false;
  }

  async #endOf({ partition, topic }: Place): Promise<bigint | undefined> {
    this.#next ??= this.#asked
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        this.#asked = readBounds(this.#kafka, this.#topics, null, true);
        return this.#asked;
      });
    const bounds = await this.#next.catch(() => []);
    return bounds.find((bound) => bound.topic === topic && bound.partition === partition)?.high;
  }
}
