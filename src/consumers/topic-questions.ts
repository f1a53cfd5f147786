/** Asks the brokers about one topic, to decide where to continue reading. Changes nothing. */
import type { Admin } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { createKafka, LANE_RETRY, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { readTombstonesKeptMs } from '../producers/topic-admin.ts';
import { partitionOffsets, writtenOffsets } from 'payment-processor-contract/kafka/partition-offsets';

export type TopicQuestions = ReturnType<typeof questionsOf>;

/** Few, because the caller retries and logs: with a hanging broker each try takes the timeout of a request. */
const ASKING_RETRY = { ...LANE_RETRY, retries: 2 };

/**
 * @param use may run again: it must only ask, or be idempotent
 * @throws the client's error if no broker answers or a retry does not help
 */
export function askTopic<Value>(
  settings: KafkaSettings,
  { clientId, topic }: { clientId: string; topic: string },
  use: (questions: TopicQuestions) => Promise<Value>,
): Promise<Value> {
  const kafka = createKafka(settings, clientId, { retry: ASKING_RETRY });
  return withAdmin(kafka, (admin) => use(questionsOf(admin, topic)));
}

function questionsOf(admin: Admin, topic: string) {
  return {
    clusterId: async () => (await admin.describeCluster()).clusterId,
    /** Null: the brokers have no topic ids. */
    topicId: async () => (await admin.fetchTopicIds({ topics: [topic] }))[0]?.topicId ?? null,
    /** The least time for which a compacted topic keeps tombstones; `otherwiseMs` if we are not authorized to read it. */
    tombstonesKeptMs: (otherwiseMs: number) => readTombstonesKeptMs(admin, topic, otherwiseMs),
    bounds: () => partitionOffsets(admin, topic),
    /** Offsets after the last record, including records of open transactions. */
    written: () => writtenOffsets(admin, topic),
    /** First readable offset at or after the instant, by the brokers' clocks; missing: there is none. */
    firstSince: async (instantMs: number): Promise<ReadonlyMap<number, bigint>> => {
      const [ofTopic] = await admin.fetchOffsetsOfTopics({ topics: [topic], fromTimestamp: instantMs });
      // Not the end instead of none: for seconds after a broker was killed, partitions end too early.
      const found = (ofTopic?.partitions ?? []).filter(({ offset }) => offset !== '-1');
      return new Map(found.map(({ partition, offset }) => [partition, BigInt(offset)]));
    },
  };
}
