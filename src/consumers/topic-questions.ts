/** What the brokers know of one topic, for whoever decides where to read on. Asks, and changes nothing. */
import type { Admin } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { createKafka, LANE_RETRY, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { readDeletionsKeptMs } from '../producers/topic-admin.ts';
import {
  partitionOffsets,
  writtenOffsets,
  type PartitionOffsets,
} from 'payment-processor-contract/kafka/partition-offsets';

export interface TopicQuestions {
  clusterId(): Promise<string>;
  /** Null: the brokers do not know ids. */
  topicId(): Promise<string | null>;
  /** How long deletions stay in a compacted topic at the least, milliseconds; the given, where that may not be read. */
  deletionsKeptMs(otherwiseMs: number): Promise<number>;
  bounds(): Promise<ReadonlyMap<number, PartitionOffsets>>;
  /** After the last record, those of open transactions included. */
  written(): Promise<ReadonlyMap<number, bigint>>;
  /** The first record since the instant, by the brokers' clocks, that readers may have by then; else where those end. */
  firstSince(instantMs: number): Promise<ReadonlyMap<number, bigint>>;
}

/** Whoever asks tries again, and says why: a broker that stands still takes the timeout of a request for each try. */
const ASKING_RETRY = { ...LANE_RETRY, retries: 2 };

/**
 * @param use may be run again: it must only ask, or come to the same
 * @throws the client's error, once no broker answers or trying again does not help
 */
export function askTopic<Value>(
  settings: KafkaSettings,
  { clientId, topic }: { clientId: string; topic: string },
  use: (questions: TopicQuestions) => Promise<Value>,
): Promise<Value> {
  const kafka = createKafka(settings, clientId, { retry: ASKING_RETRY });
  return withAdmin(kafka, (admin) => use(questionsOf(admin, topic)));
}

function questionsOf(admin: Admin, topic: string): TopicQuestions {
  return {
    clusterId: async () => (await admin.describeCluster()).clusterId,
    topicId: async () => (await admin.fetchTopicIds({ topics: [topic] }))[0]?.topicId ?? null,
    deletionsKeptMs: (otherwiseMs) => readDeletionsKeptMs(admin, topic, otherwiseMs),
    bounds: () => partitionOffsets(admin, topic),
    written: () => writtenOffsets(admin, topic),
    firstSince: async (instantMs) => {
      const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, instantMs);
      return new Map(offsets.map(({ partition, offset }) => [partition, BigInt(offset)]));
    },
  };
}
