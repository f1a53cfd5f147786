/**
 * Settings and topics with which an hour is long enough to see whether anything grows: what is to be forgotten is
 * forgotten after minutes. With the defaults a store grows for seven days by design.
 */
import kafkajs, { type Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import {
  topicConfiguration,
  topicDefinitions,
  type TopicDefinition,
} from 'payment-processor-contract/topic-definitions';
import { readSomeSettings } from 'payment-processor-contract/config';
import { TOPIC_SETTING_NAMES } from 'payment-processor-contract/topic-definitions';

const RETENTION_MS = 600_000;
const SEGMENT_MS = 60_000;
const COMPACTION_LAG_MS_MAX = 120_000;
/** Brokers compact their own topics only behind the open segment, which is 100 MiB by default. */
const INTERNAL_SEGMENT_BYTES = 4 * 1024 * 1024;
const INTERNAL_TOPICS = ['__transaction_state', '__consumer_offsets'];

/** The processors' settings of the run. */
export const SHORT_RETENTION = {
  LEDGER_RETENTION: '10m',
  API_IDEMPOTENCY_RETENTION: '8m',
  COMMAND_MAX_AGE: 'create-quote=5m,execute-quote=5m,transfer-in=5m,reject-transaction=5m,simulate-uma-receive=5m',
  POLL_TERMINAL_FOR: '10m',
} as const;

/** The configuration of a topic of the run: everything is let go after ten minutes, in segments of a minute. */
export function shortConfiguration(definition: TopicDefinition): Record<string, string> {
  const made = topicConfiguration(definition, 1);
  if (definition.cleanupPolicy === 'delete') {
    return { ...made, 'retention.ms': String(RETENTION_MS), 'segment.ms': String(SEGMENT_MS) };
  }
  return {
    ...made,
    'segment.ms': String(SEGMENT_MS),
    'max.compaction.lag.ms': String(COMPACTION_LAG_MS_MAX),
    'delete.retention.ms': String(RETENTION_MS),
  };
}

/** Topics that exist, made to forget as the settings do. */
export async function shortenRetention(kafka: Kafka, environment: Readonly<Record<string, string>>): Promise<void> {
  const read = readSomeSettings({ ...environment }, TOPIC_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  await alter(
    kafka,
    topicDefinitions(read.config).map((definition) => [definition.topic, shortConfiguration(definition)]),
  );
}

/** The brokers' own topics, which are there once somebody has used them. */
export async function shortenInternalSegments(kafka: Kafka): Promise<void> {
  const configuration = {
    'cleanup.policy': 'compact',
    'segment.bytes': String(INTERNAL_SEGMENT_BYTES),
    'compression.type': 'uncompressed',
    'min.insync.replicas': '1',
  };
  await alter(
    kafka,
    INTERNAL_TOPICS.map((topic) => [topic, configuration]),
  );
}

async function alter(kafka: Kafka, topics: readonly (readonly [string, Record<string, string>])[]): Promise<void> {
  const resources = topics.map(([name, configuration]) => ({
    type: kafkajs.ConfigResourceTypes.TOPIC,
    name,
    configEntries: Object.entries(configuration).map(([entry, value]) => ({ name: entry, value })),
  }));
  await withAdmin(kafka, (admin) => admin.alterConfigs({ validateOnly: false, resources }));
}
