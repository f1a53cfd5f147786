/**
 * Reads compressed record batches of every codec that Kafka publishers use.
 *
 * kafkajs supports only gzip, and without a bound. The format depends on the publisher's library: snappy comes in the framing
 * of snappy-java (Java clients, brokers) or without any (librdkafka, Go clients); lz4 is always a frame, but block size,
 * linked blocks, checksums and content size vary. All are accepted.
 *
 * A batch that expands beyond DECOMPRESSED_BYTES_MAX is refused before or during expansion (invariant I7). The error is not
 * retriable: the patched client delivers a note in place of the batch, so that it can be dead-lettered.
 */
import { promisify } from 'node:util';
// No named import: on a Node without zstd it would throw a SyntaxError before the client can say which Node it needs.
import * as zlib from 'node:zlib';
import kafkajs from 'kafkajs';
import { decompressFrame } from 'lz4-napi';
import { uncompress } from 'snappy';

const { CompressionCodecs, CompressionTypes } = kafkajs;
const { constants, gunzip, gzip, zstdCompress, zstdCompressSync, zstdDecompress } = zlib;

/**
 * More than an honest batch of 1 MiB expands to (the brokers' `max.message.bytes` counts compressed bytes). Small enough that
 * one per connected broker fits into memory and is decoded well within a heartbeat.
 */
export const DECOMPRESSED_BYTES_MAX = 16 * 1024 * 1024;

const LZ4_FRAME_MAGIC = 0x184d2204;
const LZ4_HEADER_BYTES_MIN = 7;
/** No sequence of an LZ4 block expands a byte to more than 255. */
const LZ4_EXPANSION_MAX = 255;

/** The last four bits may be anything. */
const SKIPPABLE_MASK = 0xffff_fff0;
const SKIPPABLE_FRAME_MAGIC = 0x184d2a50;
/** The magic and the length. */
const SKIPPABLE_HEADER_BYTES = 8;
/** Frames or blocks of a batch: each is a call of a library, and empty ones have a few bytes. */
const PARTS_MAX = 20_000;

const ZSTD_FRAME_MAGIC = 0xfd2fb528;
/** Bytes of the dictionary id and of the content size, by their codes in the frame's header. */
const ZSTD_DICTIONARY_BYTES = [0, 1, 2, 4] as const;
const ZSTD_CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const;
const ZSTD_REPEATED_BYTE_BLOCK = 1;

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** The magic, the writer's version and the oldest compatible version. */
const XERIAL_HEADER_BYTES = 16;
/** A 32-bit number in groups of seven bits. */
const SNAPPY_LENGTH_BYTES_MAX = 5;

/** The batch cannot be expanded: it is damaged, too large or in an unknown format. Reading it again does not help. */
export class UnreadableBatchError extends Error {
  override readonly name = 'UnreadableBatchError';
  /** Without it kafkajs fetches the batch again forever. */
  readonly retriable = false;
}

/** Someone tried to write with a codec that this project only reads. */
class UnsupportedCompressionError extends Error {
  override readonly name = 'UnsupportedCompressionError';
  readonly retriable = false;
}

/** kafkajs passes its encoder for writing; only the bytes matter. */
interface EncodedRecords {
  readonly buffer: Buffer;
}

interface Codec {
  compress(records: EncodedRecords): Promise<Buffer>;
  decompress(batch: Buffer): Promise<Buffer>;
}

/** Up to this size the thread pool costs more than the compression itself (about 3 us per kilobyte). */
const SYNC_COMPRESSION_BYTES_MAX = 128 * 1024;
/** Higher levels gain little and take several times as long. */
const ZSTD_QUICK = { [constants.ZSTD_c_compressionLevel]: 1 };
/** Each chunk costs a turn in the thread pool. */
const CHUNK_BYTES_MAX = 256 * 1024;
const CHUNK_BYTES_MIN = 1024;
const USUAL_EXPANSION = 8;

const limits = { maxOutputLength: DECOMPRESSED_BYTES_MAX };
const gzipAsync = promisify(gzip);
const gunzipAsync = promisify(gunzip);
const zstdCompressAsync = promisify(zstdCompress);
const zstdDecompressAsync = promisify(zstdDecompress);

const gzipCodec: Codec = {
  compress: (records) => gzipAsync(records.buffer),
  decompress: asUnreadableBatch('gzip', (batch) => gunzipAsync(batch, limits)),
};

const zstdCodec: Codec = {
  compress: ({ buffer }) => {
    const options = { params: ZSTD_QUICK, chunkSize: chunkBytesFor(buffer.length) };
    if (buffer.length > SYNC_COMPRESSION_BYTES_MAX) return zstdCompressAsync(buffer, options);
    return Promise.resolve(zstdCompressSync(buffer, options));
  },
  decompress: asUnreadableBatch('zstd', decompressZstd),
};

