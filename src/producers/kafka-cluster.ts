/**
 * The part of kafkajs that our own requests go through: connections, authentication, the queue of requests and throttling,
 * metadata and coordinators. kafkajs does not export it, so we type what we use of it here. Its version, 2.2.4, is fixed.
 */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';

/** Writes the primitives of Kafka's protocol into one growing buffer. */
export interface Encoder {
  readonly buffer: Buffer;
  writeBoolean(value: boolean): this;
  writeInt16(value: number): this;
  writeInt32(value: number): this;
  writeInt64(value: bigint): this;
  writeString(value: string | null): this;
  writeBufferInternal(bytes: Buffer): void;
}

export interface Decoder {
  readBoolean(): boolean;
  readInt16(): number;
  readInt32(): number;
  readInt64(): bigint;
  readString(): string;
  readArray<Item>(read: (decoder: Decoder) => Item): Item[];
}

const require = createRequire(import.meta.url);
/** The constructor's argument is the buffer's initial size. */
export const Encoder = require('kafkajs/src/protocol/encoder') as new (bytes?: number) => Encoder;
export const Decoder = require('kafkajs/src/protocol/decoder') as new (bytes: Buffer) => Decoder;

interface Decoded<Answer> {
  readonly answer: Answer;
  /** How long the broker asks kafkajs to hold back further requests, milliseconds. */
  readonly clientSideThrottleTime: number;
}

/** One request in one version, and how its answer is read. */
export interface BrokerRequest<Answer> {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    readonly encode: () => Promise<Encoder>;
  };
  readonly response: {
    readonly decode: (bytes: Buffer) => Promise<Decoded<Answer>>;
    readonly parse: (decoded: Decoded<Answer>) => Promise<Answer>;
  };
}

export interface Broker {
  readonly nodeId: number | string;
  readonly connectionPool: {
    readonly host: string;
    readonly port: number;
    /** @throws an error of kafkajs when it is not known whether the broker got the request */
    send<Answer>(request: BrokerRequest<Answer>): Promise<Answer>;
  };
}

export interface Cluster {
  isConnected(): boolean;
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  /** Metadata includes these topics from now on. */
  addMultipleTargetTopics(topics: readonly string[]): Promise<void>;
  refreshMetadata(): Promise<void>;
  /** Only if it is old, or lacks a topic. */
  refreshMetadataIfNecessary(): Promise<void>;
  findTopicPartitionMetadata(topic: string): readonly { readonly partitionId: number; readonly leader: number }[];
  /** @returns the broker, connected */
  findBroker(which: { nodeId: number | string }): Promise<Broker>;
  findGroupCoordinator(which: { groupId: string; coordinatorType: number }): Promise<Broker>;
  removeBroker(which: { host: string; port: number }): void;
}

/** kafkajs's own symbol, which only its clients use. */
export const CREATE_CLUSTER = 'private:Kafka:createCluster';
const METADATA_MS_MAX = 300_000;

/** A cluster with connections of its own. */
export function createCluster(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === CREATE_CLUSTER);
  if (symbol === undefined) throw new Error('this is not the version of kafkajs that the processor requires');
  const create = (kafka as unknown as Record<symbol, (options: object) => Cluster>)[symbol];
  if (create === undefined) throw new Error('this kafkajs cannot create a cluster');
  return create({ metadataMaxAge: METADATA_MS_MAX, allowAutoTopicCreation: false });
}
