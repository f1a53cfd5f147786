/** Batches are what brokers and kafkajs' own decoder take them for: byte by byte what kafkajs encodes, and records as they were given. */
import { createRequire } from 'node:module';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeBatches, type MessageHeaders, type OutgoingRecord } from '../../src/producers/record-batch.ts';
import { batchOf } from '../../proofs/simulation/request-answers.ts';

const require = createRequire(import.meta.url);
const encodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0') as (record: object) => object;
const { RecordBatch: encodeBatch } = require('kafkajs/src/protocol/recordBatch/v0') as {
  RecordBatch: (batch: object) => Promise<{ readonly buffer: Buffer }>;
};

const AT_MS = Date.parse('2026-01-01T00:00:00Z');
const PRODUCER = { producerId: 2n ** 53n + 1n, epoch: 7, firstSequence: 2 ** 31 - 2 };
const RECORDS_AT = 61;

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
/** Of all lengths around those at which a length takes one byte more. */
const text = fc.oneof(
  fc.string({ maxLength: 70 }),
  fc.string({ unit: 'grapheme', maxLength: 70 }),
  fc.constantFrom('', 'é'.repeat(20), 'a'.repeat(63), 'a'.repeat(64), 'ü'.repeat(4_100), 'a'.repeat(8_190)),
);
const headerValue = fc.oneof(text, bytes, fc.constant(null));
const headers: fc.Arbitrary<MessageHeaders> = fc.dictionary(
  fc.oneof(text, fc.constantFrom('constructor', 'ce_id')),
  fc.oneof(headerValue, fc.array(headerValue, { maxLength: 3 })),
  { maxKeys: 5 },
);
const record = fc.record({
  key: fc.oneof(text, bytes, fc.constant(null)),
  value: fc.oneof(
    bytes,
    fc.constant(null),
    fc.integer({ min: 8_000, max: 9_000 }).map((length) => Buffer.alloc(length)),
  ),
  headers,
});

function of(given: Pick<OutgoingRecord, 'key' | 'value' | 'headers'>, partition = 0): OutgoingRecord {
  return { topic: 'topic', partition, ...given };
}

/** By kafkajs. */
async function expected(given: readonly Pick<OutgoingRecord, 'key' | 'value' | 'headers'>[]): Promise<Buffer> {
  const records = given.map((one, offsetDelta) => encodeRecord({ ...one, offsetDelta, timestampDelta: 0 }));
  const { buffer } = await encodeBatch({
    records,
    compression: 0,
    partitionLeaderEpoch: -1,
    firstTimestamp: AT_MS,
    maxTimestamp: AT_MS,
    producerId: String(PRODUCER.producerId),
    producerEpoch: PRODUCER.epoch,
    firstSequence: PRODUCER.firstSequence,
    transactional: true,
    lastOffsetDelta: records.length - 1,
  });
  return buffer;
}

test('a batch is byte by byte what kafkajs makes of the same records', () =>
  fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 12 }), async (records) => {
      const [batch] = encodeBatches(
        records.map((one) => of(one)),
        AT_MS,
      );
      expect(batch?.sealed(PRODUCER, false).equals(await expected(records))).toBe(true);
    }),
    { numRuns: 300 },
  ));

test('a batch has all records of its partition in their order, many and large ones too', () => {
  const records = Array.from({ length: 3_000 }, (_, index) =>
    of({ key: `key-${index}`, value: Buffer.alloc(index, 'x'), headers: { index: String(index) } }, index % 2),
  );
  const batches = encodeBatches(records, AT_MS);
  expect(batches.map(({ partition, recordCount }) => [partition, recordCount])).toEqual([
    [0, 1_500],
    [1, 1_500],
  ]);
  for (const { partition, ...batch } of batches.map((one) => ({
    partition: one.partition,
    ...batchOf(one.sealed(PRODUCER, false)),
  }))) {
    expect(batch.firstSequence).toBe(PRODUCER.firstSequence);
    expect(batch.records.map(({ key }) => key?.toString())).toEqual(
      records.filter((one) => one.partition === partition).map(({ key }) => key),
    );
  }
});

describe('compressed with zstd', () => {
  const large = Array.from({ length: 20 }, (_, index) =>
    of({ key: `${index}`, value: Buffer.alloc(400, 'x'), headers: {} }),
  );

  test('where the topic is our own, a batch that is large enough has the same records in fewer bytes', () => {
    const [plain, packed] = [false, true].map((isCompressed) =>
      encodeBatches(large, AT_MS)[0]?.sealed(PRODUCER, isCompressed),
    );
    expect(packed?.length).toBeLessThan((plain?.length ?? 0) / 4);
    expect(zlib.zstdDecompressSync(packed?.subarray(RECORDS_AT) ?? '')).toEqual(plain?.subarray(RECORDS_AT));
    expect(batchOf(packed ?? Buffer.alloc(0))).toEqual(batchOf(plain ?? Buffer.alloc(0)));
  });

  test('a small batch is sent as it is', () => {
    const [small, same] = [true, false].map((isCompressed) =>
      encodeBatches(large.slice(0, 5), AT_MS)[0]?.sealed(PRODUCER, isCompressed),
    );
    expect(small).toEqual(same);
  });
});
