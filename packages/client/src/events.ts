/** A subscriber's events: decoded records with their headers. Types list the values that we know. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TopicRecord } from './kafka/topic-reader.ts';
import {
  COMMAND_TYPES,
  OUTCOME_NAMES,
  SETTLED_BY,
  type CommandType,
  type Outcome,
  type ProcessorErrorCode,
  type SettledBy,
} from 'payment-processor-contract/commands';
import { JSON_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { readJsonRecord } from 'payment-processor-contract/json-record';
import type { DecodeResult, RecordRegistry } from 'payment-processor-contract/registry';
import { recordOfTopic, UNREADABLE_HEADER, type TopicNames } from 'payment-processor-contract/topics';
import type {
  FailureReason,
  QuoteStatus,
  TransactionStatus,
  TransactionType,
} from 'payment-processor-contract/statuses';
import type {
  CommandError as CommandErrorRecord,
  CommandResult as CommandResultRecord,
  Quote as QuoteRecord,
  QuoteStatusChanged as QuoteStatusChangedRecord,
  Transaction as TransactionRecord,
  TransactionStatusChanged as TransactionStatusChangedRecord,
} from 'payment-processor-contract/types';

/** A record's place and headers. */
export interface Envelope {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  /** The command's key, the transaction's id or the quote's id. */
  key: string;
  /** `ce_id`: equal for copies of one event. */
  id: string | null;
  /** Identifies the event permanently, and is equal for its copies: see `uniqueIdOf`. */
  uniqueId: string | null;
  /** All headers, as text. */
  headers: Record<string, string>;
}

/** One of these, or any other text: the service may add values. */
type OrOther<Literal extends string> = Literal | (string & Record<never, never>);

/** Why a command was not accepted. */
export interface CommandError extends CommandErrorRecord {
  code: OrOther<ProcessorErrorCode>;
}

export interface Transaction extends TransactionRecord {
  status: OrOther<TransactionStatus> | null;
  type: OrOther<TransactionType> | null;
  failureReason: OrOther<FailureReason> | null;
}

export interface Quote extends QuoteRecord {
  status: OrOther<QuoteStatus> | null;
}

export interface TransactionStatusChanged extends TransactionStatusChangedRecord {
  type: OrOther<TransactionType> | null;
  previousStatus: OrOther<TransactionStatus> | null;
  status: OrOther<TransactionStatus>;
  failureReason: OrOther<FailureReason> | null;
  observedBy: OrOther<'COMMAND' | 'POLL'>;
  transaction: Transaction | null;
}

export interface QuoteStatusChanged extends QuoteStatusChangedRecord {
  previousStatus: OrOther<QuoteStatus> | null;
  status: OrOther<QuoteStatus>;
}

/** How a command ended. */
export interface CommandResult extends CommandResultRecord {
  commandType: CommandType;
  outcome: Outcome;
  settledBy: SettledBy;
  error: CommandError | null;
  quote: Quote | null;
  transaction: Transaction | null;
}

export type PaymentEvent = Envelope &
  /** `isReplayed`: for a copy of the command; the same event as for its first message, and nothing was executed again. */
  (
    | { kind: 'result'; value: CommandResult; isReplayed: boolean }
    | { kind: 'transaction-status'; value: TransactionStatusChanged }
    | { kind: 'quote-status'; value: QuoteStatusChanged }
    | { kind: 'unreadable'; problem: string; bytes: Buffer | null }
  );

export const STREAMS = ['results', 'transaction-status', 'quote-status'] as const;
export type Stream = (typeof STREAMS)[number];

/**
 * `ce_id` and `ce_time`: identifies an event permanently. `ce_id` alone does not distinguish two commands that used one key:
 * the processor forgets a key LEDGER_RETENTION after its result, and a new command with it starts again at revision 1.
 */
export function uniqueIdOf({ ce_id: id, ce_time: time = '' }: Envelope['headers']): string | null {
  return id === undefined ? null : `${id} ${time}`.trimEnd();
}

/** Pause before the registry is retried. */
const REGISTRY_RETRY_MS = 1_000;

