/** Publishers choose their compression: whatever they choose, the records arrive, bytes intact. */
import { zstdCompressSync } from 'node:zlib';
import kafkajs, { type Message } from 'kafkajs';
import { compressFrameSync } from 'lz4-napi';
import { compressSync as compressSnappy } from 'snappy';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  DECOMPRESSED_BYTES_MAX,
  registerCompressionCodecs,
  UnreadableBatchError,
} from 'payment-processor-contract/kafka/compression-codecs';
import { CODECS } from '../support/record-batch.ts';
import { connectKafka, createTopic, readCommitted } from './local-kafka.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;

interface Codec {
  compress(records: { buffer: Buffer }): Promise<Buffer>;
  decompress(batch: Buffer): Promise<Buffer>;
}

type CodecName = 'gzip' | 'snappy' | 'lz4' | 'zstd';
const CODEC_TYPES = {
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
} as const;
const CODEC_NAMES: readonly CodecName[] = ['gzip', 'snappy', 'lz4', 'zstd'];

beforeEach(() => {
  registerCompressionCodecs();
  registerCompressionCodecs();
});

describe('a batch compressed by Kafka itself', () => {
  // A topic's compression.type makes the broker compress with the code that the Java producer uses.
  test.each(CODEC_NAMES)('%s: keys, values and headers arrive unchanged', async (name) => {
    const expanded = countExpandedBatches(name);
    const kafka = connectKafka();
    const topic = await createTopic(kafka, [{ name: 'compression.type', value: name }]);
    const messages = sampleMessages();
    const producer = kafka.producer();
    await producer.connect();
    await producer.send({ topic, messages });
    await producer.disconnect();

    const read = await readCommitted(kafka, topic, messages.at(-1)!.value as Buffer);

    expect(read.map(({ key, value, headers }) => ({ key, value, headers }))).toEqual(messages);
    expect(expanded.batches).toBeGreaterThan(0);
  });
});

describe('layouts that other publishers write', () => {
  const content = Buffer.concat(sampleMessages().map(({ value }) => value as Buffer));

  test('snappy without framing, as librdkafka writes it', async () => {
    expect(await codec('snappy').decompress(compressSnappy(content))).toEqual(content);
  });

  test('snappy in several framed blocks', async () => {
    expect(await codec('snappy').decompress(CODECS.xerial.compress(content))).toEqual(content);
  });

  test('lz4 with block and content checksums', async () => {
    const frame = compressFrameSync(content, { blockChecksums: true, contentChecksum: true });
    expect(await codec('lz4').decompress(frame)).toEqual(content);
  });
});

describe('several frames, one behind the other, as brokers accept them', () => {
  const content = Buffer.concat(sampleMessages().map(({ value }) => value as Buffer));
  const [first, second] = [content.subarray(0, 100), content.subarray(100)];
  const skippable = Buffer.from('572a4d180300000078797a', 'hex');
  const empty = Buffer.alloc(0);

  test.each<[CodecName, string, Buffer[]]>([
    ['gzip', 'two members', [first, second].map(CODECS.gzip.compress)],
    ['gzip', 'zeros behind it', [CODECS.gzip.compress(content), Buffer.alloc(50)]],
    ['zstd', 'two frames', [first, second].map(CODECS.zstd.compress)],
    ['zstd', 'an empty frame first', [zstdCompressSync(empty), zstdCompressSync(content)]],
    ['zstd', 'frames for nobody around it', [skippable, zstdCompressSync(content), skippable]],
    ['lz4', 'two frames', [first, second].map(CODECS.lz4.compress)],
    ['lz4', 'frames for nobody around it', [skippable, compressFrameSync(content), skippable]],
    ['snappy', 'two framed streams', [first, second].map(CODECS.xerial.compress)],
    ['snappy', 'an empty block behind it', [CODECS.xerial.compress(content), Buffer.from([0, 0, 0, 1, 0])]],
  ])('%s: %s', async (name, _layout, frames) => {
    expect(await codec(name).decompress(Buffer.concat(frames))).toEqual(content);
  });

  test.each<[CodecName, string, Buffer]>([
    [
      'zstd',
      'the last frame is cut short',
      Buffer.concat([zstdCompressSync(first), zstdCompressSync(second).subarray(0, 20)]),
    ],
    ['zstd', 'a frame for nobody is cut short', Buffer.concat([zstdCompressSync(content), skippable.subarray(0, 10)])],
    [
      'gzip',
      'the last member is cut short',
      Buffer.concat([CODECS.gzip.compress(content), Buffer.from('1f8b08ff', 'hex')]),
    ],
    ...(['gzip', 'zstd', 'lz4'] as const).map((name): [CodecName, string, Buffer] => [
      name,
      'bytes follow',
      Buffer.concat([CODECS[name].compress(content), Buffer.from('bytes')]),
    ]),
    [
      'zstd',
      'a hundred thousand empty frames',
      Buffer.concat(Array.from({ length: 100_000 }, () => zstdCompressSync(empty))),
    ],
    [
      'zstd',
      'frames that exceed the limit only together',
      Buffer.concat([0, 1].map(() => zstdCompressSync(Buffer.alloc(DECOMPRESSED_BYTES_MAX / 2 + 1)))),
    ],
  ])('%s, %s: refused', async (name, _what, batch) => {
    await expect(codec(name).decompress(batch)).rejects.toBeInstanceOf(UnreadableBatchError);
  });
});

