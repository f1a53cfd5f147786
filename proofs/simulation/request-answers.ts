/**
 * Reads a transactional producer's requests byte by byte, as brokers do, and writes the answers. Records are read by
 * kafkajs' decoder, which is independent of our encoder.
 */
import { createRequire } from 'node:module';
import zlib from 'node:zlib';
import { Decoder, Encoder } from '../../src/producers/kafka-cluster.ts';
import { BrokerError, brokerError } from './broker-error.ts';
import type { ProducedBatch, SimulatedBroker } from './simulated-broker.ts';
import type { NewRecord } from './simulated-log.ts';

interface BatchDecoder extends Decoder {
  readonly offset: number;
  readBytes(): Buffer;
  readVarInt(): number;
}

interface ReadRecord {
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, Buffer | null | (Buffer | null)[]>>;
}

const require = createRequire(import.meta.url);
const readRecord = require('kafkajs/src/protocol/recordBatch/record/v0/decoder') as (
  decoder: Decoder,
  batch: object,
) => ReadRecord;
const crc32C = require('kafkajs/src/protocol/recordBatch/crc32C') as (bytes: Buffer) => number;

/** API keys of the protocol. */
const API = { produce: 0, initialise: 22, add: 24, end: 26 };
const LENGTH_AT = 8;
const CRC_AT = 17;
const ATTRIBUTES_AT = 21;
const RECORDS_AT = 61;
const CODEC_MASK = 0x07;
const ZSTD = 4;
const TRANSACTIONAL = 0x10;
const MAGIC = 2;
const NO_OFFSET = -1n;

/** The purpose of a request; crashes are counted by it. */
export function pointOf(apiKey: number, bytes: Buffer): string {
  switch (apiKey) {
    case API.produce:
      return 'produce';
    case API.initialise:
      return 'initialise';
    case API.add:
      return 'add';
    case API.end:
      return bytes.at(-1) === 1 ? 'commit' : 'abort';
    default:
      throw new Error(`no such request is simulated: ${apiKey}`);
  }
}

/** @param node that received the request */
export function answerTo(broker: SimulatedBroker, node: number, apiKey: number, bytes: Buffer): Buffer {
  const decoder = new Decoder(bytes) as BatchDecoder;
  switch (apiKey) {
    case API.produce:
      return produce(broker, node, decoder);
    case API.initialise:
      return initialise(broker, node, decoder);
    case API.add:
      return add(broker, node, decoder);
    case API.end:
      return end(broker, node, decoder);
    default:
      throw new Error(`no such request is simulated: ${apiKey}`);
  }
}

function initialise(broker: SimulatedBroker, node: number, decoder: Decoder): Buffer {
  const id = decoder.readString();
  let made = { producerId: -1, epoch: -1 };
  const code = codeOf(() => {
    checkCoordinator(broker, node, id);
    made = broker.initialise(id, decoder.readInt32());
  });
  const answer = unthrottled().writeInt16(code).writeInt64(BigInt(made.producerId));
  return answer.writeInt16(made.epoch).buffer;
}

function add(broker: SimulatedBroker, node: number, decoder: Decoder): Buffer {
  const { epoch, id } = producerOf(broker, decoder);
  const partitions = ofTopics(decoder, (topic) => ({ topic, partition: decoder.readInt32() }));
  const code = codeOf(() => {
    checkCoordinator(broker, node, id);
    broker.add(id, epoch(), partitions);
  });
  return byTopic(unthrottled(), partitions, (encoder, { partition }) => {
    encoder.writeInt32(partition).writeInt16(code);
  }).buffer;
}

function produce(broker: SimulatedBroker, node: number, decoder: BatchDecoder): Buffer {
  const id = decoder.readString();
  if (decoder.readInt16() !== -1) throw new Error('transactions are acknowledged by all replicas');
  decoder.readInt32();
  const parts = ofTopics(decoder, (topic) => ({
    topic,
    partition: decoder.readInt32(),
    bytes: decoder.readBytes(),
  }));
  // Each partition has an answer of its own.
  const answers = parts.map(({ bytes, partition, topic }) => {
    let at = { firstOffset: -1, timestampMs: -1 };
    const code = codeOf(() => {
      if (broker.leaderOf(topic, partition) !== node) throw brokerError('NOT_LEADER_FOR_PARTITION');
      at = broker.produce(id, { topic, partition }, batchOf(bytes));
    });
    return { topic, partition, code, ...at };
  });
  return byTopic(new Encoder(), answers, (encoder, { code, firstOffset, partition, timestampMs }) => {
    encoder.writeInt32(partition).writeInt16(code).writeInt64(BigInt(firstOffset));
    encoder.writeInt64(BigInt(Math.floor(timestampMs))).writeInt64(NO_OFFSET);
  }).writeInt32(0).buffer;
}