export function topicOf(stream: Stream, names: TopicNames): string {
  switch (stream) {
    case 'results':
      return names.results;
    case 'transaction-status':
      return names.transactionStatusChanged;
    case 'quote-status':
      return names.quoteStatusChanged;
  }
}

/** Reads values of a topic: Avro with the registry, or JSON from a copy without it. */
export type Decoder = (record: TopicRecord & { value: Buffer }) => Promise<DecodeResult> | DecodeResult;

export function avroDecoder(registry: RecordRegistry): Decoder {
  return ({ topic, value }) => registry.decode(topic, value);
}

/** @param originalOf returns the original topic of a copy */
export function jsonDecoder(names: TopicNames, originalOf: (topic: string) => string): Decoder {
  const records = recordOfTopic(names);
  return ({ topic, value, headers }) => {
    const problem = headers[UNREADABLE_HEADER];
    if (problem !== undefined) return { kind: 'unreadable', problem };
    if (headers['content-type'] !== JSON_CONTENT_TYPE) return { kind: 'unreadable', problem: 'not marked as JSON' };
    const read = readJsonRecord(records.get(originalOf(topic)) ?? '', value.toString());
    return read.ok ? { kind: 'record', value: read.value } : { kind: 'unreadable', problem: read.problem };
  };
}

/**
 * Reads a record of the stream's topic; retries as long as the registry does not answer.
 * @returns the event; null: the subscription was closed during a registry outage
 */
export async function readEvent(
  record: TopicRecord,
  stream: Stream,
  decode: Decoder,
  closing: AbortSignal,
  onRegistryOutage: (problem: string) => void,
): Promise<PaymentEvent | null> {
  const envelope: Envelope = {
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    timestampMs: record.timestampMs,
    key: record.key?.toString() ?? '',
    id: record.headers['ce_id'] ?? null,
    uniqueId: uniqueIdOf(record.headers),
    headers: record.headers,
  };
  const unreadable = (problem: string): PaymentEvent => ({
    ...envelope,
    kind: 'unreadable',
    problem,
    bytes: record.value,
  });
  if (record.value === null) return unreadable('the record has no value');
  while (!closing.aborted) {
    const decoded = await decode({ ...record, value: record.value });
    switch (decoded.kind) {
      case 'record':
        return (
          eventOf(stream, envelope, decoded.value) ?? unreadable(newerRelease(decoded.value as CommandResultRecord))
        );
      case 'unreadable':
      case 'unknown-schema':
        return unreadable(decoded.problem);
      case 'unavailable':
        onRegistryOutage(decoded.problem);
        await delay(REGISTRY_RETRY_MS, undefined, { signal: closing }).catch(() => undefined);
    }
  }
  return null;
}

/** The value is already resolved into our own record. Null: a result of a later release. */
function eventOf(stream: Stream, envelope: Envelope, value: unknown): PaymentEvent | null {
  switch (stream) {
    case 'results':
      return isKnownResult(value as CommandResultRecord)
        ? {
            ...envelope,
            kind: 'result',
            value: value as CommandResult,
            isReplayed: envelope.headers['replayed'] === 'true',
          }
        : null;
    case 'transaction-status':
      return { ...envelope, kind: 'transaction-status', value: value as TransactionStatusChanged };
    case 'quote-status':
      return { ...envelope, kind: 'quote-status', value: value as QuoteStatusChanged };
  }
}

/** An unknown outcome must not be delivered: a subscriber that misreads it may pay again. */
function isKnownResult({ outcome, commandType, settledBy }: CommandResultRecord): boolean {
  const names: readonly (readonly [readonly string[], string])[] = [
    [OUTCOME_NAMES, outcome],
    [COMMAND_TYPES, commandType],
    [SETTLED_BY, settledBy],
  ];
  return names.every(([known, name]) => known.includes(name));
}

function newerRelease({ outcome, commandType, settledBy }: CommandResultRecord): string {
  return (
    `a result of a later release (outcome ${outcome}, command type ${commandType}, settled by ${settledBy}): ` +
    'update the client before relying on it'
  );
}
