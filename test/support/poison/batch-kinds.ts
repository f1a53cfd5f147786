/**
 * Poison in record batches: mislabelled, crowded, or decompression bombs. What the codecs make of damaged and odd layouts:
 * test/kafkajs-patches/compression.test.ts, and through a broker proofs/fuzz/random-kinds.ts.
 */
import { zstdCompressSync } from 'node:zlib';
import { batchOf, CODECS, encodeBatch, zigzag, type BatchFields, type CodecName } from '../record-batch.ts';
import {
  batchKind,
  bytesOf,
  expected,
  goodRecord,
  messageKind,
  type Expected,
  type PoisonFamilies,
  type PoisonKind,
} from './kinds.ts';

const MIB = 1024 * 1024;
const COMPRESSED: readonly Exclude<CodecName, 'none'>[] = ['gzip', 'snappy', 'xerial', 'lz4', 'zstd'];
const YEAR_9999_MS = 253_402_300_799_999n;

export const BATCH_FAMILIES: PoisonFamilies = {
  bombs: bombs(),
  crowds: crowds(),
  'mislabelled batches': mislabelled(),
  offsets: offsets(),
  timestamps: timestamps(),
};

function bombs(): PoisonKind[] {
  const rows: [CodecName, number][] = [
    ['gzip', 63],
    ['snappy', 18],
    ['xerial', 18],
    ['zstd', 70],
    ['zstd', 200],
  ];
  return [
    ...rows.map(([codec, mebibytes]) =>
      messageKind(`a value of ${mebibytes} MiB in a ${codec} batch`, expected.unreadableBatch, () => ({
        value: Buffer.alloc(mebibytes * MIB, 0x61),
        codec: CODECS[codec],
      })),
    ),
    ...(['gzip', 'lz4', 'zstd'] as const).map((codec) =>
      batchKind(`good commands around a value of 70 MiB in a ${codec} batch`, expected.unreadableBatch, ({ key }) => {
        const companions = [`${key}-before`, `${key}-behind`];
        const [before, behind] = companions.map(goodRecord);
        const bomb = { ...goodRecord(key), value: Buffer.alloc(70 * MIB, 0x61) };
        return { batch: batchOf([before!, bomb, behind!], CODECS[codec]), companions };
      }),
    ),
    ...COMPRESSED.map((codec) =>
      batchKind(
        `good commands around a value of 5 MiB in a ${codec} batch`,
        { ...expected.tooLargeByReference, companions: 'answered' },
        ({ key }) => {
          const companions = [`${key}-before`, `${key}-behind`];
          const [before, behind] = companions.map(goodRecord);
          const bad = { ...goodRecord(key), value: Buffer.alloc(5 * MIB, 0x61) };
          return {
            batch: batchOf([before!, bad, behind!], CODECS[codec]),
            message: { key: bytesOf(bad.key), value: bad.value },
            companions,
          };
        },
      ),
    ),
    batchKind('good commands around an unreadable one in a batch', expected.unreadable, ({ key }) => {
      const companions = [`${key}-before`, `${key}-behind`];
      const [before, behind] = companions.map(goodRecord);
      const bad = { key, value: 'no command', headers: [['x', null] as const] };
      return {
        batch: batchOf([before!, bad, behind!]),
        message: { key: bytesOf(key), value: bytesOf(bad.value) },
        companions,
      };
    }),
  ];
}

/** Many messages in few bytes. */
function crowds(): PoisonKind[] {
  // Encoded by hand for speed: there are very many, and only their offsets differ.
  const crowd = (count: number): Buffer => {
    const bytes: number[] = [];
    for (let at = 0; at < count; at += 1) {
      const offset = zigzag(BigInt(at));
      // Length (zigzag), attributes, time, offset, no key, no value, no headers.
      bytes.push(2 * (offset.length + 5), 0, 0, ...offset, 1, 1, 0);
    }
    return Buffer.from(bytes);
  };
  const manyHeaders = batchKind(
    '300,037 headers in a small batch',
    { ...expected.unreadableBatch, copy: 'either' },
    () => {
      const headers = Array.from({ length: 1_987 }, () => ['a', ''] as const);
      const records = Array.from({ length: 151 }, () => ({ ...goodRecord('crowded'), headers }));
      return { batch: batchOf(records, CODECS.zstd), key: null, messageCount: records.length };
    },
  );
  const messages = [5_000, 250_000].map((count) =>
    batchKind(
      `${count} messages without key and value in a small batch`,
      { ...expected.unreadableBatch, burials: ['NO_KEY', 'UNREADABLE_BATCH'], copy: 'either' },
      () => ({
        batch: encodeBatch({
          body: zstdCompressSync(crowd(count)),
          attributes: CODECS.zstd.attributes,
          recordCount: count,
          lastOffsetDelta: count - 1,
        }),
        key: null,
        messageCount: count,
      }),
    ),
  );
  return [manyHeaders, ...messages];
}

