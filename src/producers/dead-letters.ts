/**
 * Dead letters: the original bytes and headers, with the reason and the place in headers of our own. If they are too large
 * to copy, a reference instead: the place, their length, their SHA-256 and the first KiB.
 */
import type { MessageHeaders, OutgoingRecord } from './record-batch.ts';

export const DEAD_LETTER_REASONS = [
  'UNREADABLE',
  'UNKNOWN_SCHEMA',
  'NO_KEY',
  'INVALID_KEY',
  'TOO_LARGE',
  'SET_ASIDE',
  'REFUSED_DECISION',
  /** A whole record batch, which cannot be decompressed or decoded. */
  'UNREADABLE_BATCH',
] as const;
export type DeadLetterReason = (typeof DEAD_LETTER_REASONS)[number];

/** Bytes of which only the beginning was kept. */
export interface CutBytes {
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** The parts that were left out of a message too large to copy. */
export interface Cut {
  readonly key: CutBytes | null;
  readonly value: CutBytes | null;
  readonly headersLeftOut: number;
}

/** A message as we read it, with its place. */
export interface OriginalMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: MessageHeaders;
  /** Null: key, value and headers are whole. */
  readonly cut: Cut | null;
  /** Offset of the last record, if this is a whole unreadable batch. */
  readonly lastOffset: bigint | null;
}

export interface DeadLetter extends OriginalMessage {
  readonly reason: DeadLetterReason;
  readonly message: string;
}

/** Reserved for our own headers: readers could not distinguish a publisher's from ours. */
const OWN_PREFIX = 'dlq-';

/** Our own sentences may quote the publisher's text. */
const MESSAGE_LENGTH_MAX = 2_000;

export function deadLetterRecord(topic: string, lane: number, letter: DeadLetter): OutgoingRecord {
  return {
    topic,
    partition: lane,
    key: letter.key,
    value: letter.value,
    headers: {
      ...Object.fromEntries(Object.entries(letter.headers).filter(([name]) => !name.startsWith(OWN_PREFIX))),
      'dlq-reason': letter.reason,
      'dlq-message': letter.message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed(),
      'dlq-topic': letter.topic,
      'dlq-partition': String(letter.partition),
      'dlq-offset': letter.offset.toString(),
      'dlq-timestamp': instantText(letter.timestampMs),
      ...(letter.lastOffset === null ? {} : { 'dlq-last-offset': letter.lastOffset.toString() }),
      ...(letter.cut === null ? {} : referenceHeaders(letter.cut)),
    },
  };
}

function referenceHeaders({ headersLeftOut, key, value }: Cut): Record<string, string> {
  return {
    'dlq-by-reference': 'true',
    ...(key === null ? {} : { 'dlq-key-bytes': String(key.bytes), 'dlq-key-sha256': key.sha256 }),
    ...(value === null ? {} : { 'dlq-value-bytes': String(value.bytes), 'dlq-value-sha256': value.sha256 }),
    ...(headersLeftOut === 0 ? {} : { 'dlq-headers-left-out': String(headersLeftOut) }),
  };
}

/** ISO 8601, or the bare number if a publisher's clock is out of its range. */
function instantText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? String(ms) : date.toISOString();
}
