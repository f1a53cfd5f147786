/**
 * Up to which instant everything that was published to a lane's command topics is in the ledger: what is forgotten must not
 * be asked for by a copy that waits behind a backlog, a full lane or an open transaction.
 *
 *   asked      brokers say how far the topics were written at an instant
 *   awaited    the lane commits until its positions are there
 *   known      that instant; then the next may be asked for
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { TopicOffsets } from '../consumers/topic-offsets.ts';

export interface AdmittedTimeParts {
  readonly lane: number;
  /** Of the commands that are read. */
  readonly topics: readonly string[];
  readonly offsets: Pick<TopicOffsets, 'written'>;
  /** Next offsets of what is in the ledger, by topic. */
  readonly positions: () => ReadonlyMap<string, bigint>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

interface Mark {
  readonly atMs: number;
  readonly ends: ReadonlyMap<string, bigint>;
}

export class AdmittedTime {
  readonly #parts: AdmittedTimeParts;
  #upToMs = -Infinity;
  #awaited: Mark | null = null;
  #isAsking = false;

  constructor(parts: AdmittedTimeParts) {
    this.#parts = parts;
  }

  /** Of our wall clock; -Infinity: not known yet. Makes sure that a later answer is to come. */
  upToMs(): number {
    const positions = this.#parts.positions();
    if (
      this.#awaited !== null &&
      [...this.#awaited.ends].every(([topic, end]) => (positions.get(topic) ?? 0n) >= end)
    ) {
      this.#upToMs = this.#awaited.atMs;
      this.#awaited = null;
    }
    if (this.#awaited === null && !this.#isAsking) void this.#ask();
    return this.#upToMs;
  }

  /** Never rejects: without an answer nothing is forgotten, and the next look asks again. */
  async #ask(): Promise<void> {
    const { clock, lane, offsets, topics } = this.#parts;
    this.#isAsking = true;
    const beganMs = clock.nowMs();
    try {
      const written = await Promise.all(topics.map((topic) => offsets.written(topic)));
      this.#awaited = {
        atMs: Math.min(beganMs, ...written.map(({ atMs }) => atMs)),
        ends: new Map(topics.map((topic, index) => [topic, written[index]?.ends.get(lane) ?? 0n])),
      };
    } catch {
      this.#awaited = null;
    }
    this.#isAsking = false;
  }
}
