/**
 * A kafkajs cluster over simulated brokers: as much of connections, metadata and coordinators as our own producer uses, with
 * requests as bytes. The client knows the leaders of its latest metadata request only.
 */
import type { Broker, BrokerRequest } from '../../src/producers/kafka-cluster.ts';
import { brokerError } from './broker-error.ts';
import { answerTo, pointOf } from './request-answers.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import { ConnectionLostError, type SimulatedNetwork } from './simulated-network.ts';
import type { Owner } from './virtual-time.ts';

interface Leader {
  readonly partitionId: number;
  readonly leader: number;
}

const REFUSED_MS = 30;

export class SimulatedCluster {
  readonly #broker: SimulatedBroker;
  readonly #network: SimulatedNetwork;
  readonly #owner: Owner | null;
  readonly #topics = new Set<string>();
  #leaders: ReadonlyMap<string, readonly Leader[]> | null = null;
  #isConnected = false;
  readonly #downUntilMs = new Map<number, number>();

  constructor(broker: SimulatedBroker, network: SimulatedNetwork, owner: Owner | null) {
    this.#broker = broker;
    this.#network = network;
    this.#owner = owner;
  }

  isConnected(): boolean {
    return this.#isConnected;
  }

  async connect(): Promise<void> {
    await this.#network.request(this.#owner, 'connect', () => undefined);
    this.#isConnected = true;
  }

  async disconnect(): Promise<void> {
    this.#isConnected = false;
  }

  async addMultipleTargetTopics(topics: readonly string[]): Promise<void> {
    const isKnown = this.#leaders !== null && topics.every((topic) => this.#topics.has(topic));
    for (const topic of topics) this.#topics.add(topic);
    if (!isKnown) await this.refreshMetadata();
  }

  async refreshMetadata(): Promise<void> {
    const leaders = await this.#network.request(this.#owner, 'metadata', () => {
      // No target topics means all topics.
      const topics = this.#topics.size > 0 ? [...this.#topics] : this.#broker.topics();
      return new Map(topics.map((topic) => [topic, this.#leadersOf(topic)]));
    });
    // Like kafkajs, rejects all of the metadata if one partition has no leader.
    if ([...leaders.values()].flat().some(({ leader }) => leader < 0)) throw brokerError('LEADER_NOT_AVAILABLE');
    this.#leaders = leaders;
  }

  async refreshMetadataIfNecessary(): Promise<void> {
    // The metadata never gets too old.
  }

  findTopicPartitionMetadata(topic: string): readonly Leader[] {
    return this.#leaders?.get(topic) ?? [];
  }

  async findBroker({ nodeId }: { nodeId: number | string }): Promise<Broker> {
    const node = Number(nodeId);
    if ((this.#downUntilMs.get(node) ?? 0) > this.#network.time.nowMs) {
      await new Promise((resolve) => setTimeout(resolve, REFUSED_MS));
      throw this.#lost(node);
    }
    const send = <Answer>(request: BrokerRequest<Answer>): Promise<Answer> => this.#send(node, request);
    return { nodeId, connectionPool: { ...placeOf(node), send } };
  }

  async findGroupCoordinator({ groupId }: { groupId: string }): Promise<Broker> {
    // Until then the client knows no brokers.
    if (this.#leaders === null) await this.refreshMetadata();
    const nodeId = await this.#network.request(this.#owner, 'find coordinator', () =>
      this.#broker.coordinators.nodeOf(groupId),
    );
    return this.findBroker({ nodeId });
  }

  removeBroker(): void {
    // The client reconnects when it next needs the broker.
  }

  async #send<Answer>(node: number, { request, response }: BrokerRequest<Answer>): Promise<Answer> {
    const { buffer } = await request.encode();
    if (!this.#isConnected) throw this.#lost(node);
    // A copy of the bytes as sent, so that later changes of the buffer have no effect.
    const bytes = Buffer.from(buffer);
    let answer: Buffer;
    try {
      answer = await this.#network.request(this.#owner, pointOf(request.apiKey, bytes), () =>
        answerTo(this.#broker, node, request.apiKey, bytes),
      );
    } catch (error) {
      if (!(error instanceof ConnectionLostError)) throw error;
      this.#downUntilMs.set(node, this.#network.time.nowMs + error.downMs);
      throw this.#lost(node);
    }
    return response.parse(await response.decode(answer));
  }

  #leadersOf(topic: string): Leader[] {
    return this.#broker
      .logs(topic)
      .map((_log, partitionId) => ({ partitionId, leader: this.#broker.leaderOf(topic, partitionId) }));
  }

  #lost(node: number): Error {
    return Object.assign(new Error('connection lost'), { name: 'KafkaJSConnectionClosedError', ...placeOf(node) });
  }
}

function placeOf(node: number): { host: string; port: number } {
  return { host: 'simulated', port: node };
}
