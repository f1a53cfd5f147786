/** The note of a redrive or acknowledgement, on the partition of its dead letter: its shape and its words. Pure. */
import { createHash } from 'node:crypto';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { NOTE_HEADERS, notedOffset } from '../../../src/producers/dead-letter-notes.ts';
import { isoOf } from './event-output.ts';
import { keyCommand } from './key-command.ts';

export interface RedriveNote {
  readonly partition: number;
  /** The dead letter's offset. */
  readonly letterOffset: bigint;
  /** The note's own offset, in the same partition. */
  readonly offset: bigint;
  /** The dead letter's key; null: it has none, or holds an operator's decision. */
  readonly letterKey: string | null;
  /** For a message without a key, the name of its content. */
  readonly letterContent: string | null;
  /** The key under which it was published again; empty: it was acknowledged. */
  readonly key: string;
  /** Why it was acknowledged; null: it was redriven. */
  readonly because: string | null;
  readonly operator: string;
  readonly timestamp: string;
  readonly id: string;
}

/** Null: the record is a dead letter. */
export function noteOf(
  record: Pick<TopicRecord, 'headers' | 'key' | 'offset' | 'partition' | 'timestampMs'>,
): RedriveNote | null {
  const { headers, offset, partition, timestampMs } = record;
  const letterOffset = notedOffset((name) => headers[name]);
  if (letterOffset === null) return null;
  return {
    partition,
    letterOffset,
    offset,
    letterKey: record.key?.toString('latin1') ?? null,
    letterContent: null,
    key: headers[NOTE_HEADERS.key] ?? '',
    because: headers[NOTE_HEADERS.because] ?? null,
    operator: headers[NOTE_HEADERS.operator] ?? '',
    timestamp: isoOf(timestampMs),
    id: headers[NOTE_HEADERS.id] ?? '',
  };
}

export function letterName({ partition, offset }: { partition: number; offset: bigint }): string {
  return `${partition}/${offset}`;
}

/** Names a message without a key by its content. A copy has the same name, also by reference. No key has a blank. */
export function contentName({ headers, value }: Pick<TopicRecord, 'headers' | 'value'>): string {
  const ofWhole = headers['dlq-value-sha256'];
  if (ofWhole !== undefined) return `content ${ofWhole}`;
  const hash = createHash('sha256').update(value ?? '');
  return `content ${hash.digest('hex')}`;
}

/** The name of the noted letter. */
export function notedLetter({ letterOffset, partition }: RedriveNote): string {
  return letterName({ partition, offset: letterOffset });
}

/**
 * How a letter was handled. A redrive's note is written before its message, so it does not prove that one was
 * published.
 */
export function handledText({ because, key }: Pick<RedriveNote, 'because' | 'key'>): string {
  return because === null ? `marked as redriven under ${key}` : `acknowledged (${because})`;
}

export function noteText(note: RedriveNote): string {
  return `${handledText(note)} by ${note.operator} at ${note.timestamp}`;
}

/** How to find out the outcome. */
export function whomToAsk({ because, key, operator }: RedriveNote): string {
  return because === null ? `check with \`${keyCommand('show', key)}\`` : `ask ${operator}`;
}

/** Says that another letter, which may be the same payment, was handled before. */
export function otherLetterText(note: RedriveNote): string {
  const key = note.letterKey === null ? '' : ` of the key ${note.letterKey}`;
  return `the dead letter ${notedLetter(note)}${key} was ${noteText(note)}: it may be the same payment; ${whomToAsk(note)}`;
}
