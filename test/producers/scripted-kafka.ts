/**
 * Simulated brokers whose answers a test writes: what a request is answered with, by the broker or on its way. Time is virtual.
 *
 * Requests are known by the point that they are: `initialise`, `add`, `produce`, `commit`, `abort`.
 */
import type { Kafka } from 'kafkajs';
import { createKafka, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import type { Broker, BrokerRequest, Cluster } from '../../src/producers/kafka-cluster.ts';
import { CREATE_CLUSTER } from '../../src/producers/kafka-cluster.ts';
import type { WrittenCode } from '../../src/producers/transaction-requests.ts';
import { brokerError } from '../../proofs/simulation/broker-error.ts';
import { Draws } from '../../proofs/simulation/draws.ts';
import { pointOf } from '../../proofs/simulation/request-answers.ts';
import { SimulatedBroker, type BatchPlace, type ProducedBatch } from '../../proofs/simulation/simulated-broker.ts';
import { SimulatedCluster } from '../../proofs/simulation/simulated-cluster.ts';
import { SimulatedNetwork } from '../../proofs/simulation/simulated-network.ts';
import { VirtualTime } from '../../proofs/simulation/virtual-time.ts';
import { plainKafkaSettings } from '../support/kafka-settings.ts';

export type Happening =
  /** The broker answers with the error, having done nothing; a produce for the first of its partitions alone. */
  | { readonly kind: 'error'; readonly type: string }
  /** The same, having done it. */
  | { readonly kind: 'done-but'; readonly type: string }
  /** It has done what it was asked, and the connection breaks. */
  | { readonly kind: 'answer-lost' }
  | { readonly kind: 'request-lost' }
  /** It is done, and answered so late that nobody waits for it any more. */
  | { readonly kind: 'silence' }
  /** The answer has the first partition alone. */
  | { readonly kind: 'first-alone' }
  /** Before the request is sent. */
  | { readonly kind: 'before'; readonly work: () => void };

export const TOPIC = 'payments';
const PARTITIONS = 6;
const MS_MAX = 600_000;
const SILENT_MS = 60_000;

export class ScriptedKafka {
  readonly time = new VirtualTime();
  readonly broker: ScriptedBroker;
  /** Requests that were sent, in order. */
  readonly asked: string[] = [];
  /** Batches that were sent, in order. */
  readonly sent: { readonly partition: number; readonly bytes: string }[] = [];
  readonly #script = new Map<string, Happening[]>();
  readonly #network: SimulatedNetwork;

  private constructor() {
    this.broker = new ScriptedBroker(this.time, new Draws(1, 'broker'), 0);
    this.broker.createTopic(TOPIC, PARTITIONS);
    this.#network = new SimulatedNetwork(this.time, new Draws(1, 'network'), null);
  }

  static async run(body: (kafka: ScriptedKafka) => Promise<void>): Promise<void> {
    const scripted = new ScriptedKafka();
    const restore = scripted.time.install(new Draws(1, 'ids'));
    const run = { isOver: false };
    const ended = body(scripted).finally(() => (run.isOver = true));
    ended.catch(() => undefined);
    try {
      await scripted.time.runUntil(() => run.isOver, scripted.time.nowMs + MS_MAX);
      if (!run.isOver) throw new Error('the test does not come to an end');
    } finally {
      restore();
    }
    await ended;
  }

  /** To the next request of the point, and those after it. */
  happens(point: string, ...happenings: readonly Happening[]): void {
    this.#script.set(point, [...(this.#script.get(point) ?? []), ...happenings]);
  }

  /** A client whose clusters are scripted. */
  client(): Kafka {
    const kafka = createKafka(plainKafkaSettings(['scripted:9092']), 'scripted', { retry: LANE_RETRY });
    const symbol = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === CREATE_CLUSTER);
    return Object.assign(kafka, { [symbol ?? '']: () => this.#cluster() });
  }

  /** Values of a partition that readers of committed records are given. */
  committed(partition: number): string[] {
    return this.broker
      .log(TOPIC, partition)
      .committed()
      .map(({ value }) => value?.toString() ?? '');
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
  }

  #cluster(): Cluster {
    const cluster = new SimulatedCluster(this.broker, this.#network, null);
    const scripted = (broker: Broker): Broker => ({
      nodeId: broker.nodeId,
      connectionPool: {
        ...broker.connectionPool,
        send: (request) => this.#send(broker, request),
      },
    });
    const findBroker = cluster.findBroker.bind(cluster);
    const findGroupCoordinator = cluster.findGroupCoordinator.bind(cluster);
    return Object.assign(cluster, {
      findBroker: async (which: { nodeId: number | string }) => scripted(await findBroker(which)),
      // Which finds the broker as above.
      findGroupCoordinator: async (which: { groupId: string; coordinatorType: number }) => {
        this.asked.push('find coordinator');
        return findGroupCoordinator(which);
      },
    });
  }

  async #send<Answer>(broker: Broker, request: BrokerRequest<Answer>): Promise<Answer> {
    const bytes = Buffer.from((await request.request.encode()).buffer);
    const point = pointOf(request.request.apiKey, bytes);
    this.asked.push(point);
    const happening = this.#script.get(point)?.shift();
    const send = async (): Promise<Answer> => {
      if (happening?.kind === 'before') happening.work();
      if (happening?.kind === 'error') this.broker.errors.before = happening.type;
      if (happening?.kind === 'done-but') this.broker.errors.after = happening.type;
      return broker.connectionPool.send(request);
    };
    this.broker.onProduced = (partition, batch) => this.sent.push({ partition, bytes: JSON.stringify(batch) });
    switch (happening?.kind) {
      case 'request-lost':
        throw connectionLost();
      case 'answer-lost':
        await send();
        throw connectionLost();
      case 'silence': {
        const answer = await send();
        await new Promise((resolve) => setTimeout(resolve, SILENT_MS));
        return answer;
      }
      case 'first-alone': {
        const answers = (await send()) as WrittenCode[];
        return answers.slice(0, 1) as Answer;
      }
      default:
        return send();
    }
  }
}

class ScriptedBroker extends SimulatedBroker {
  /** Of the next request, in place of doing it or once it is done. */
  readonly errors: { before: string | null; after: string | null } = { before: null, after: null };
  onProduced: (partition: number, batch: ProducedBatch) => void = () => undefined;

  override initialise(...given: Parameters<SimulatedBroker['initialise']>): ReturnType<SimulatedBroker['initialise']> {
    return this.#answered(() => super.initialise(...given));
  }

  override add(...given: Parameters<SimulatedBroker['add']>): void {
    this.#answered(() => super.add(...given));
  }

  override produce(id: string, to: { topic: string; partition: number }, batch: ProducedBatch): BatchPlace {
    this.onProduced(to.partition, batch);
    return this.#answered(() => super.produce(id, to, batch));
  }

  override end(...given: Parameters<SimulatedBroker['end']>): void {
    this.#answered(() => super.end(...given));
  }

  #answered<Value>(work: () => Value): Value {
    const { after, before } = this.errors;
    Object.assign(this.errors, { after: null, before: null });
    if (before !== null) throw brokerError(before);
    const value = work();
    if (after !== null) throw brokerError(after);
    return value;
  }
}

function connectionLost(): Error {
  return Object.assign(new Error('connection lost'), { name: 'KafkaJSConnectionClosedError', host: 'x', port: 1 });
}
