/** A dead letter as the tools show it: the message's own headers, separate from those about its failure. */
import type { RawRecord } from 'payment-processor-client/internal/kafka/raw-record';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { DeadLetterReason } from '../../../src/producers/dead-letters.ts';
import { isoOf } from './event-output.ts';
import { noteText, type RedriveNote } from './redrive-note.ts';

const OWN_HEADERS = 'dlq-';
/** Bytes of a value to show on a terminal; the JSON document has all. */
const SHOWN_BYTES_MAX = 16 * 1024;
const DUMP_LINE_BYTES = 16;

interface ReasonRow {
  /** The command got an INVALID result, if its key was free. */
  readonly isAnswered: boolean;
  /** `redrive --reason` takes it. Not a batch, which is no message; nor what a person must handle one by one. */
  readonly isRedrivable: boolean;
}

const REASONS: Readonly<Record<DeadLetterReason, ReasonRow>> = {
  UNREADABLE: { isAnswered: true, isRedrivable: true },
  UNKNOWN_SCHEMA: { isAnswered: true, isRedrivable: true },
  NO_KEY: { isAnswered: false, isRedrivable: false },
  INVALID_KEY: { isAnswered: false, isRedrivable: true },
  TOO_LARGE: { isAnswered: true, isRedrivable: true },
  SET_ASIDE: { isAnswered: false, isRedrivable: true },
  REFUSED_DECISION: { isAnswered: false, isRedrivable: false },
  UNREADABLE_BATCH: { isAnswered: false, isRedrivable: false },
};

export const DEAD_LETTER_REASONS = Object.keys(REASONS);
export const REDRIVABLE_REASONS = reasonsThat(({ isRedrivable }) => isRedrivable);
export const ANSWERED_REASONS = reasonsThat(({ isAnswered }) => isAnswered);

function reasonsThat(is: (row: ReasonRow) => boolean): string[] {
  return Object.entries(REASONS).flatMap(([reason, row]) => (is(row) ? [reason] : []));
}

export interface LetterSummary {
  partition: number;
  offset: bigint;
  timestamp: string;
  reason: string | null;
  message: string | null;
  /** Null: the message had no key, or its key is not text. */
  key: string | null;
  keyBase64: string | null;
  valueBytes: number | null;
  source: { topic: string | null; partition: string | null; offset: string | null; timestamp: string | null };
}

export function summaryOf(record: Omit<TopicRecord, 'topic'>): LetterSummary {
  const { headers } = record;
  return {
    partition: record.partition,
    offset: record.offset,
    timestamp: isoOf(record.timestampMs),
    reason: headers['dlq-reason'] ?? null,
    message: headers['dlq-message'] ?? null,
    key: record.key === null ? null : textOf(record.key),
    keyBase64: record.key?.toString('base64') ?? null,
    valueBytes: record.value?.length ?? null,
    source: {
      topic: headers['dlq-topic'] ?? null,
      partition: headers['dlq-partition'] ?? null,
      offset: headers['dlq-offset'] ?? null,
      timestamp: headers['dlq-timestamp'] ?? null,
    },
  };
}

export function summaryText(letter: LetterSummary, redriven: readonly RedriveNote[]): string {
  const place = `dead letter ${letter.partition}/${letter.offset}`;
  const notes = redriven.map((note) => `  (${noteText(note)})`).join('');
  return `${letter.timestamp}  ${(letter.reason ?? '?').padEnd(16)}  ${keyText(letter)}  from ${sourceText(letter)}  (${place})  ${letter.message ?? ''}${notes}`;
}

/** The record with the first value of each header, as text. */
export function inText(record: RawRecord): TopicRecord {
  const headers = Object.entries(record.headers).map(([name, [first]]) => [name, first?.toString() ?? '']);
  return { ...record, headers: Object.fromEntries(headers) as Record<string, string> };
}

/** The message's original headers. */
export function originalHeaders(record: RawRecord): Record<string, readonly Buffer[]> {
  return Object.fromEntries(Object.entries(record.headers).filter(([name]) => !name.startsWith(OWN_HEADERS)));
}

/** The whole dead letter. Bytes appear as hex, and as text if they are text (else null). */
export function letterDocument(record: RawRecord): object {
  const headers = Object.entries(originalHeaders(record)).map(([name, values]) => [
    name,
    values.map((value) => ({ text: textOf(value), hex: value.toString('hex') })),
  ]);
  return {
    ...summaryOf(inText(record)),
    headers: Object.fromEntries(headers) as object,
    valueText: record.value === null ? null : textOf(record.value),
    valueHex: record.value?.toString('hex') ?? null,
  };
}

export function letterText(record: RawRecord, redriven: readonly RedriveNote[]): string[] {
  const letter = summaryOf(inText(record));
  const headers = Object.entries(originalHeaders(record)).flatMap(([name, values]) =>
    values.map((value) => `  ${name}: ${textOf(value) ?? `0x${value.toString('hex')}`}`),
  );
  return [
    `dead letter  ${record.topic}/${record.partition}/${record.offset}, written ${letter.timestamp}`,
    `reason       ${letter.reason ?? '?'}: ${letter.message ?? ''}`,
    `from         ${sourceText(letter)}, written ${letter.source.timestamp ?? '?'}`,
    `key          ${keyText(letter)}`,
    ...redriven.map((note) => `handled      ${noteText(note)}`),
    headers.length === 0 ? 'headers      none' : 'headers',
    ...headers,
    ...valueLines(record.value),
  ];
}

function keyText(letter: LetterSummary): string {
  return letter.keyBase64 === null ? '(no key)' : (letter.key ?? `base64:${letter.keyBase64}`);
}

export function sourceText({ source }: Pick<LetterSummary, 'source'>): string {
  return `${source.topic ?? '?'}, partition ${source.partition ?? '?'}, offset ${source.offset ?? '?'}`;
}

function valueLines(value: Buffer | null): string[] {
  if (value === null) return ['value        none'];
  const text = textOf(value);
  const more = value.length > SHOWN_BYTES_MAX ? [`  (the first ${SHOWN_BYTES_MAX} bytes; all with --output json)`] : [];
  return [
    `value        ${value.length} bytes`,
    ...(text === null ? [] : [`  ${text.slice(0, SHOWN_BYTES_MAX)}`]),
    ...dumpLines(value.subarray(0, SHOWN_BYTES_MAX)),
    ...more,
  ];
}

/** Offset, bytes as hex, and their printable ASCII characters. */
function dumpLines(bytes: Buffer): string[] {
  const lines: string[] = [];
  for (let offset = 0; offset < bytes.length; offset += DUMP_LINE_BYTES) {
    const part = bytes.subarray(offset, offset + DUMP_LINE_BYTES);
    const hex = [...part].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const characters = part.toString('latin1').replace(/[^\x20-\x7e]/g, '.');
    lines.push(`  ${offset.toString(16).padStart(6, '0')}  ${hex.padEnd(DUMP_LINE_BYTES * 3 - 1)}  ${characters}`);
  }
  return lines;
}

/** The bytes as text if a terminal can show them, else null. */
function textOf(bytes: Buffer): string | null {
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) && !/\p{Cc}/u.test(text) ? text : null;
}
