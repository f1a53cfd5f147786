/**
 * Writes record batches to a partition byte for byte: a Produce request over a socket of its own, to the partition's
 * leader. A refusal by the broker is returned with its error.
 */
import { connect } from 'node:net';
import type { Kafka } from 'kafkajs';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';

type Answer =
  | { kind: 'taken'; baseOffset: bigint }
  /** Kafka's error code, and the broker's message, if any. */
  | { kind: 'refused'; errorCode: number; message: string };

/** Repeated: it was sent more than once, so it may be written more than once. */
export type Produced = Answer & { isRepeated: boolean };

const API_PRODUCE = 0;
/** The last version without tagged fields; allows zstd, and returns the reason for a refusal. */
const PRODUCE_VERSION = 8;
const ACKS_ALL = -1;
/** How long the broker waits for its followers' acknowledgements. */
const BROKER_TIMEOUT_MS = 10_000;
const ANSWER_MS_MAX = 30_000;
/** The leader has moved, or there is none at the moment. */
const RETRIABLE_CODES: readonly number[] = [3, 5, 6, 7, 9, 19, 20];
const TRIES_MAX = 20;
const RETRY_MS = 500;

export class RawProducer {
  readonly #kafka: Kafka;
  /** By topic: host and port of each partition's leader. */
  readonly #leaders = new Map<string, { host: string; port: number }[]>();

  constructor(kafka: Kafka) {
    this.#kafka = kafka;
  }

  /** @throws when no broker answers in time */
  async produce(topic: string, partition: number, batch: Buffer): Promise<Produced> {
    for (let tries = 1; ; tries += 1) {
      try {
        const { host, port } = await this.#leader(topic, partition);
        const answer = await exchange(host, port, produceRequest(topic, partition, batch));
        const produced = { ...readAnswer(answer), isRepeated: tries > 1 };
        if (produced.kind === 'taken' || !RETRIABLE_CODES.includes(produced.errorCode)) return produced;
        if (tries === TRIES_MAX) return produced;
      } catch (error) {
        if (tries === TRIES_MAX) throw error;
      }
      this.#leaders.delete(topic);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }

  async #leader(topic: string, partition: number): Promise<{ host: string; port: number }> {
    let leaders = this.#leaders.get(topic);
    if (leaders === undefined) {
      leaders = await withAdmin(this.#kafka, async (admin) => {
        const [{ brokers }, { topics }] = await Promise.all([
          admin.describeCluster(),
          admin.fetchTopicMetadata({ topics: [topic] }),
        ]);
        const partitions = (topics[0]?.partitions ?? []).toSorted((one, other) => one.partitionId - other.partitionId);
        return partitions.map(({ leader }) => {
          const broker = brokers.find(({ nodeId }) => nodeId === leader);
          if (broker === undefined) throw new Error(`a partition of ${topic} has no leader`);
          return { host: broker.host, port: broker.port };
        });
      });
      this.#leaders.set(topic, leaders);
    }
    const leader = leaders[partition];
    if (leader === undefined) throw new Error(`${topic} has no partition ${partition}`);
    return leader;
  }
}

function produceRequest(topic: string, partition: number, batch: Buffer): Buffer {
  const topicName = Buffer.from(topic);
  const parts = [
    int16(API_PRODUCE),
    int16(PRODUCE_VERSION),
    int32(1),
    int16(-1), // no client id
    int16(-1), // no transactional id
    int16(ACKS_ALL),
    int32(BROKER_TIMEOUT_MS),
    int32(1),
    int16(topicName.length),
    topicName,
    int32(1),
    int32(partition),
    int32(batch.length),
    batch,
  ];
  const request = Buffer.concat(parts);
  return Buffer.concat([int32(request.length), request]);
}

/** Sends one request. @returns the answer without its length field */
function exchange(host: string, port: number, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const chunks: Buffer[] = [];
    const end = (error: Error | null, answer: Buffer): void => {
      clearTimeout(timer);
      socket.destroy();
      if (error === null) resolve(answer);
      else reject(error);
    };
    const timer = setTimeout(
      () => end(new Error(`no answer within ${ANSWER_MS_MAX} ms`), Buffer.alloc(0)),
      ANSWER_MS_MAX,
    );
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      const received = Buffer.concat(chunks);
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) end(null, received.subarray(4));
    });
    socket.once('error', (error) => end(error, Buffer.alloc(0)));
    socket.once('close', () => end(new Error('the broker closed the connection'), Buffer.alloc(0)));
    socket.write(request);
  });
}

/** Reads an answer that has one topic and one partition. */
function readAnswer(answer: Buffer): Answer {
  let offset = 4 + 4; // correlation id, number of topics
  offset += 2 + answer.readInt16BE(offset) + 4; // topic, number of partitions
  offset += 4; // partition
  const errorCode = answer.readInt16BE(offset);
  const baseOffset = answer.readBigInt64BE(offset + 2);
  if (errorCode === 0) return { kind: 'taken', baseOffset };
  offset += 2 + 8 + 8 + 8; // error, base offset, append time, log start
  const said: string[] = [];
  const readText = (): void => {
    const length = answer.readInt16BE(offset);
    offset += 2;
    if (length < 0) return;
    said.push(answer.toString('utf8', offset, offset + length));
    offset += length;
  };
  const recordErrors = answer.readInt32BE(offset);
  offset += 4;
  for (let index = 0; index < recordErrors; index += 1) {
    offset += 4;
    readText();
  }
  readText();
  return { kind: 'refused', errorCode, message: said.join('; ') };
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
