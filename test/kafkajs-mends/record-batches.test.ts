/**
 * What publishers may write into a record batch, and what the client makes of it: headers of any name and number, batches
 * that cannot be read, many records, offsets that are not true. One batch never stops the reading of the next.
 */
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
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

interface Encoder {
  buffer: Buffer;
}

const require = createRequire(import.meta.url);
const Decoder = require('kafkajs/src/protocol/decoder') as new (buffer: Buffer) => object;
const encodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0') as (record: object) => Encoder;
const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0') as {
  RecordBatch: (batch: object) => Promise<Encoder>;
};
const decodeMessages = require('kafkajs/src/protocol/requests/fetch/v4/decodeMessages') as (
  decoder: object,
) => Promise<Decoded[]>;
const Long = require('kafkajs/src/utils/long') as { fromValue: (value: number) => object };

const GZIP = 1;

beforeAll(() => registerCompressionCodecs());

function record(offsetDelta: number, value: Buffer | null, headers: object = {}): Encoder {
  return encodeRecord({ offsetDelta, timestampDelta: 0, key: null, value, headers });
}

function batchOf(firstOffset: number, records: Encoder[], compression = 0): Promise<Buffer> {
  const lastOffsetDelta = records.length - 1;
  const batch = { firstOffset: Long.fromValue(firstOffset), lastOffsetDelta, records, compression };
  return RecordBatch({ ...batch, producerId: -1, maxTimestamp: 0, firstTimestamp: 0 }).then(({ buffer }) => buffer);
}

/** A batch whose compressed records are these bytes, whatever they are. */
async function batchWith(firstOffset: number, count: number, compressed: Buffer): Promise<Buffer> {
  const records = Array.from({ length: count }, (_, index) => record(index, null));
  const whole = await batchOf(firstOffset, records, GZIP);
  const headBytes = 61;
  const head = Buffer.from(whole.subarray(0, headBytes));
  head.writeInt32BE(headBytes - 12 + compressed.length, 8);
  return Buffer.concat([head, compressed]);
}

/** The record set of one partition, as a response carries it. */
function decoderOf(...batches: Buffer[]): object {
  const size = Buffer.alloc(4);
  size.writeInt32BE(batches.reduce((sum, batch) => sum + batch.length, 0));
  return new Decoder(Buffer.concat([size, ...batches]));
}

describe('headers', () => {
  test('of any name are read as they were written, null and several of one name included', async () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', ''];
    const written: [string, Buffer | null | (Buffer | null)[]][] = [
      ...names.map((name): [string, Buffer] => [name, Buffer.from('x')]),
      ['none', null],
      ['twice', [Buffer.from('1'), null]],
    ];
    const sent: Headers = Object.fromEntries(written);
    const [read] = await decodeMessages(decoderOf(await batchOf(0, [record(0, Buffer.from('v'), sent)])));
    expect(Object.entries(read!.headers)).toEqual(written);
    expect(Object.hasOwn(read!.headers, '__proto__')).toBe(true);
  });

  test('in tens of thousands are read in one pass, and beyond left out with their number', async () => {
    const some = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`h${index}`, Buffer.from('x')]));
    const many = { h: Array.from({ length: 60_000 }, () => Buffer.from('x')) };
    const batch = await batchOf(0, [record(0, Buffer.from('a'), some), record(1, Buffer.from('b'), many)]);
    const read = await decodeMessages(decoderOf(batch));
    expect(read.map(({ headers, headersLeftOut }) => [Object.keys(headers).length, headersLeftOut])).toEqual([
      [9_000, 0],
      [0, 60_000],
    ]);
    expect(read.map(({ value }) => value?.toString())).toEqual(['a', 'b']);
  });
});

describe('a batch that cannot be read', () => {
  const unreadable: [string, () => Promise<Buffer>, RegExp][] = [
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
      const bad = await make();
      const good = await batchOf(100_000, [record(0, Buffer.from('good'))]);
      const read = await decodeMessages(decoderOf(bad, good));
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
    const batch = await batchWith(0, 1, gzipSync(Buffer.alloc(1)));
    Codecs[GZIP] = () => ({ decompress: () => Promise.reject(passing) });
    try {
      await expect(decodeMessages(decoderOf(batch))).rejects.toBe(passing);
    } finally {
      Codecs[GZIP] = codec;
    }
  });
});

test('a response gives what it may expand to, and leaves the rest to the next', async () => {
  const large = record(0, Buffer.alloc(DECOMPRESSED_BYTES_MAX - 100));
  const batches = await Promise.all([0, 1, 2].map((offset) => batchOf(offset, [large], GZIP)));
  const read = await decodeMessages(decoderOf(...batches));
  expect(read.map(({ offset }) => offset)).toEqual(['0', '1']);
});

test('more records than arguments fit a call are read', async () => {
  const records = Array.from({ length: 40_000 }, (_, index) => record(index, null));
  const batches = [await batchOf(0, records), await batchOf(40_000, records)];
  expect(await decodeMessages(decoderOf(...batches))).toHaveLength(80_000);
});

describe('the offset of a record', () => {
  test('is that of its place in a whole batch, whatever it says itself', async () => {
    const batch = await batchOf(10, [record(7, Buffer.from('a')), record(2 ** 31 - 1, Buffer.from('b'))]);
    const read = await decodeMessages(decoderOf(batch));
    expect(read.map(({ offset }) => offset)).toEqual(['10', '11']);
  });

  test('leaves the gaps that compaction made, and is never outside of its batch', async () => {
    const compacted = async (...deltas: number[]): Promise<Decoded[]> => {
      const batch = await batchOf(
        10,
        deltas.map((delta) => record(delta, null)),
      );
      batch.writeInt32BE(5, 23);
      return decodeMessages(decoderOf(batch));
    };
    expect((await compacted(1, 4)).map(({ offset }) => offset)).toEqual(['11', '14']);
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
