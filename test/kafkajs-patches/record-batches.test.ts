/**
 * What publishers may write into a record batch, and what the client makes of it: headers of any name and number, batches
 * that cannot be read, many records, offsets that are not true. One batch never stops the reading of the next.
 */
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { batchOf, CODECS, encodeBatch, type BatchRecord } from '../support/record-batch.ts';
import { DECOMPRESSED_BYTES_MAX, registerCompressionCodecs } from 'payment-processor-contract/kafka/compression-codecs';

type Headers = Record<string, Buffer | null | (Buffer | null)[]>;

interface Decoded {
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Headers;
  headersLeftOut: number;
  unreadableBatch?: { firstOffset: string; records: Buffer; error: Error };
}

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder') as new (buffer: Buffer) => object;
const decodeMessages = require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages') as (
  decoder: object,
) => Promise<Decoded[]>;
const Batch = require('kafkajs/src/consumer/batch') as new (
  topic: string,
  fetchedOffset: string,
  partition: { partition: number; highWatermark: string; abortedTransactions: unknown[]; messages: Decoded[] },
) => { messages: Decoded[]; isEmptyDueToFiltering: () => boolean; lastOffset: () => string };
const GZIP = CODECS.gzip.attributes;

beforeAll(() => registerCompressionCodecs());

function record(value: string | Buffer | null, more: Partial<BatchRecord> = {}): BatchRecord {
  return { key: null, value, ...more };
}

/** The batch where its first record lies at an offset of a partition. */
function at(firstOffset: number, batch: Buffer): Buffer {
  const placed = Buffer.from(batch);
  placed.writeBigInt64BE(BigInt(firstOffset));
  return placed;
}

/** A batch whose compressed records are these bytes, whatever they are. */
function batchWith(firstOffset: number, recordCount: number, body: Buffer): Buffer {
  const lastOffsetDelta = recordCount - 1;
  return at(firstOffset, encodeBatch({ body, attributes: GZIP, recordCount, lastOffsetDelta }));
}

/** The record set of one partition, as a response carries it. */
function decoderOf(...batches: Buffer[]): object {
  const size = Buffer.alloc(4);
  size.writeInt32BE(batches.reduce((sum, batch) => sum + batch.length, 0));
  return new Decoder(Buffer.concat([size, ...batches]));
}

describe('headers', () => {
  test('of more than 300,000 in a batch are not decoded, and after 200,000 the rest comes with the next fetch', async () => {
    const headers = Array.from({ length: 2_000 }, () => ['a', ''] as const);
    const withMany = (offset: number, count: number): Buffer =>
      at(
        offset,
        batchOf(
          Array.from({ length: count }, () => record('v', { headers })),
          CODECS.zstd,
        ),
      );
    const [unreadable, next] = await decodeMessages(decoderOf(withMany(0, 151), at(151, batchOf([record('next')]))));
    expect(unreadable).toMatchObject({ offset: '150', unreadableBatch: { firstOffset: '0' } });
    expect(unreadable?.unreadableBatch?.error.message).toMatch(/more than 300000 headers/);
    expect(next?.value?.toString()).toBe('next');
    expect(await decodeMessages(decoderOf(withMany(0, 100), withMany(100, 1)))).toHaveLength(100);
  });

  test('of any name are read as they were written, null and several of one name included', async () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', ''];
    const alone = [...names.map((name) => [name, 'x'] as const), ['none', null] as const];
    const headers = [...alone, ['twice', '1'] as const, ['twice', null] as const];
    const [read] = await decodeMessages(decoderOf(batchOf([record('v', { headers })])));
    expect(Object.entries(read!.headers)).toEqual([
      ...alone.map(([name, value]) => [name, value === null ? null : Buffer.from(value)]),
      ['twice', [Buffer.from('1'), null]],
    ]);
    expect(Object.hasOwn(read!.headers, '__proto__')).toBe(true);
  });

  test('in tens of thousands are read in one pass, and beyond left out with their number', async () => {
    const some = Array.from({ length: 9_000 }, (_, index) => [`h${index}`, 'x'] as const);
    const many = Array.from({ length: 60_000 }, () => ['h', 'x'] as const);
    const batch = batchOf([record('a', { headers: some }), record('b', { headers: many })]);
    const read = await decodeMessages(decoderOf(batch));
    expect(read.map(({ headers, headersLeftOut }) => [Object.keys(headers).length, headersLeftOut])).toEqual([
      [9_000, 0],
      [0, 60_000],
    ]);
    expect(read.map(({ value }) => value?.toString())).toEqual(['a', 'b']);
  });
});

