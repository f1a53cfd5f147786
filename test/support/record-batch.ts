/**
 * Kafka record batches as bytes (magic 2), as any client could write them: every field may be wrong. Only the checksum is
 * always right, because brokers verify it.
 */
import { gzipSync, zstdCompressSync } from 'node:zlib';
import crc32 from '@node-rs/crc32';
import { compressFrameSync } from 'lz4-napi';
import { compressSync } from 'snappy';

/** A name or value that is not text is given as bytes. */
export type HeaderList = readonly (readonly [Buffer | string, Buffer | string | null])[];

export interface BatchRecord {
  readonly key: Buffer | string | null;
  readonly value: Buffer | string | null;
  readonly headers?: HeaderList;
  readonly offsetDelta?: number;
}

/** How records are compressed, and how the batch says so. */
export interface Codec {
  readonly attributes: number;
  readonly compress: (records: Buffer) => Buffer;
}

export const CODECS = {
  none: { attributes: 0, compress: (records) => records },
  gzip: { attributes: 1, compress: (records) => gzipSync(records) },
  snappy: { attributes: 2, compress: (records) => compressSync(records) },
  xerial: { attributes: 2, compress: xerialFrame },
  lz4: { attributes: 3, compress: (records) => compressFrameSync(records) },
  zstd: { attributes: 4, compress: (records) => zstdCompressSync(records) },
} as const satisfies Record<string, Codec>;

export type CodecName = keyof typeof CODECS;

export interface BatchFields {
  /** The bytes in place of the records, compressed or not. */
  readonly body: Buffer;
  readonly attributes?: number;
  readonly recordCount?: number;
  readonly lastOffsetDelta?: number;
  readonly firstTimestamp?: bigint;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly firstSequence?: number;
  readonly magic?: number;
  /** The stated number of bytes after the length field. */
  readonly length?: number;
}

const MAGIC = 2;
/** Fields between the length and the part that the checksum covers: leader epoch, magic, checksum. */
const UNCHECKED_BYTES = 9;
const XERIAL_HEADER = Buffer.from('82534e41505059000000000100000001', 'hex');
/** snappy-java's default. */
const XERIAL_BLOCK_BYTES = 32 * 1024;

/** Concatenates the records, as in a batch before compression. */
export function encodeRecords(records: readonly BatchRecord[]): Buffer {
  return Buffer.concat(records.map((record, index) => encodeRecord(record, index)));
}

/** A batch of the records; every field that is not given is right. */
export function batchOf(
  records: readonly BatchRecord[],
  codec: Codec = CODECS.none,
  fields?: Partial<BatchFields>,
): Buffer {
  const body = codec.compress(encodeRecords(records));
  return encodeBatch({
    body,
    attributes: codec.attributes,
    recordCount: records.length,
    lastOffsetDelta: records.length - 1,
    ...fields,
  });
}

export function encodeBatch(fields: BatchFields): Buffer {
  const firstTimestamp = fields.firstTimestamp ?? BigInt(Date.now());
  const checked = Buffer.alloc(40);
  checked.writeInt16BE(fields.attributes ?? 0, 0);
  checked.writeInt32BE(fields.lastOffsetDelta ?? 0, 2);
  checked.writeBigInt64BE(firstTimestamp, 6);
  checked.writeBigInt64BE(firstTimestamp, 14);
  checked.writeBigInt64BE(fields.producerId ?? -1n, 22);
  checked.writeInt16BE(fields.producerEpoch ?? -1, 30);
  checked.writeInt32BE(fields.firstSequence ?? -1, 32);
  checked.writeInt32BE(fields.recordCount ?? 1, 36);
  const covered = Buffer.concat([checked, fields.body]);
  const head = Buffer.alloc(12 + UNCHECKED_BYTES);
  head.writeBigInt64BE(0n, 0);
  head.writeInt32BE(fields.length ?? covered.length + UNCHECKED_BYTES, 8);
  head.writeInt32BE(-1, 12);
  head.writeInt8(fields.magic ?? MAGIC, 16);
  head.writeUInt32BE(crc32.crc32c(covered), 17);
  return Buffer.concat([head, covered]);
}

function encodeRecord(record: BatchRecord, index: number): Buffer {
  const headers = record.headers ?? [];
  const body = new GrowingBytes();
  body.add(Buffer.from([0]));
  body.add(zigzag(0n));
  body.add(zigzag(BigInt(record.offsetDelta ?? index)));
  body.addLengthed(record.key);
  body.addLengthed(record.value);
  body.add(zigzag(BigInt(headers.length)));
  for (const [name, value] of headers) {
    body.addLengthed(name);
    body.addLengthed(value);
  }
  return Buffer.concat([zigzag(BigInt(body.length)), body.written()]);
}

/** A record may have 250,000 headers: a buffer for each of their parts would take seconds. */
class GrowingBytes {
  #bytes = Buffer.allocUnsafe(512);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  add(content: Buffer | string): void {
    const end = this.#length + Buffer.byteLength(content);
    if (end > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * end);
      this.written().copy(grown);
      this.#bytes = grown;
    }
    if (typeof content === 'string') this.#bytes.write(content, this.#length);
    else content.copy(this.#bytes, this.#length);
    this.#length = end;
  }

  addLengthed(content: Buffer | string | null): void {
    const length = content === null ? -1 : Buffer.byteLength(content);
    this.add(SHORT[length] ?? zigzag(BigInt(length)));
    if (content !== null) this.add(content);
  }
}

/** The encoded lengths of most texts. */
const SHORT = Array.from({ length: 64 }, (_, length) => Buffer.from([2 * length]));

/** A number as Kafka and Avro write it: zigzag, seven bits at a time. */
export function zigzag(value: bigint): Buffer {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
  const bytes: number[] = [];
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}

/** snappy-java's framing, which Java publishers and brokers write. */
function xerialFrame(content: Buffer): Buffer {
  const blocks: Buffer[] = [];
  for (let offset = 0; offset < content.length; offset += XERIAL_BLOCK_BYTES) {
    const block = compressSync(content.subarray(offset, offset + XERIAL_BLOCK_BYTES));
    const length = Buffer.alloc(4);
    length.writeInt32BE(block.length);
    blocks.push(length, block);
  }
  return Buffer.concat([XERIAL_HEADER, ...blocks]);
}
