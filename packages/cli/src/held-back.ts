/** Messages that no reader gets yet, for a publisher's transaction before them is open. They are in no lag. */
import { setTimeout as delay } from 'node:timers/promises';
import { partitionOffsets, writtenOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { cliKafka } from './context.ts';

export interface HeldPartition {
  readonly topic: string;
  readonly partition: number;
  readonly messages: bigint;
  /** Of the first of them. */
  readonly stableOffset: bigint;
}

/** Transactions that publish are over in milliseconds; one that is as open at a second look is not. */
const LOOK_AGAIN_MS = 2_000;

/** @param topics those that do not exist hold nothing back */
export async function readHeldBack(
  kafka: ReturnType<typeof cliKafka>,
  topics: readonly string[],
): Promise<HeldPartition[]> {
  return withAdmin(kafka, async (admin) => {
    const listed = new Set(await admin.listTopics());
    const look = async (): Promise<HeldPartition[]> => {
      const held: HeldPartition[] = [];
      for (const topic of topics.filter((name) => listed.has(name))) {
        // Asked first, so that none of what comes meanwhile counts.
        const written = await writtenOffsets(admin, topic);
        for (const [partition, { high: stableOffset }] of await partitionOffsets(admin, topic)) {
          const messages = (written.get(partition) ?? 0n) - stableOffset;
          if (messages > 0n) held.push({ topic, partition, messages, stableOffset });
        }
      }
      return held;
    };
    const first = await look();
    if (first.length === 0) return [];
    await delay(LOOK_AGAIN_MS);
    const isAsBefore = ({ partition, stableOffset, topic }: HeldPartition): boolean =>
      first.some((one) => one.topic === topic && one.partition === partition && one.stableOffset === stableOffset);
    return (await look()).filter(isAsBefore);
  });
}

export function heldText({ messages, partition, topic }: HeldPartition): string {
  return (
    `${messages} ${messages === 1n ? 'message' : 'messages'} of ${topic}, lane ${partition}, behind a publisher's open transaction: ` +
    'nobody can read them until the publisher ends it, or Kafka does after its transaction.timeout.ms'
  );
}
