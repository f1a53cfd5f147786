/**
 * Converts the Kafka client's messages to those that lanes handle, and bounds them first (invariant I7). A message within
 * the limits below stays whole; a larger one is cut to a reference. Pure.
 */
import { createHash } from 'node:crypto';
import type { IHeaders, KafkaMessage } from 'kafkajs';
import type { Cut, CutBytes } from '../producers/dead-letters.ts';
import type { MessageHeaders } from '../producers/record-batch.ts';

export interface InputMessage {
  readonly offset: bigint;
  /** Milliseconds since 1970: the broker's time if the topic is LogAppendTime, else the publisher's. */
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: MessageHeaders;
  readonly headerCount: number;
  readonly headerBytes: number;
  /** Null: it is whole. */
  readonly cut: Cut | null;
  /** Set if it stands for a whole unreadable batch; the offset is that of the batch's last record. */
  readonly unreadableBatch: { readonly firstOffset: bigint; readonly problem: string } | null;
}

/** Fields that the patched client adds. */
type ClientMessage = KafkaMessage & {
  /** Number of headers of a record that has too many to be decoded. */
  readonly headersLeftOut?: number;
  /** Replaces a batch that cannot be decompressed or decoded. */
  readonly unreadableBatch?: { readonly firstOffset: string; readonly records: Buffer; readonly error: unknown };
};

interface Header {
  readonly name: string;
  readonly value: string | Buffer | null;
}

/** A message up to this size is kept whole: a dead letter has room for several times as much, with all headers added. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** The limit for a command, plus the headers that a move adds. */
const WHOLE_HEADERS_MAX = 2_010;
/** We cut the value of a larger message to its beginning, and its key too if that is longer than this. */
const KEY_BYTES_MAX = 64 * 1024;
const BEGINNING_BYTES = 1024;
/** A publisher and its tools add fewer. */
const USUAL_HEADERS = 20;
/** What a decoded header takes, however short it is. */
const HEADER_MEMORY_BYTES = 300;
/** Headers kept from a larger message, unless they are long: its result repeats them. */
const ANSWER_HEADERS = ['ce_id', 'traceparent', 'tracestate', 'correlation-id'];
/** Bytes in a larger buffer are copied, so that they do not keep all of it in memory. */
const SHARED_BYTES_MAX = 1024 * 1024;

export function inputMessage(message: ClientMessage): InputMessage {
  const { headersLeftOut: undecoded = 0, key, unreadableBatch, value } = message;
  const place = { offset: BigInt(message.offset), timestampMs: Number(message.timestamp) };
  if (unreadableBatch !== undefined) {
    const { error, firstOffset, records } = unreadableBatch;
    return {
      ...place,
      ...kept(null, beginningOf(records), []),
      cut: { key: null, value: cutBytes(records), headersLeftOut: 0 },
      unreadableBatch: { firstOffset: BigInt(firstOffset), problem: problemOf(error) },
    };
  }
  const headers = headersOf(message.headers ?? {});
  const bytes = (key?.length ?? 0) + (value?.length ?? 0) + bytesOf(headers);
  if (bytes <= WHOLE_BYTES_MAX && headers.length <= WHOLE_HEADERS_MAX && undecoded === 0)
    return { ...place, ...kept(key, value, headers), cut: null, unreadableBatch: null };
  const ofAnswers = answerHeaders(message.headers ?? {});
  const isShortKey = (key?.length ?? 0) <= KEY_BYTES_MAX;
  return {
    ...place,
    ...kept(isShortKey ? key : partOf(key), partOf(value), headersOf(ofAnswers)),
    cut: {
      key: isShortKey ? null : cutOf(key),
      value: cutOf(value),
      headersLeftOut: undecoded + headers.length - Object.keys(ofAnswers).length,
    },
    unreadableBatch: null,
  };
}

/** The headers that results repeat, unless they are long or there are several of one name. */
export function answerHeaders(headers: MessageHeaders | IHeaders): MessageHeaders {
  const pairs = ANSWER_HEADERS.filter((name) => Object.hasOwn(headers, name)).map((name) => [name, headers[name]]);
  return Object.fromEntries(
    pairs.filter(([, value]) => Buffer.isBuffer(value) && value.length <= BEGINNING_BYTES),
  ) as MessageHeaders;
}

/** Enough to find the message again, without its content. */
export function referenceTo({ cut, headerCount, key, value }: InputMessage): Cut {
  return {
    key: cut?.key ?? cutOf(key),
    value: cut?.value ?? cutOf(value),
    headersLeftOut: headerCount + (cut?.headersLeftOut ?? 0),
  };
}

/** Bytes that it takes in memory. */
export function sizeOf({ headerBytes, headerCount, key, value }: InputMessage): number {
  const manyHeaders = Math.max(0, headerCount - USUAL_HEADERS) * HEADER_MEMORY_BYTES;
  return (key?.length ?? 0) + (value?.length ?? 0) + headerBytes + manyHeaders + 100;
}

export function beginningOf(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(0, BEGINNING_BYTES));
}

export function cutBytes(bytes: Buffer): CutBytes {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

function kept(
  key: Buffer | null,
  value: Buffer | null,
  headers: readonly Header[],
): Pick<InputMessage, 'key' | 'value' | 'headers' | 'headerCount' | 'headerBytes'> {
  const named = new Map<string, Header['value'] | Header['value'][]>();
  for (const { name, value } of headers) {
    const own = Buffer.isBuffer(value) ? ownBytes(value) : value;
    const before = named.get(name);
    if (before === undefined) named.set(name, own);
    else if (Array.isArray(before)) before.push(own);
    else named.set(name, [before, own]);
  }
  return {
    key: key === null ? null : ownBytes(key),
    value: value === null ? null : ownBytes(value),
    headers: Object.fromEntries(named),
    headerCount: headers.length,
    headerBytes: bytesOf(headers),
  };
}

function headersOf(headers: MessageHeaders | IHeaders): Header[] {
  return Object.entries(headers).flatMap(([name, given]) =>
    (Array.isArray(given) ? (given as Header['value'][]) : [given as Header['value']]).map((value) => ({
      name,
      value: value ?? null,
    })),
  );
}

function partOf(part: Buffer | null): Buffer | null {
  return part === null ? null : beginningOf(part);
}

function cutOf(part: Buffer | null): CutBytes | null {
  return part === null ? null : cutBytes(part);
}

function bytesOf(headers: readonly Header[]): number {
  return headers.reduce((sum, { name, value }) => sum + Buffer.byteLength(name) + (value?.length ?? 0), 0);
}

function ownBytes(bytes: Buffer): Buffer {
  return bytes.buffer.byteLength > SHARED_BYTES_MAX ? Buffer.from(bytes) : bytes;
}

function problemOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return message + cause;
}
