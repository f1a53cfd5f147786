/**
 * How each topic of the contract is made: partitions and configuration, as data. What must hold for the processor to
 * be right is checked at every start (topic-admin.ts); the rest is a sensible default that an operator may change.
 */
import type { Config } from './config.ts';
import { COMMAND_TYPES } from './commands.ts';
import { jsonCopyOf, topicNames } from './topics.ts';

export type TopicSettings = Pick<Config, 'TOPIC_PREFIX' | 'LANES' | 'LEDGER_RETENTION' | 'COMMAND_MAX_AGE'>;

/** The settings that decide how the topics are made. */
export const TOPIC_SETTING_NAMES = ['TOPIC_PREFIX', 'LANES', 'LEDGER_RETENTION', 'COMMAND_MAX_AGE'] as const;

export interface TopicDefinition {
  topic: string;
  purpose: 'command' | 'decision' | 'hold' | 'output' | 'dead-letter' | 'ledger' | 'observation';
  /** LANES: partition p of every topic belongs to lane p. */
  partitions: number;
  /** Null: no record is removed for its age. */
  retentionMs: number | null;
  cleanupPolicy: 'compact' | 'delete';
  timestampType: 'LogAppendTime' | 'CreateTime';
  /** Largest record batch, in bytes. */
  maxMessageBytes: number;
  /** Configuration for compaction and the rolling of segments. */
  segments: Readonly<Record<string, string>>;
}

/** Largest batch of commands, bytes: room for any command of the interface many times over. */
export const COMMAND_BATCH_BYTES_MAX = 1024 * 1024;
/** Records that carry a whole command or answer with headers of their own need more room than a command, bytes. */
export const CARRIER_BYTES_MAX = 4 * 1024 * 1024;
/** Of a record as JSON, whose names and escapes take more room than Avro, bytes. */
const JSON_BYTES_MAX = 4 * CARRIER_BYTES_MAX;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How long results, events and dead letters can be read again; at least as long as a key is remembered. */
export const OUTPUT_RETENTION_MS = 30 * DAY_MS;

/** Retention removes whole segments: one is closed after this share of the retention, so that little outlives it. */
const SEGMENTS_PER_RETENTION = 24;
const SEGMENT_MS_MIN = 60_000;
const SEGMENT_MS_MAX = DAY_MS;
/** Compaction passes over the open segment: closed often, so that a restore reads little that is superseded. */
const LEDGER_SEGMENT_MS = HOUR_MS;
const LEDGER_SEGMENT_BYTES = 64 * 1024 * 1024;
/** The longest that a superseded ledger record stays, however little changed since. */
const LEDGER_COMPACTION_LAG_MS_MAX = 6 * HOUR_MS;

/** The definitions of every topic, the sandbox command's included. */
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
      // Never removed: it is the record of who held what, and why.
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
      // Keys are forgotten by the brokers' time as well as by ours: one clock that is wrong must not forget them early.
      timestampType: 'LogAppendTime',
      maxMessageBytes: CARRIER_BYTES_MAX,
      segments: {
        'segment.ms': String(LEDGER_SEGMENT_MS),
        'segment.bytes': String(LEDGER_SEGMENT_BYTES),
        'max.compaction.lag.ms': String(LEDGER_COMPACTION_LAG_MS_MAX),
        'delete.retention.ms': String(deletionsKeptMs(settings)),
      },
    },
  ];
}

/** Copies of results and events as JSON, which may be larger than what they are copied from. */
export function jsonCopyDefinitions(settings: TopicSettings): TopicDefinition[] {
  const outputs = topicDefinitions(settings).filter(({ purpose }) => purpose === 'output');
  return outputs.map((output) => ({ ...output, topic: jsonCopyOf(output.topic), maxMessageBytes: JSON_BYTES_MAX }));
}

/** How long the ledger keeps a deletion, at the least: a store that was away for less still sees that a key was forgotten. */
export function deletionsKeptMs({ LEDGER_RETENTION }: Pick<TopicSettings, 'LEDGER_RETENTION'>): number {
  return Math.max(DAY_MS, LEDGER_RETENTION);
}

/** The topic configuration of a definition, as Kafka names it. */
export function topicConfiguration(definition: TopicDefinition, minInSyncReplicas: number): Record<string, string> {
  return {
    'cleanup.policy': definition.cleanupPolicy,
    'retention.ms': String(definition.retentionMs ?? -1),
    // A limit by size, which a cluster may have as its default, would remove commands before their time.
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
