/**
 * How each topic of the contract is created: partitions and configuration, as data. Every start checks the values that
 * the processor relies on (topic-admin.ts). The rest are defaults that an operator may change.
 */
import type { Config } from './config.ts';
import { COMMAND_TYPES } from './commands.ts';
import { jsonCopyOf, topicNames } from './topics.ts';

/** The settings that decide how the topics are created. */
export const TOPIC_SETTING_NAMES = ['TOPIC_PREFIX', 'LANES', 'LEDGER_RETENTION', 'COMMAND_MAX_AGE'] as const;

export type TopicSettings = Pick<Config, (typeof TOPIC_SETTING_NAMES)[number]>;

export interface TopicDefinition {
  topic: string;
  purpose: 'command' | 'decision' | 'hold' | 'output' | 'dead-letter' | 'ledger' | 'observation';
  /** LANES: partition p of every topic belongs to lane p. */
  partitions: number;
  /** Null: no record expires. */
  retentionMs: number | null;
  cleanupPolicy: 'compact' | 'delete';
  timestampType: 'LogAppendTime' | 'CreateTime';
  /** Largest record batch, in bytes. */
  maxMessageBytes: number;
  /** Configuration of compaction and segment rolling. */
  segments: Readonly<Record<string, string>>;
}

/** Largest batch of commands, bytes: many times the size of any command of the interface. */
export const COMMAND_BATCH_BYTES_MAX = 1024 * 1024;
/** Largest batch of records that carry a whole command or answer plus headers, bytes. */
export const CARRIER_BYTES_MAX = 4 * 1024 * 1024;
/** Largest batch of records as JSON, bytes: names and escapes take more room than Avro. */
const JSON_BYTES_MAX = 4 * CARRIER_BYTES_MAX;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long results, events and dead letters can be read again; at least as long as a key is remembered. */
export const OUTPUT_RETENTION_MS = 30 * DAY_MS;

/** Retention removes whole segments. Each is closed after this share of the retention, so that little outlives it. */
const SEGMENTS_PER_RETENTION = 24;
const SEGMENT_MS_MIN = 60_000;
const SEGMENT_MS_MAX = DAY_MS;
/** Compaction skips the open segment. We close segments often, so that a restore reads few superseded records. */
const LEDGER_SEGMENT_MS = HOUR_MS;
const LEDGER_SEGMENT_BYTES = 64 * 1024 * 1024;
/** Longest time that a superseded ledger record stays before compaction, however little has changed since. */
const LEDGER_COMPACTION_LAG_MS_MAX = 6 * HOUR_MS;

/** The definitions of every topic, including the sandbox command's. */
export function topicDefinitions(settings: TopicSettings): TopicDefinition[] {
  const names = topicNames(settings.TOPIC_PREFIX);
  const keyMemoryMs = settings.LEDGER_RETENTION;
  const outputRetentionMs = Math.max(OUTPUT_RETENTION_MS, keyMemoryMs);
  const deleted = (
    topic: string,
    purpose: TopicDefinition['purpose'],
    retentionMs: number,
    maxMessageBytes: number,
  ): TopicDefinition => ({
    topic,
    purpose,
    partitions: settings.LANES,
    retentionMs,
    cleanupPolicy: 'delete',
    timestampType: purpose === 'command' ? 'LogAppendTime' : 'CreateTime',
    maxMessageBytes,
    segments: { 'segment.ms': String(segmentMs(retentionMs)) },
  });
  return [
    ...COMMAND_TYPES.map((type) => deleted(names.commands[type], 'command', keyMemoryMs, COMMAND_BATCH_BYTES_MAX)),
    deleted(names.results, 'output', outputRetentionMs, CARRIER_BYTES_MAX),
    deleted(names.transactionStatusChanged, 'output', outputRetentionMs, CARRIER_BYTES_MAX),
    deleted(names.quoteStatusChanged, 'output', outputRetentionMs, CARRIER_BYTES_MAX),
    deleted(names.deadLetters, 'dead-letter', outputRetentionMs, CARRIER_BYTES_MAX),
    deleted(names.operatorDecisions, 'decision', keyMemoryMs, COMMAND_BATCH_BYTES_MAX),
    {
      // Never removed: it is the audit trail of all holds.
      ...deleted(names.operatorHolds, 'hold', outputRetentionMs, COMMAND_BATCH_BYTES_MAX),
      retentionMs: null,
    },
    deleted(names.observations, 'observation', keyMemoryMs, CARRIER_BYTES_MAX),
    {
      topic: names.ledger,
      purpose: 'ledger',
      partitions: settings.LANES,
      retentionMs: null,
      cleanupPolicy: 'compact',
      // A key is forgotten by the brokers' clock and by ours, so that one wrong clock cannot forget it early.
      timestampType: 'LogAppendTime',
      maxMessageBytes: CARRIER_BYTES_MAX,
      segments: {
        'segment.ms': String(LEDGER_SEGMENT_MS),
        'segment.bytes': String(LEDGER_SEGMENT_BYTES),
        'max.compaction.lag.ms': String(LEDGER_COMPACTION_LAG_MS_MAX),
        'delete.retention.ms': String(tombstonesKeptMs(settings)),
      },
    },
  ];
}

/** Copies of results and events as JSON, which may be larger than their originals. */
export function jsonCopyDefinitions(settings: TopicSettings): TopicDefinition[] {
  const outputs = topicDefinitions(settings).filter(({ purpose }) => purpose === 'output');
  return outputs.map((output) => ({ ...output, topic: jsonCopyOf(output.topic), maxMessageBytes: JSON_BYTES_MAX }));
}

/** The minimum time that the ledger keeps a tombstone, so that a store that was offline for less still sees it. */
export function tombstonesKeptMs({ LEDGER_RETENTION }: Pick<TopicSettings, 'LEDGER_RETENTION'>): number {
  return Math.max(DAY_MS, LEDGER_RETENTION);
}

/** The topic configuration of a definition, as Kafka names it. */
export function topicConfiguration(definition: TopicDefinition, minInSyncReplicas: number): Record<string, string> {
  return {
    'cleanup.policy': definition.cleanupPolicy,
    'retention.ms': String(definition.retentionMs ?? -1),
    // A size limit, which may be the cluster's default, would remove commands too early.
    'retention.bytes': '-1',
    'message.timestamp.type': definition.timestampType,
    'max.message.bytes': String(definition.maxMessageBytes),
    'min.insync.replicas': String(minInSyncReplicas),
    'unclean.leader.election.enable': 'false',
    ...definition.segments,
  };
}

function segmentMs(retentionMs: number): number {
  return Math.min(SEGMENT_MS_MAX, Math.max(SEGMENT_MS_MIN, Math.floor(retentionMs / SEGMENTS_PER_RETENTION)));
}
