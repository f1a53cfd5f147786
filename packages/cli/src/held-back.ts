/** Messages that no reader gets yet, for a transaction before them is open. They are in no lag, and in no reading. */
import { setTimeout as delay } from 'node:timers/promises';
import { partitionOffsets, writtenOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { laneOf } from 'payment-processor-contract/keys';
import type { CliKafka } from './context.ts';

export interface HeldPartition {
  readonly topic: string;
  readonly partition: number;
  readonly messages: bigint;
  /** Of the first of them. */
  readonly stableOffset: bigint;
}

/** Transactions are over in milliseconds; what one hides for so long it may hide for minutes. */
const HIDDEN_MS_MAX = 2_000;
const LOOK_MS = 100;

/**
 * What was written before the call and cannot be read at its end. A reading that begins afterwards has all the rest.
 * @param topics those that do not exist hold nothing back
 * @param laneOfKey of each topic the lane of this key alone
 */
export async function readHeldBack(
  kafka: CliKafka,
  topics: readonly string[],
  laneOfKey?: string,
): Promise<HeldPartition[]> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const existing = topics.filter((topic) => listed.has(topic));
    const ends = new Map<string, ReadonlyMap<number, bigint>>();
    for (const topic of existing) ends.set(topic, await writtenOffsets(admin, topic));
    const untilMs = performance.now() + HIDDEN_MS_MAX;
    for (;;) {
      const held: HeldPartition[] = [];
      for (const [topic, written] of ends) {
        const only = laneOfKey === undefined ? null : laneOf(laneOfKey, written.size);
        for (const [partition, { high: stableOffset }] of await partitionOffsets(admin, topic)) {
          const messages = (written.get(partition) ?? 0n) - stableOffset;
          if (messages > 0n && (only ?? partition) === partition)
            held.push({ topic, partition, messages, stableOffset });
        }
      }
      if (held.length === 0 || performance.now() > untilMs) return held;
      await delay(LOOK_MS);
    }
  });
}

export function heldText({ messages, partition, topic }: HeldPartition): string {
  return (
    `${messages} ${messages === 1n ? 'message' : 'messages'} of ${topic}, lane ${partition}, behind an open transaction: ` +
    'nobody can read them until its producer ends it, or Kafka does after its transaction.timeout.ms'
  );
}