describe('a batch that cannot be read', () => {
  const unreadable: [string, () => Buffer, RegExp][] = [
    ['expands beyond the limit', () => batchWith(5, 3, gzipSync(Buffer.alloc(DECOMPRESSED_BYTES_MAX + 1))), /expanded/],
    ['is damaged', () => batchWith(5, 3, Buffer.alloc(40, 0xff)), /expanded/],
    [
      'ends in the middle of a record',
      () => batchWith(5, 3, gzipSync(Buffer.from([100, 0, 0]))),
      /longer than its batch/,
    ],
    [
      'has records that do not add up',
      () => batchWith(5, 3, gzipSync(Buffer.from([20, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]))),
      /do not add up/,
    ],
    ['has more records than any batch', () => batchWith(5, 60_000, gzipSync(Buffer.alloc(1))), /60000 records/],
  ];

  test.each(unreadable)(
    'because it %s stands as one message, and the next batch is read',
    async (_name, make, error) => {
      const good = at(100_000, batchOf([record('good')]));
      const read = await decodeMessages(decoderOf(make(), good));
      expect(read).toHaveLength(2);
      expect(read[0]?.unreadableBatch).toMatchObject({ firstOffset: '5' });
      expect(read[0]?.unreadableBatch?.error.message).toMatch(error);
      expect(Number(read[0]?.offset)).toBe(5 + (error.source.includes('60000') ? 59_999 : 2));
      expect(read[0]?.unreadableBatch?.records.length).toBeGreaterThan(0);
      expect(read[1]?.value?.toString()).toBe('good');
    },
  );

  test('for want of memory is fetched again instead', async () => {
    const passing = Object.assign(new Error('no memory'), { retriable: true });
    const { Codecs } = require('kafkajs/src/protocol/message/compression') as {
      Codecs: Record<number, () => { decompress: () => Promise<Buffer> }>;
    };
    const codec = Codecs[GZIP]!;
    const batch = batchWith(0, 1, gzipSync(Buffer.alloc(1)));
    Codecs[GZIP] = () => ({ decompress: () => Promise.reject(passing) });
    try {
      await expect(decodeMessages(decoderOf(batch))).rejects.toBe(passing);
    } finally {
      Codecs[GZIP] = codec;
    }
  });
});

test('a response gives what it may expand to, and leaves the rest to the next', async () => {
  const large = batchOf([record(Buffer.alloc(DECOMPRESSED_BYTES_MAX - 100))], CODECS.gzip);
  const read = await decodeMessages(decoderOf(...[0, 1, 2].map((offset) => at(offset, large))));
  expect(read.map(({ offset }) => offset)).toEqual(['0', '1']);
});

test('more records than arguments fit a call are read', async () => {
  const batch = batchOf(Array.from({ length: 40_000 }, () => record(null)));
  expect(await decodeMessages(decoderOf(batch, at(40_000, batch)))).toHaveLength(80_000);
});

test('a batch that compaction emptied moves the reader on, though a response has nothing else', async () => {
  const emptied = encodeBatch({ body: Buffer.alloc(0), attributes: 0, recordCount: 0, lastOffsetDelta: 2 });
  const messages = await decodeMessages(decoderOf(at(5, emptied)));
  const batch = new Batch('ledger', '5', { partition: 0, highWatermark: '9', abortedTransactions: [], messages });
  expect([batch.messages, batch.isEmptyDueToFiltering(), batch.lastOffset()]).toEqual([[], true, '7']);
});

describe('the offset of a record', () => {
  test('is that of its place in a whole batch, whatever it says itself', async () => {
    const batch = batchOf([record('a', { offsetDelta: 7 }), record('b', { offsetDelta: 2 ** 31 - 1 })]);
    const read = await decodeMessages(decoderOf(at(10, batch)));
    expect(read.map(({ offset }) => offset)).toEqual(['10', '11']);
  });

  test('leaves the gaps that compaction made, and is never outside of its batch', async () => {
    const compacted = (...deltas: number[]): Promise<Decoded[]> => {
      const records = deltas.map((offsetDelta) => record(null, { offsetDelta }));
      return decodeMessages(decoderOf(at(10, batchOf(records, CODECS.none, { lastOffsetDelta: 5 }))));
    };
    // The last one stands for the end that is gone.
    expect((await compacted(1, 4)).map(({ offset }) => offset)).toEqual(['11', '14', '15']);
    for (const deltas of [
      [1, 6],
      [4, 1],
      [-1, 2],
    ]) {
      const read = await compacted(...deltas);
      expect(read.map(({ offset, unreadableBatch }) => [offset, unreadableBatch !== undefined])).toEqual([
        ['15', true],
      ]);
    }
  });
});