function mislabelled(): PoisonKind[] {
  const refused = expected.refusedByBroker;
  const accepted = expected.accepted;
  const rows: [string, Expected, Partial<BatchFields>][] = [
    ['that says it has no records', refused, { recordCount: 0 }],
    ['that says it has -1 records', refused, { recordCount: -1 }],
    ['that says it has two records', refused, { recordCount: 2, lastOffsetDelta: 1 }],
    ['that says it has 2^31 - 1 records', refused, { recordCount: 2 ** 31 - 1, lastOffsetDelta: 2 ** 31 - 2 }],
    ['that covers six offsets with one record', refused, { lastOffsetDelta: 5 }],
    ['that covers -1 offsets', refused, { lastOffsetDelta: -2 }],
    ['with no records at all', refused, { body: Buffer.alloc(0), recordCount: 0, lastOffsetDelta: -1 }],
    ['with a record of -1 bytes', refused, { body: Buffer.from([1]) }],
    ['with a record that ends beyond the batch', refused, { body: Buffer.from([0x80, 0x80, 0x01, 0, 0, 0]) }],
    ['whose records are garbage', refused, { body: Buffer.alloc(200, 0xee) }],
    ['of magic 0', refused, { magic: 0 }],
    ['of magic 1', refused, { magic: 1 }],
    ['of magic 3', refused, { magic: 3 }],
    ['of negative length', refused, { length: -5 }],
    ['of length 0', refused, { length: 0 }],
    ['longer than it is', refused, { length: 1_000_000 }],
    ['of an unknown codec', refused, { attributes: 5 }],
    ['of the last unknown codec', refused, { attributes: 7 }],
    ['that says it is a marker', refused, { attributes: 0x20 }],
    [
      'of a transaction that was never begun',
      refused,
      { attributes: 0x10, producerId: 424242n, producerEpoch: 0, firstSequence: 0 },
    ],
    ['with attributes that mean nothing yet', accepted, { attributes: 0x7f00 }],
    ['that says it has a horizon of deletion', accepted, { attributes: 0x40 }],
    ["that says its time is the broker's", refused, { attributes: 0x08 }],
    ["with a producer's id that nobody has", accepted, { producerId: 2n ** 62n, producerEpoch: 3, firstSequence: 0 }],
  ];
  return [
    ...rows.map(([name, outcome, fields]) =>
      batchKind(`a batch ${name}`, outcome, ({ key }) => ({ batch: batchOf([goodRecord(key)], CODECS.none, fields) })),
    ),
    batchKind('two batches at once', refused, ({ key }) => ({
      batch: Buffer.concat([batchOf([goodRecord(key)]), batchOf([goodRecord(`${key}-2`)])]),
    })),
  ];
}

/** In an uncompressed batch, the broker counts the records but trusts the offset that each one states. */
function offsets(): PoisonKind[] {
  return [7, -1, -7, 2 ** 31 - 1, -(2 ** 31)].map((offsetDelta) =>
    batchKind(
      `good commands around a record that says it is ${offsetDelta} behind its batch`,
      expected.accepted,
      ({ key }) => {
        const companions = [`${key}-before`, `${key}-behind`];
        const [before, behind] = companions.map(goodRecord);
        return { batch: batchOf([before!, { ...goodRecord(key), offsetDelta }, behind!]), companions };
      },
    ),
  );
}

/** The broker sets a command's timestamp, whatever the publisher sent. */
function timestamps(): PoisonKind[] {
  const times: [string, bigint][] = [
    ['0', 0n],
    ['-1', -1n],
    ['the lowest int64', -(2n ** 63n)],
    ['the year 9999', YEAR_9999_MS],
  ];
  return times.flatMap(([name, firstTimestamp]) =>
    (['none', 'zstd'] as const).map((codec) =>
      messageKind(`a timestamp of ${name} in a batch of codec ${codec}`, expected.accepted, () => ({
        codec: CODECS[codec],
        batch: { firstTimestamp },
      })),
    ),
  );
}
