/** Asks the broker where partitions begin and end and where the group stands. Commits nothing. */
import type { Admin } from 'kafkajs';
import type { Clock } from '../api/clock.ts';
import { createKafka, PATIENT_RETRY, type KafkaLog, type KafkaSettings } from '../producers/kafka-client.ts';
import type { TopicStart } from './lane-parts.ts';

export interface PartitionOffsets {
  readonly low: bigint;
  readonly high: bigint;
}

/** Lanes ask one after the other for the same topics: one answer serves them all for a while. */
const ANSWER_AGE_MAX_MS = 500;

export class TopicOffsets {
  readonly #admin: Admin;
  readonly #groupId: string;
  readonly #clock: Clock;
  readonly #ends = new Map<string, { askedMs: number; answer: Promise<Map<number, PartitionOffsets>> }>();
  readonly #committed = new Map<string, { askedMs: number; answer: Promise<Map<number, bigint>> }>();

  constructor(settings: KafkaSettings, options: { groupId: string; clientId: string; clock: Clock; log: KafkaLog }) {
    this.#groupId = options.groupId;
    this.#clock = options.clock;
    this.#admin = createKafka(settings, options.clientId, { retry: PATIENT_RETRY, log: options.log }).admin();
  }

  async start(): Promise<void> {
    await this.#admin.connect();
  }

  async stop(): Promise<void> {
    await this.#admin.disconnect().catch(() => undefined);
  }

  /** First and next offset of each partition. */
  ends(topic: string): Promise<Map<number, PartitionOffsets>> {
    return this.#shared(this.#ends, topic, async () => {
      const offsets = await this.#admin.fetchTopicOffsets(topic);
      return new Map(offsets.map(({ partition, low, high }) => [partition, { low: BigInt(low), high: BigInt(high) }]));
    });
  }

  async startOf(topic: string, lane: number): Promise<TopicStart> {
    const [ends, committed] = await Promise.all([this.ends(topic), this.#committedOf(topic)]);
    const lowOffset = ends.get(lane)?.low;
    if (lowOffset === undefined) throw new Error(`${topic} has no partition ${lane}`);
    return { lowOffset, committedOffset: committed.get(lane) ?? null };
  }

  #committedOf(topic: string): Promise<Map<number, bigint>> {
    return this.#shared(this.#committed, topic, async () => {
      const groups = await this.#admin.fetchOffsets({ groupId: this.#groupId, topics: [topic] });
      const partitions = groups
        .flatMap((group) => group.partitions)
        .map(({ partition, offset }): [number, bigint] => [partition, BigInt(offset)]);
      return new Map(partitions.filter(([, offset]) => offset >= 0n));
    });
  }

  #shared<Answer>(
    memory: Map<string, { askedMs: number; answer: Promise<Answer> }>,
    topic: string,
    ask: () => Promise<Answer>,
  ): Promise<Answer> {
    const nowMs = this.#clock.monotonicMs();
    const known = memory.get(topic);
    if (known !== undefined && nowMs - known.askedMs < ANSWER_AGE_MAX_MS) return known.answer;
    const answer = ask();
    answer.catch(() => memory.delete(topic));
    memory.set(topic, { askedMs: nowMs, answer });
    return answer;
  }
}
