/**
 * The instant up to which the ledger has everything published to a lane's command topics. Retention must not forget a key while
 * a copy of its command waits behind a backlog, a full lane or an open transaction.
 *
 *   asked      the brokers say how far the topics were written, and as of when
 *   awaited    the lane's committed positions have not reached those ends yet
 *   known      they have; the next question may follow
 */
import type { Clock } from 'payment-processor-contract/clock';
import type { TopicOffsets } from '../../consumers/topic-offsets.ts';

export interface AdmittedTimeParts {
  readonly lane: number;
  /** The command topics that the lane reads. */
  readonly topics: readonly string[];
  readonly offsets: Pick<TopicOffsets, 'written'>;
  /** Next offsets according to the ledger, by topic. */
  readonly positions: () => ReadonlyMap<string, bigint>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** The latest timestamp that a broker gave a record of the lane. Our own clock may be fast. */
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

  /** By the slower of two clocks; -Infinity: not known yet. Asks the brokers unless a question is already open. */
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

  /** Never rejects. Without an answer the instant stays, so retention forgets no later keys. The next `upToMs` asks again. */
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
