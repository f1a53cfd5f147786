/**
 * The requests of a transactional producer. Brokers have supported these versions since Kafka 2.1. We avoid the newest versions:
 * under KIP-890 the epoch changes with each transaction. Answers carry error codes, which `broker-verdicts.ts` judges.
 */
import { Decoder, Encoder, type BrokerRequest } from './kafka-cluster.ts';

export interface PartitionName {
  readonly topic: string;
  readonly partition: number;
}

export interface ProducerName {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly epoch: number;
}

export interface PartitionBytes extends PartitionName {
  readonly bytes: Buffer;
}

export interface PartitionCode extends PartitionName {
  readonly errorCode: number;
}

export interface WrittenCode extends PartitionCode {
  /** -1: the broker does not say. */
  readonly firstOffset: bigint;
  /** -1: the topic keeps its clients' timestamps. */
  readonly timestampMs: number;
}

const ALL_REPLICAS = -1;
/** The broker's limit for replication, after which it answers with a timeout. A retry still fits into a commit's deadline. */
const REPLICAS_MS_MAX = 5_000;
/** A request's fixed fields, at most. */
const FIELDS_BYTES = 512;

export function initProducerIdRequest(
  transactionalId: string,
  timeoutMs: number,
): BrokerRequest<{ errorCode: number; producerId: bigint; epoch: number }> {
  return requestOf(
    { apiKey: 22, apiVersion: 1, apiName: 'InitProducerId' },
    () => new Encoder().writeString(transactionalId).writeInt32(timeoutMs),
    (decoder) => {
      const throttleMs = decoder.readInt32();
      const errorCode = decoder.readInt16();
      const producerId = decoder.readInt64();
      return { throttleMs, answer: { errorCode, producerId, epoch: decoder.readInt16() } };
    },
  );
}

export function addPartitionsRequest(
  producer: ProducerName,
  partitions: readonly PartitionName[],
): BrokerRequest<PartitionCode[]> {
  return requestOf(
    { apiKey: 24, apiVersion: 1, apiName: 'AddPartitionsToTxn' },
    () => {
      const encoder = encoderFor(producer);
      writeByTopic(encoder, partitions, ({ partition }) => void encoder.writeInt32(partition));
      return encoder;
    },
    (decoder) => {
      const throttleMs = decoder.readInt32();
      const answer = readByTopic(decoder, (topic) => {
        const partition = decoder.readInt32();
        return { topic, partition, errorCode: decoder.readInt16() };
      });
      return { throttleMs, answer };
    },
  );
}

/** For partitions that one broker leads. Some answers may be missing. @param transactionalId null: without a transaction */
export function produceRequest(
  transactionalId: string | null,
  batches: readonly PartitionBytes[],
): BrokerRequest<WrittenCode[]> {
  return requestOf(
    { apiKey: 0, apiVersion: 7, apiName: 'Produce' },
    () => {
      const bytes = batches.reduce((sum, batch) => sum + batch.bytes.length + batch.topic.length, FIELDS_BYTES);
      const encoder = new Encoder(bytes)
        .writeString(transactionalId)
        .writeInt16(ALL_REPLICAS)
        .writeInt32(REPLICAS_MS_MAX);
      writeByTopic(encoder, batches, (batch) => {
        encoder.writeInt32(batch.partition).writeInt32(batch.bytes.length).writeBufferInternal(batch.bytes);
      });
      return encoder;
    },
    (decoder) => {
      const answer = readByTopic(decoder, (topic) => {
        const partition = decoder.readInt32();
        const errorCode = decoder.readInt16();
        const written = { firstOffset: decoder.readInt64(), timestampMs: Number(decoder.readInt64()) };
        // The log's start offset.
        decoder.readInt64();
        return { topic, partition, errorCode, ...written };
      });
      return { throttleMs: decoder.readInt32(), answer };
    },
  );
}

export function endTransactionRequest(producer: ProducerName, isCommit: boolean): BrokerRequest<number> {
  return requestOf(
    { apiKey: 26, apiVersion: 1, apiName: 'EndTxn' },
    () => encoderFor(producer).writeBoolean(isCommit),
    (decoder) => {
      const throttleMs = decoder.readInt32();
      return { throttleMs, answer: decoder.readInt16() };
    },
  );
}

function requestOf<Answer>(
  api: { apiKey: number; apiVersion: number; apiName: string },
  encode: () => Encoder,
  decode: (decoder: Decoder) => { throttleMs: number; answer: Answer },
): BrokerRequest<Answer> {
  return {
    request: { ...api, encode: async () => encode() },
    response: {
      decode: async (bytes) => {
        const { answer, throttleMs } = decode(new Decoder(bytes));
        return { answer, clientSideThrottleTime: throttleMs };
      },
      parse: async ({ answer }) => answer,
    },
  };
}

function encoderFor({ epoch, producerId, transactionalId }: ProducerName): Encoder {
  return new Encoder().writeString(transactionalId).writeInt64(producerId).writeInt16(epoch);
}

function writeByTopic<Part extends PartitionName>(
  encoder: Encoder,
  parts: readonly Part[],
  write: (part: Part) => void,
): void {
  const topics = Map.groupBy(parts, ({ topic }) => topic);
  encoder.writeInt32(topics.size);
  for (const [topic, ofTopic] of topics) {
    encoder.writeString(topic).writeInt32(ofTopic.length);
    for (const part of ofTopic) write(part);
  }
}

/** Does not allocate by the lengths in the answer: they may be wrong. */
function readByTopic<Part>(decoder: Decoder, read: (topic: string) => Part): Part[] {
  const parts: Part[] = [];
  for (let topics = decoder.readInt32(); topics > 0; topics -= 1) {
    const topic = decoder.readString();
    if (topic.length === 0) throw new Error("the broker's answer has a topic without a name");
    for (let partitions = decoder.readInt32(); partitions > 0; partitions -= 1) parts.push(read(topic));
  }
  return parts;
}