const snappyCodec: Codec = {
  compress: refuseToWrite('snappy'),
  decompress: asUnreadableBatch('snappy', decompressSnappy),
};

const lz4Codec: Codec = { compress: refuseToWrite('lz4'), decompress: asUnreadableBatch('lz4', decompressLz4) };

/**
 * Makes every kafkajs client of this process read gzip, snappy, lz4 and zstd, and write gzip and zstd.
 * Calling it again changes nothing.
 */
export function registerCompressionCodecs(): void {
  CompressionCodecs[CompressionTypes.GZIP] = () => gzipCodec;
  CompressionCodecs[CompressionTypes.Snappy] = () => snappyCodec;
  CompressionCodecs[CompressionTypes.LZ4] = () => lz4Codec;
  CompressionCodecs[CompressionTypes.ZSTD] = () => zstdCodec;
}

/** Frame by frame: Node's zstd ignores everything after the first frame. */
async function decompressZstd(batch: Buffer): Promise<Buffer> {
  const expanded: Buffer[] = [];
  let left = DECOMPRESSED_BYTES_MAX;
  for (const frame of framesOf(batch, zstdFrameBytes)) {
    if (isSkippable(frame)) continue;
    const chunkSize = chunkBytesFor(USUAL_EXPANSION * frame.length);
    const part = await zstdDecompressAsync(frame, { chunkSize, maxOutputLength: Math.max(1, left) });
    left -= part.length;
    requireWithinLimit(DECOMPRESSED_BYTES_MAX - left);
    expanded.push(part);
  }
  return joined(expanded);
}

/**
 * Requires complete frames. Decoders accept a truncated frame as a short one, and kafkajs reads missing bytes as records
 * without key and value. Neither would report an error.
 */
function framesOf(batch: Buffer, bytesOf: (rest: Buffer) => number): Buffer[] {
  const frames: Buffer[] = [];
  for (let rest = batch; rest.length > 0 || frames.length === 0;) {
    const bytes = isSkippable(rest) ? SKIPPABLE_HEADER_BYTES + rest.readUInt32LE(4) : bytesOf(rest);
    if (bytes > rest.length) throw new Error('its last frame is cut short');
    const frame = rest.subarray(0, bytes);
    frames.push(frame);
    requireFewParts(frames.length);
    rest = rest.subarray(frame.length);
  }
  return frames;
}

/** zstd and lz4 share skippable frames: the magic, the length, and bytes to ignore. */
function isSkippable(frame: Buffer): boolean {
  return (frame.readUInt32LE(0) & SKIPPABLE_MASK) >>> 0 === SKIPPABLE_FRAME_MAGIC;
}

function zstdFrameBytes(frame: Buffer): number {
  if (frame.readUInt32LE(0) !== ZSTD_FRAME_MAGIC) throw new Error('it is not a zstd frame');
  const flags = frame.readUInt8(4);
  const isSingleSegment = (flags & 0x20) !== 0;
  const hasContentChecksum = (flags & 0x04) !== 0;
  const contentSizeCode = (flags >> 6) & 0x03;
  // A single segment has the content size (at least one byte) instead of the window size.
  const sizesBytes = (ZSTD_CONTENT_SIZE_BYTES[contentSizeCode] ?? 0) + (isSingleSegment && contentSizeCode > 0 ? 0 : 1);
  let offset = 5 + sizesBytes + (ZSTD_DICTIONARY_BYTES[flags & 0x03] ?? 0);
  let isLast = false;
  while (!isLast) {
    const header = frame.readUIntLE(offset, 3);
    isLast = (header & 1) !== 0;
    const blockType = (header >> 1) & 0x03;
    offset += 3 + (blockType === ZSTD_REPEATED_BYTE_BLOCK ? 1 : header >> 3);
  }
  return offset + (hasContentChecksum ? 4 : 0);
}

async function decompressLz4(batch: Buffer): Promise<Buffer> {
  let totalBytesMax = 0;
  const frames = framesOf(batch, (rest) => {
    const { bytes, expandedBytesMax } = lz4FrameOf(rest);
    totalBytesMax += expandedBytesMax;
    return bytes;
  });
  requireWithinLimit(totalBytesMax);
  const expanded: Buffer[] = [];
  for (const frame of frames) if (!isSkippable(frame)) expanded.push(await decompressFrame(frame));
  return joined(expanded);
}

/**
 * A frame's length and its maximum expansion, from the sizes of its blocks. We ignore the content size in the header: it is
 * optional, and the writer may lie.
 */