function end(broker: SimulatedBroker, node: number, decoder: Decoder): Buffer {
  const { epoch, id } = producerOf(broker, decoder);
  const isCommit = decoder.readBoolean();
  const code = codeOf(() => {
    checkCoordinator(broker, node, id);
    broker.end(id, epoch(), isCommit ? 'committed' : 'aborted');
  });
  return unthrottled().writeInt16(code).buffer;
}

/** The producer that a request names. Its epoch is known only if the id still has that producer. */
function producerOf(broker: SimulatedBroker, decoder: Decoder): { id: string; epoch: () => number } {
  const id = decoder.readString();
  const producerId = Number(decoder.readInt64());
  const epoch = decoder.readInt16();
  return {
    id,
    epoch: () => {
      if (broker.producerIdOf(id) !== producerId) throw brokerError('INVALID_PRODUCER_ID_MAPPING');
      return epoch;
    },
  };
}

/** @throws BrokerError if the bytes are not a batch */
export function batchOf(bytes: Buffer): ProducedBatch {
  if (bytes.readInt32BE(LENGTH_AT) !== bytes.length - 12 || bytes[16] !== MAGIC) throw brokerError('CORRUPT_MESSAGE');
  if (crc32C(bytes.subarray(ATTRIBUTES_AT)) >>> 0 !== bytes.readUInt32BE(CRC_AT)) throw brokerError('CORRUPT_MESSAGE');
  const attributes = bytes.readInt16BE(ATTRIBUTES_AT);
  if ((attributes & TRANSACTIONAL) === 0) throw brokerError('INVALID_RECORD');
  const [firstTimestamp, count] = [bytes.readBigInt64BE(27), bytes.readInt32BE(57)];
  const context = { firstOffset: '0', firstTimestamp: String(firstTimestamp), magicByte: MAGIC };
  const packed = bytes.subarray(RECORDS_AT);
  const decoder = new Decoder(
    (attributes & CODEC_MASK) === ZSTD ? zlib.zstdDecompressSync(packed) : packed,
  ) as BatchDecoder;
  const records = Array.from({ length: count }, () => {
    const bytesLeft = decoder.readVarInt();
    const endsAt = decoder.offset + bytesLeft;
    const record = readRecord(decoder, context);
    if (decoder.offset !== endsAt) throw brokerError('CORRUPT_MESSAGE');
    return newRecord(record);
  });
  return { epoch: bytes.readInt16BE(51), firstSequence: bytes.readInt32BE(53), records };
}

function newRecord({ headers, key, timestamp, value }: ReadRecord): NewRecord {
  const stored = Object.entries(headers).flatMap(([name, given]) =>
    [given].flat().map((text): [string, Buffer | null] => [name, text]),
  );
  return { key, value, headers: stored, timestampMs: Number(timestamp) };
}

function checkCoordinator(broker: SimulatedBroker, node: number, id: string): void {
  if (broker.coordinators.nodeOf(id) !== node) throw brokerError('NOT_COORDINATOR_FOR_GROUP');
}

/** @returns 0, or the code of the thrown error */
function codeOf(work: () => void): number {
  try {
    work();
    return 0;
  } catch (error) {
    if (error instanceof BrokerError) return error.code;
    throw error;
  }
}

function unthrottled(): Encoder {
  return new Encoder().writeInt32(0);
}

function ofTopics<Part>(decoder: Decoder, read: (topic: string) => Part): Part[] {
  return decoder
    .readArray(() => {
      const topic = decoder.readString();
      return decoder.readArray(() => read(topic));
    })
    .flat();
}

function byTopic<Part extends { topic: string }>(
  encoder: Encoder,
  parts: readonly Part[],
  write: (encoder: Encoder, part: Part) => void,
): Encoder {
  const topics = Map.groupBy(parts, ({ topic }) => topic);
  encoder.writeInt32(topics.size);
  for (const [topic, ofTopic] of topics) {
    encoder.writeString(topic).writeInt32(ofTopic.length);
    for (const part of ofTopic) write(encoder, part);
  }
  return encoder;
}
