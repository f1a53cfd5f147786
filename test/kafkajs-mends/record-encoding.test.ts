/**
 * Records and their batches are written into one buffer each, at a fraction of the cost, and byte for byte as they are
 * without the patch: compared with that for any records.
 */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { registerCompressionCodecs } from 'payment-processor-contract/kafka/compression-codecs';
import { copyWithout, loadMended, type Load } from './without-mend.ts';

interface Encoder {
  readonly buffer: Buffer;
}

/** The encoding functions of a kafkajs, patched or not. */
interface Encoding {
  readonly record: (record: object) => Encoder;
  readonly batch: (batch: object) => Promise<Encoder>;
  readonly produce: (request: object) => object;
  readonly request: (framed: object) => Promise<Encoder>;
  readonly crc: (bytes: Buffer) => number;
  readonly codecs: Record<number, () => unknown>;
}

const DIFFERENTIAL_RUNS = 1_500;
const CODECS = [0, 1, 2, 3, 4];

const mended = encodingOf(loadMended);
const without = copyWithout('009+record-encoding');
const original = encodingOf(without.load);

beforeAll(() => {
  registerCompressionCodecs();
  Object.assign(original.codecs, mended.codecs);
});
afterAll(without.remove);

function encodingOf(load: Load): Encoding {
  return {
    record: load('src/protocol/recordBatch/record/v0') as Encoding['record'],
    batch: (load('src/protocol/recordBatch/v0') as { RecordBatch: Encoding['batch'] }).RecordBatch,
    produce: load('src/protocol/requests/produce/v7/request') as Encoding['produce'],
    request: load('src/protocol/request') as Encoding['request'],
    crc: load('src/protocol/recordBatch/crc32C') as Encoding['crc'],
    codecs: (load('src/protocol/message/compression') as { Codecs: Encoding['codecs'] }).Codecs,
  };
}

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  // Halves of surrogate pairs, lengths on both sides of a longer varint, and names that objects have of themselves.
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 5 }),
  fc.constantFrom('', 'x'.repeat(63), 'x'.repeat(64), 'é'.repeat(40), '\0', '\u{1f4b6}'),
);
const name = fc.oneof(text, fc.constantFrom('__proto__', 'constructor', 'toString', 'length', '0'));
const bytes = fc.uint8Array({ maxLength: 80 }).map((array) => Buffer.from(array));
const content = fc.oneof(text, bytes, fc.constant(null), fc.constant(undefined));
const headers = fc
  .array(fc.tuple(name, fc.oneof(content, fc.array(content, { maxLength: 4 }))), { maxLength: 12 })
  .map((entries) => Object.fromEntries(entries));
const int32 = fc.oneof(
  fc.constantFrom(0, -1, 1, 63, 64, -64, -65, 2 ** 31 - 1, -(2 ** 31)),
  fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
);
const int64 = fc.oneof(
  int32,
  fc.constantFrom(-0, 2 ** 31, -(2 ** 31) - 1, 2 ** 32, 2 ** 53, -(2 ** 53)),
  fc.constantFrom((2n ** 63n - 1n).toString(), (-(2n ** 63n)).toString(), 2n ** 63n - 1n, -(2n ** 63n)),
  fc.maxSafeInteger(),
);
const int16 = fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 });
const codec = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.constantFrom(...CODECS));

const record = fc.record(
  { offsetDelta: int32, timestampDelta: int64, key: content, value: content, headers },
  { requiredKeys: [] },
);
const batch = fc.record({
  records: fc.array(record, { maxLength: 6 }),
  compression: codec,
  transactional: fc.boolean(),
  firstOffset: int64,
  firstTimestamp: int64,
  maxTimestamp: int64,
  producerId: int64,
  producerEpoch: int16,
  firstSequence: int32,
  partitionLeaderEpoch: int32,
  lastOffsetDelta: int32,
});
const message = fc.record(
  { key: content, value: content, headers, timestamp: fc.bigInt({ min: 0n, max: 2n ** 53n }).map(String) },
  { requiredKeys: ['value'] },
);
const request = fc.record({
  acks: fc.constantFrom(-1, 0, 1),
  timeout: int32,
  transactionalId: fc.option(text),
  producerId: int64,
  producerEpoch: int16,
  compression: codec,
  topicData: fc.array(
    fc.record({
      topic: text,
      partitions: fc.array(
        fc.record({ partition: int32, firstSequence: int32, messages: fc.array(message, { maxLength: 4 }) }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 3 },
  ),
});

type Batch = { readonly records: readonly object[] } & object;

async function encodedBatch({ record: encode, batch: encodeBatch }: Encoding, from: Batch): Promise<string> {
  return outcome(encodeBatch({ ...from, records: from.records.map((each) => encode(each)) }));
}

/** The bytes, or the error's message. */
async function outcome(encoder: Promise<Encoder>): Promise<string> {
  return encoder.then(
    ({ buffer }) => buffer.toString('hex'),
    (error: unknown) => String(error),
  );
}

describe('byte for byte as without the patch', () => {
  test('batches of any records', async () => {
    const property = fc.asyncProperty(batch, async (from) => {
      expect(await encodedBatch(mended, from)).toBe(await encodedBatch(original, from));
    });
    await fc.assert(property, { numRuns: DIFFERENTIAL_RUNS });
  });

  test('requests of any batches', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const property = fc.asyncProperty(request, int32, fc.option(text), async (from, correlationId, clientId) => {
      const [ours, theirs] = await Promise.all(
        [mended, original].map(({ produce, request: frame }) =>
          outcome(frame({ correlationId, clientId, request: produce(from) })),
        ),
      );
      expect(ours).toBe(theirs);
    });
    await fc.assert(property, { numRuns: DIFFERENTIAL_RUNS });
  });

  test.each(CODECS)('no, one and 5,000 records, and values of 1 MiB, with codec %i', async (compression) => {
    const large = randomBytes(2 ** 20);
    const five = Array.from({ length: 5_000 }, (_, offsetDelta) => ({
      offsetDelta,
      timestampDelta: offsetDelta * 1_000_000,
      key: `key ${offsetDelta}`,
      value: large.subarray(0, offsetDelta % 300),
      headers: { number: String(offsetDelta) },
    }));
    const some = [[], five.slice(0, 1), five, [{ value: large }, { key: large, value: large.toString('latin1') }]];
    for (const records of some) {
      const from = { records, compression, firstTimestamp: 0, maxTimestamp: 1, lastOffsetDelta: records.length - 1 };
      expect(await encodedBatch(mended, from)).toBe(await encodedBatch(original, from));
    }
  });
});
