/**
 * Record batches as Kafka stores them (message format 2), one per partition.
 *
 *   open     records are appended, each once, to one buffer
 *   sealed   compressed where that pays, with the producer's id, epoch and sequence, and the CRC-32C. Retries send the same
 *            bytes
 */
import { zstdCompressSync, constants } from 'node:zlib';
import crc32 from '@node-rs/crc32';

type HeaderValue = string | Buffer | null;
/** By name; a list has the values of repeated headers, in order. */
export type MessageHeaders = Readonly<Record<string, HeaderValue | readonly HeaderValue[]>>;

export interface OutgoingRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | Buffer | null;
  readonly value: Buffer | null;
  readonly headers: MessageHeaders;
}

/** Who writes a batch, and the sequence of the batch's first record in its partition. */
export interface BatchProducer {
  readonly producerId: bigint;
  readonly epoch: number;
  readonly firstSequence: number;
}

/** Byte offsets in a batch. */
const LENGTH_AT = 8;
const LEADER_EPOCH_AT = 12;
const MAGIC_AT = 16;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const LAST_DELTA_AT = 23;
const FIRST_TIME_AT = 27;
const LAST_TIME_AT = 35;
const PRODUCER_ID_AT = 43;
const EPOCH_AT = 51;
const SEQUENCE_AT = 53;
const COUNT_AT = 57;
const RECORDS_AT = 61;

const MAGIC = 2;
const NO_LEADER_EPOCH = -1;
const TRANSACTIONAL = 0x10;
const ZSTD = 4;
/** Smaller batches hardly shrink. */
const COMPRESSED_FROM_BYTES = 4 * 1024;
/** Higher levels gain little and take several times as long. */
const COMPRESSION = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const FIRST_BYTES = 4 * 1024;
const VARINT_BYTES_MAX = 5;
/** A record's overhead: lengths, deltas and attributes at their longest. */
const RECORD_OVERHEAD_BYTES_MAX = 4 * VARINT_BYTES_MAX + 3;
/** In UTF-8, for each unit of UTF-16. */
const CHARACTER_BYTES_MAX = 3;
/** Shorter texts are faster to copy here than by a call into Node. */
const SHORT_TEXT = 40;
const ASCII_MAX = 0x7f;

export class RecordBatch {
  readonly topic: string;
  readonly partition: number;
  readonly #timestampMs: number;
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  #end = RECORDS_AT;
  #count = 0;

  /** @param timestampMs of all its records, unless their topic uses LogAppendTime */
  constructor(topic: string, partition: number, timestampMs: number) {
    this.topic = topic;
    this.partition = partition;
    this.#timestampMs = timestampMs;
  }

  get recordCount(): number {
    return this.#count;
  }

  append({ headers, key, value }: Pick<OutgoingRecord, 'headers' | 'key' | 'value'>): void {
    const parts = partsOf(headers);
    let bytesMax = RECORD_OVERHEAD_BYTES_MAX + bytesMaxOf(key) + bytesMaxOf(value);
    let units = lengthOf(key) + lengthOf(value) + parts.length;
    for (const part of parts) {
      bytesMax += VARINT_BYTES_MAX + bytesMaxOf(part);
      units += lengthOf(part);
    }
    this.#reserve(bytesMax);
    const start = this.#end;
    // We guess the size of the length prefix from UTF-16 lengths: nearly always right. If not, `copyWithin` moves the record.
    const lengthBytes = varintBytes(zigZag(units));
    this.#end = start + lengthBytes;
    this.#buffer[this.#end++] = 0;
    this.#varint(0);
    this.#varint(this.#count);
    this.#part(key);
    this.#part(value);
    this.#varint(parts.length / 2);
    for (const part of parts) this.#part(part);
    const length = this.#end - start - lengthBytes;
    const lengthBytesNow = varintBytes(zigZag(length));
    if (lengthBytesNow !== lengthBytes) {
      this.#buffer.copyWithin(start + lengthBytesNow, start + lengthBytes, this.#end);
    }
    this.#end = start;
    this.#varint(length);
    this.#end += length;
    this.#count += 1;
  }