function lz4FrameOf(frame: Buffer): { bytes: number; expandedBytesMax: number } {
  if (frame.length < LZ4_HEADER_BYTES_MIN || frame.readUInt32LE(0) !== LZ4_FRAME_MAGIC)
    throw new Error('it is not an LZ4 frame');
  const flags = frame.readUInt8(4);
  const hasBlockChecksums = (flags & 0x10) !== 0;
  const hasContentSize = (flags & 0x08) !== 0;
  const hasContentChecksum = (flags & 0x04) !== 0;
  const hasDictionary = (flags & 0x01) !== 0;
  const blockSizeCode = (frame.readUInt8(5) >> 4) & 0x07;
  if (blockSizeCode < 4) throw new Error(`its block size code is ${blockSizeCode}`);
  const blockBytesMax = 2 ** (8 + 2 * blockSizeCode);

  let expandedBytesMax = 0;
  let offset = LZ4_HEADER_BYTES_MIN + (hasContentSize ? 8 : 0) + (hasDictionary ? 4 : 0);
  for (;;) {
    const sizeField = frame.readUInt32LE(offset);
    offset += 4;
    if (sizeField === 0) break;
    const blockBytes = sizeField & 0x7fff_ffff;
    expandedBytesMax += Math.min(blockBytesMax, blockBytes * LZ4_EXPANSION_MAX);
    offset += blockBytes + (hasBlockChecksums ? 4 : 0);
  }
  return { bytes: offset + (hasContentChecksum ? 4 : 0), expandedBytesMax };
}

async function decompressSnappy(batch: Buffer): Promise<Buffer> {
  const blocks = snappyBlocks(batch);
  requireWithinLimit(blocks.reduce((total, block) => total + snappyExpandedBytes(block), 0));
  const expanded: Buffer[] = [];
  for (const block of blocks) expanded.push(await uncompressBlock(block));
  return joined(expanded);
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
}

async function uncompressBlock(block: Buffer): Promise<Buffer> {
  const expanded = await uncompress(block, { asBuffer: true });
  return typeof expanded === 'string' ? Buffer.from(expanded) : expanded;
}

/**
 * The blocks of snappy-java's framing (a header, then blocks behind their lengths; it may restart), or the whole batch as
 * one.
 */
function snappyBlocks(batch: Buffer): Buffer[] {
  const isHeader = (offset: number): boolean =>
    batch.subarray(offset, offset + XERIAL_MAGIC.length).equals(XERIAL_MAGIC);
  if (!isHeader(0)) return [batch];
  const blocks: Buffer[] = [];
  let offset = XERIAL_HEADER_BYTES;
  while (offset < batch.length) {
    if (isHeader(offset)) {
      offset += XERIAL_HEADER_BYTES;
      continue;
    }
    const start = offset + 4;
    const end = start + batch.readInt32BE(offset);
    if (end <= start || end > batch.length) throw new Error('one of its blocks is cut short');
    blocks.push(batch.subarray(start, end));
    requireFewParts(blocks.length);
    offset = end;
  }
  return blocks;
}

/** A snappy block begins with its expanded length; the decompressor enforces it. */
function snappyExpandedBytes(block: Buffer): number {
  let length = 0;
  for (let index = 0; index < SNAPPY_LENGTH_BYTES_MAX; index += 1) {
    const byte = block.readUInt8(index);
    length += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return length;
  }
  throw new Error('its length is not a 32-bit number');
}

function requireFewParts(count: number): void {
  if (count > PARTS_MAX) throw new Error(`it has more than ${PARTS_MAX} frames or blocks`);
}

function requireWithinLimit(expandedBytes: number): void {
  if (expandedBytes > DECOMPRESSED_BYTES_MAX) throw new Error(`it would expand to up to ${expandedBytes} bytes`);
}

/**
 * Turns a failure to expand a batch, a library's or our own, into one clear error; a lack of memory into a retriable
 * one.
 */
function asUnreadableBatch(
  codecName: string,
  decompress: (batch: Buffer) => Promise<Buffer>,
): (batch: Buffer) => Promise<Buffer> {
  return async (batch) => {
    try {
      return await decompress(batch);
    } catch (cause) {
      if (isMemoryFailure(cause))
        throw Object.assign(new Error('no memory to expand a record batch', { cause }), { retriable: true });
      throw new UnreadableBatchError(
        `A ${codecName} record batch of ${batch.length} bytes cannot be expanded within ${DECOMPRESSED_BYTES_MAX} bytes`,
        { cause },
      );
    }
  };
}

/** Not the batch's fault: it is fetched again. */
function isMemoryFailure(error: unknown): boolean {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ERR_MEMORY_ALLOCATION_FAILED' || code === 'ENOMEM' || message === 'Array buffer allocation failed';
}

function chunkBytesFor(bytes: number): number {
  return Math.min(Math.max(bytes, CHUNK_BYTES_MIN), CHUNK_BYTES_MAX);
}

function refuseToWrite(codecName: string): () => Promise<never> {
  return () =>
    Promise.reject(
      new UnsupportedCompressionError(`the processor does not write records with ${codecName}: use gzip or zstd`),
    );
}