describe('gzip and zstd are written as well', () => {
  test.each(['gzip', 'zstd'] as const)('%s: compressed bytes expand to the same bytes', async (name) => {
    const content = sampleMessages()[0]!.value as Buffer;
    expect(await codec(name).decompress(await codec(name).compress({ buffer: content }))).toEqual(content);
  });
});

describe('a batch that cannot be expanded', () => {
  const tooLarge = Buffer.alloc(DECOMPRESSED_BYTES_MAX + 1);

  test.each(CODEC_NAMES)('%s beyond the limit: refused with an error that ends retrying', async (name) => {
    await expectRefused(name, CODECS[name].compress(tooLarge));
  });

  test('blocks of snappy, or frames of lz4, that exceed the limit only together: refused', async () => {
    await expectRefused('snappy', CODECS.xerial.compress(tooLarge));
    const half = CODECS.lz4.compress(tooLarge.subarray(0, Math.ceil(tooLarge.length / 2)));
    await expectRefused('lz4', Buffer.concat([half, half]));
  });

  test.each<[CodecName, keyof typeof CODECS]>([
    ...CODEC_NAMES.map((name): [CodecName, CodecName] => [name, name]),
    ['snappy', 'xerial'],
  ])('%s, as %s writes it, cut short, damaged or empty: refused', async (name, layout) => {
    const whole = CODECS[layout].compress(tooLarge);
    await expectRefused(name, whole.subarray(0, 20));
    await expectRefused(name, whole.subarray(0, whole.length - 1));
    await expectRefused(name, Buffer.alloc(20, 0xff));
    await expectRefused(name, Buffer.alloc(0));
  });

  async function expectRefused(name: CodecName, batch: Buffer): Promise<void> {
    const error: unknown = await codec(name)
      .decompress(batch)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnreadableBatchError);
    expect(error).toHaveProperty('retriable', false);
  }
});

function codec(name: CodecName): Codec {
  return CompressionCodecs[CODEC_TYPES[name]]() as Codec;
}

/** Puts a counter before the codec, to know that the batch really came compressed. */
function countExpandedBatches(name: CodecName): { batches: number } {
  const counter = { batches: 0 };
  const registered = codec(name);
  CompressionCodecs[CODEC_TYPES[name]] = () => ({
    ...registered,
    decompress: (batch: Buffer) => {
      counter.batches += 1;
      return registered.decompress(batch);
    },
  });
  return counter;
}

/** 200 kB in all, every byte value, so that a batch takes several blocks of each format. */
function sampleMessages(): Message[] {
  return Array.from({ length: 200 }, (_, index) => ({
    key: Buffer.from([0, 255, index]),
    value: Buffer.from(Array.from({ length: 1000 }, (_value, position) => (position * (index + 1)) % 256)),
    headers: { number: Buffer.from([index]) },
  }));
}