  /** The bytes to send. @param mayCompress compresses the batch if it is large enough to shrink */
  sealed({ epoch, firstSequence, producerId }: BatchProducer, mayCompress: boolean): Buffer {
    const isCompressed = mayCompress && this.#end >= COMPRESSED_FROM_BYTES;
    const bytes = isCompressed
      ? Buffer.concat([
          this.#buffer.subarray(0, RECORDS_AT),
          zstdCompressSync(this.#buffer.subarray(RECORDS_AT, this.#end), COMPRESSION),
        ])
      : this.#buffer.subarray(0, this.#end);
    bytes.writeBigInt64BE(0n, 0);
    bytes.writeInt32BE(bytes.length - LEADER_EPOCH_AT, LENGTH_AT);
    bytes.writeInt32BE(NO_LEADER_EPOCH, LEADER_EPOCH_AT);
    bytes[MAGIC_AT] = MAGIC;
    bytes.writeInt16BE(TRANSACTIONAL | (isCompressed ? ZSTD : 0), ATTRIBUTES_AT);
    bytes.writeInt32BE(this.#count - 1, LAST_DELTA_AT);
    bytes.writeBigInt64BE(BigInt(this.#timestampMs), FIRST_TIME_AT);
    bytes.writeBigInt64BE(BigInt(this.#timestampMs), LAST_TIME_AT);
    bytes.writeBigInt64BE(producerId, PRODUCER_ID_AT);
    bytes.writeInt16BE(epoch, EPOCH_AT);
    bytes.writeInt32BE(firstSequence, SEQUENCE_AT);
    bytes.writeInt32BE(this.#count, COUNT_AT);
    bytes.writeUInt32BE(crc32.crc32c(bytes.subarray(ATTRIBUTES_AT)), CRC_AT);
    return bytes;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#end + bytes));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }

  #varint(value: number): void {
    let rest = zigZag(value);
    for (; rest > ASCII_MAX; rest >>>= 7) this.#buffer[this.#end++] = (rest & ASCII_MAX) | 0x80;
    this.#buffer[this.#end++] = rest;
  }

  /** Writes its length, then the part. */
  #part(part: HeaderValue): void {
    if (part === null) {
      this.#varint(-1);
    } else if (typeof part !== 'string') {
      this.#varint(part.length);
      this.#buffer.set(part, this.#end);
      this.#end += part.length;
    } else if (!this.#shortAscii(part)) {
      this.#varint(Buffer.byteLength(part));
      this.#end += this.#buffer.write(part, this.#end);
    }
  }

  /** @returns false if it is long or not ASCII; nothing is written then */
  #shortAscii(text: string): boolean {
    if (text.length > SHORT_TEXT) return false;
    const start = this.#end;
    this.#varint(text.length);
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code > ASCII_MAX) {
        this.#end = start;
        return false;
      }
      this.#buffer[this.#end++] = code;
    }
    return true;
  }
}

/** One batch per partition, in the order in which the partitions first occur. */
export function encodeBatches(records: readonly OutgoingRecord[], timestampMs = Date.now()): RecordBatch[] {
  const batches = new Map<string, RecordBatch>();
  for (const record of records) {
    const name = batchName(record.topic, record.partition);
    let batch = batches.get(name);
    if (batch === undefined) {
      batch = new RecordBatch(record.topic, record.partition, timestampMs);
      batches.set(name, batch);
    }
    batch.append(record);
  }
  return [...batches.values()];
}

/** Names a partition in maps. */
export function batchName(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}

/** Names and values in turn. */
function partsOf(headers: MessageHeaders): HeaderValue[] {
  const parts: HeaderValue[] = [];
  for (const name of Object.keys(headers)) {
    const value = headers[name] as HeaderValue | readonly HeaderValue[];
    if (Array.isArray(value)) for (const one of value as readonly HeaderValue[]) parts.push(name, one);
    else parts.push(name, value as HeaderValue);
  }
  return parts;
}

function bytesMaxOf(part: HeaderValue): number {
  return typeof part === 'string' ? CHARACTER_BYTES_MAX * part.length : lengthOf(part);
}

function lengthOf(part: HeaderValue): number {
  return part === null ? 0 : part.length;
}

function zigZag(value: number): number {
  return ((value << 1) ^ (value >> 31)) >>> 0;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes += 1;
  return bytes;
}
