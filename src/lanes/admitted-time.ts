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
  /** The latest time that a broker gave to a record of the lane: our clock may be fast, and is not believed alone. */
  readonly brokerMs: () => number;
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

  /** Of the slower of two clocks; -Infinity: not known yet. Makes sure that a later answer is to come. */
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
    const { brokerMs, clock, lane, offsets, topics } = this.#parts;
    this.#isAsking = true;
    const beganMs = clock.nowMs();
    const nowMs = Math.min(beganMs, brokerMs());
    try {
      const written = await Promise.all(topics.map((topic) => offsets.written(topic)));
      this.#awaited = {
        // Answers may be older than the question.
        atMs: nowMs - Math.max(0, ...written.map(({ atMs }) => beganMs - atMs)),
        ends: new Map(topics.map((topic, index) => [topic, written[index]?.ends.get(lane) ?? 0n])),
      };
    } catch {
      this.#awaited = null;
    }
    this.#isAsking = false;
  }
}
