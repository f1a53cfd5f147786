/**
 * The stack of test/support/stack.ts in virtual time: the real lanes, API and sandbox, over simulated brokers. A minute
 * passes in milliseconds, and a busy machine changes nothing.
 */
import { createSandboxServer } from 'payment-processor-sandbox/server';
import { VERSION_SEGMENT } from 'payment-processor-sandbox/operations';
import { makeSandbox } from 'payment-processor-sandbox/start';
import type { Sandbox } from 'payment-processor-sandbox/sandbox';
import { avroDecoder, readEvent, type Stream } from 'payment-processor-client/internal/events';
import { checkCommand } from 'payment-processor-client/internal/publisher';
import { readConfig, type Config } from 'payment-processor-contract/config';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { HoldOrder } from '../../src/ledger/holds.ts';
import { Activity } from '../../src/ops/activity.ts';
import { createMetrics } from '../../src/ops/metrics.ts';
import { withOutcomeLog } from '../../src/ops/outcome-log.ts';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { topicDefinitions, type TopicDefinition } from 'payment-processor-contract/topic-definitions';
import type { CommandType } from 'payment-processor-contract/commands';
import { laneOf } from 'payment-processor-contract/keys';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { recordOfTopic, topicNames, type TopicNames } from 'payment-processor-contract/topics';
import { hostileListener, type HostileAnswer, type HostileService } from '../../test/support/hostile-service.ts';
import { Journal } from '../../test/support/journal.ts';
import { CLIENT_SECRET, SandboxControl, TOKEN_ID } from '../../test/support/sandbox-control.ts';
import {
  LANES,
  QUICK_SETTINGS,
  SLOW_PAYMENTS,
  type RawMessage,
  type StackOptions,
} from '../../test/support/stack-options.ts';
import { Draws } from './draws.ts';
import { topicRecord } from './history-judgement.ts';
import { MemoryIndex } from './memory-index.ts';
import { brokerTopic, SimulatedBroker } from './simulated-broker.ts';
import { installKafka } from './simulated-kafkajs.ts';
import { isForReaders } from './simulated-log.ts';
import { SimulatedNetwork, type Disturber } from './simulated-network.ts';
import { SimulatedProcess } from './simulated-process.ts';
import { simulatedRegistry } from './simulated-registry.ts';
import { VirtualHttp } from './virtual-http.ts';
import { VirtualProcessor } from './virtual-processor.ts';
import { VirtualTime } from './virtual-time.ts';

/** For one test, in which days may pass. */
const EVENTS_MAX = 5_000_000;
const TEST_MS_MAX = 30 * 86_400_000;
/** Later than all data that tests include, such as the ledger of a release. */
const START_MS = Date.parse('2036-01-01T00:00:00Z');
const LOOK_MS = 10;
const TOPIC_GONE_MS = 200;
const COMPACTED_EVERY_MS = 15_000;
const SEED = 1;

export type VirtualStackOptions = Omit<StackOptions, 'kafkaBrokers' | 'schemaRegistryUrl'>;

interface Published {
  readonly expiresAt?: Date;
  readonly commandId?: string;
}

/** A local store, and the process that holds it. */
interface Store {
  readonly index: MemoryIndex;
  holder: VirtualProcessor | null;
}

export class VirtualStack {
  readonly environment: Readonly<Record<string, string>>;
  readonly topics: TopicNames;
  readonly kafka: ReturnType<typeof createKafka>;
  readonly broker: SimulatedBroker;
  readonly service: SandboxControl;
  readonly journal = new Journal();
  readonly publisher = {
    publish: (type: CommandType, key: string, fields: object, options: Published = {}) =>
      this.#publish(type, key, fields, options),
    publishUntyped: (type: CommandType, key: string, fields: unknown) => this.#publish(type, key, fields, {}),
  };
  readonly #time: VirtualTime;
  readonly #http: VirtualHttp;
  readonly #registry: RecordRegistry;
  readonly #laneCount: number;
  readonly #stores = new Map<string, Store[]>();
  readonly #looked = new Map<string, number>();
  readonly #activities: Activity[] = [];
  #processors: VirtualProcessor[] = [];
  #started = 0;
  #published = 0;

  private constructor(time: VirtualTime, broker: SimulatedBroker, options: VirtualStackOptions) {
    this.#time = time;
    this.broker = broker;
    this.#laneCount = options.lanes ?? LANES;
    this.#http = new VirtualHttp(time, new Draws(SEED, 'http'));
    const clock = {
      nowMs: () => Math.floor(time.nowMs),
      wakeAt: (instantMs: number, wake: () => void) => time.after(instantMs - time.nowMs, null, wake).cancel,
    };
    const sandbox: Sandbox = makeSandbox({ ...SLOW_PAYMENTS, ...options.sandbox, clock });
    const server = createSandboxServer(sandbox, null);
    const url = this.#http.serve((request, response) => void server.emit('request', request, response));
    this.environment = {
      KAFKA_BROKERS: 'simulated:9092',
      SCHEMA_REGISTRY_URL: 'http://simulated',
      TOPIC_PREFIX: options.name,
      LANES: String(this.#laneCount),
      KAFKA_GROUP_ID: `${options.name}-group`,
      STATE_DIR: 'state',
      API_BASE_URL: `${url}/${VERSION_SEGMENT}`,
      API_TOKEN_ID: TOKEN_ID,
      API_CLIENT_SECRET: CLIENT_SECRET,
      ...QUICK_SETTINGS,
      ...options.settings,
    };
    const config = this.#config({});
    this.topics = topicNames(options.name);
    for (const definition of topicDefinitions(config)) broker.createTopic(...brokerTopic(definition));
    this.#registry = simulatedRegistry(recordOfTopic(this.topics));
    const sandboxAt = { url, baseUrl: `${url}/${VERSION_SEGMENT}` };
    this.service = new SandboxControl(sandboxAt, undefined, (exchange) => this.#http.exchange(exchange));
    this.kafka = createKafka(config, 'test', { retry: PATIENT_RETRY });
    this.#look();
  }

  /** Runs a test's body, and lets virtual time pass meanwhile. */
  static async run(
    options: VirtualStackOptions,
    body: (stack: VirtualStack) => Promise<void>,
    disturber: Disturber | null = null,
  ): Promise<void> {
    const time = new VirtualTime(EVENTS_MAX);
    time.nowMs = START_MS;
    const broker = new SimulatedBroker(time, new Draws(SEED, 'broker'));
    const restoreTime = time.install(new Draws(SEED, 'ids'));
    const restoreKafka = installKafka(broker, new SimulatedNetwork(time, new Draws(SEED, 'network'), disturber));
    try {
      const stack = new VirtualStack(time, broker, options);
      const test = { isOver: false };
      const ended = body(stack).finally(() => (test.isOver = true));
      ended.catch(() => undefined);
      await time.runUntil(() => test.isOver, time.nowMs + TEST_MS_MAX);
      if (!test.isOver) throw new Error(`the test did not end in ${TEST_MS_MAX} virtual ms`);
      await ended.catch((error: unknown) => {
        console.error(stack.logs());
        throw error;
      });
    } finally {
      restoreKafka();
      restoreTime();
    }
  }

  async startProcessor(overrides: Readonly<Record<string, string>> = {}): Promise<VirtualProcessor> {
    const processor = await this.spawnProcessor(overrides);
    await processor.ready();
    return processor;
  }

  async spawnProcessor(overrides: Readonly<Record<string, string>> = {}): Promise<VirtualProcessor> {
    const config = this.#config(overrides);
    const store = this.#freeStore(config.STATE_DIR);
    this.#started += 1;
    const name = `process-${this.#started}`;
    const draws = new Draws(SEED, name);
    const activity = new Activity(createMetrics(), () => this.#time.nowMs);
    this.#activities.push(activity);
    const processor = new VirtualProcessor(
      this.#time,
      ({ onFatal, onLine }) =>
        new SimulatedProcess({
          name,
          time: this.#time,
          config,
          registry: this.#registry,
          service: { client: (caller, options) => this.#http.client(caller, options) },
          index: store.index,
          clockAheadMs: Number(overrides['CLOCK_AHEAD_MS'] ?? 0),
          random: draws.random,
          log: () => undefined,
          onLine,
          reports: (log) => withOutcomeLog(activity.reports, log),
          onFatal: (_process, error) => {
            onLine('fatal', { event: 'fatal', err: error });
            onFatal();
          },
          onFailure: (error) => onLine('error', { event: 'failed', err: error }),
          onDeath: () => void (store.holder = null),
        }),
    );
    store.holder = processor;
    this.#processors.push(processor);
    return processor;
  }

  async publishRaw(type: CommandType, ...messages: RawMessage[]): Promise<void> {
    for (const message of messages) this.#append(this.topics.commands[type], message);
  }

  async publishDecision(key: string, decision: object, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const value = JSON.stringify(decision);
    this.#append(this.topics.operatorDecisions, {
      key,
      value,
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  async publishHold(order: HoldOrder): Promise<void> {
    for (let lane = 0; lane < this.#laneCount; lane += 1)
      this.#append(this.topics.operatorHolds, { key: null, value: JSON.stringify(order), partition: lane });
  }

  /** Starts a service that replaces the sandbox; use it as API_BASE_URL. */
  async hostileService(answer: HostileAnswer): Promise<HostileService> {
    const { listener, ...shown } = hostileListener(answer);
    const origin = this.#http.serve(listener);
    return { ...shown, baseUrl: `${origin}/${VERSION_SEGMENT}`, close: async () => undefined };
  }

  /** Every committed record of the ledger that compaction has not removed. */
  async readLedger(): Promise<TopicRecord[]> {
    const { ledger } = this.topics;
    return this.broker.logs(ledger).flatMap((log, partition) =>
      log
        .read(log.lowOffset(), Infinity)
        .filter(isForReaders)
        .map((record) => topicRecord(ledger, partition, record)),
    );
  }

  /** Deletes and recreates a topic, as an operator might to repair something. */
  async makeTopicAgain(topic: string): Promise<void> {
    const config = this.broker.config(topic);
    this.broker.deleteTopic(topic);
    await new Promise((resolve) => setTimeout(resolve, TOPIC_GONE_MS));
    this.broker.createTopic(topic, this.#laneCount, config);
    for (let lane = 0; lane < this.#laneCount; lane += 1) this.#looked.delete(`${topic}/${lane}`);
  }

  /** Applies the settings that simulated brokers support. */
  async configureTopics(
    changes: Readonly<Record<string, string>>,
    isMeant: (definition: TopicDefinition) => boolean,
  ): Promise<void> {
    const deleteRetentionMs = changes['delete.retention.ms'];
    if (deleteRetentionMs === undefined) return;
    for (const definition of topicDefinitions(this.#config({})).filter(isMeant))
      this.broker.configure(definition.topic, { deleteRetentionMs: Number(deleteRetentionMs) });
  }

  /** Deletes a key of lane 0 from the ledger, and compacts until its tombstone is gone too. */
  async forgetInLedger(key: string): Promise<void> {
    const { ledger } = this.topics;
    this.broker.configure(ledger, { deleteRetentionMs: 100 });
    this.#append(ledger, { key, value: null, partition: 0 });
    const isThere = async (): Promise<boolean> =>
      (await this.readLedger()).some((record) => record.key?.toString() === key);
    while (await isThere()) {
      this.#append(ledger, { key: 'churn', value: 'closes the segment', partition: 0 });
      await new Promise((resolve) => setTimeout(resolve, COMPACTED_EVERY_MS));
      this.broker.compact(ledger);
    }
  }

  /** As all processes have counted them. */
  resultsCounted(): number {
    return this.#activities.flatMap((activity) => activity.state().results).reduce((sum, { count }) => sum + count, 0);
  }

  /** The local stores of all processes. */
  stores(): MemoryIndex[] {
    return [...this.#stores.values()].flat().map(({ index }) => index);
  }

  logs(): string {
    return this.#processors.map((processor, index) => `--- process ${index + 1}\n${processor.tail(200)}`).join('\n');
  }

  async endProcessors(): Promise<void> {
    await Promise.all(this.#processors.splice(0).map((processor) => processor.end()));
  }

  #config(overrides: Readonly<Record<string, string>>): Config {
    const read = readConfig({ ...this.environment, ...overrides });
    if (!read.ok) throw new Error(read.problems.join('\n'));
    return read.config;
  }

  /** The first store that no process holds, as real processes lock folders below STATE_DIR. */
  #freeStore(folder: string): Store {
    const stores = this.#stores.get(folder) ?? [];
    this.#stores.set(folder, stores);
    const free = stores.find(({ holder }) => holder === null);
    if (free !== undefined) return free;
    const made = { index: new MemoryIndex(this.#laneCount), holder: null };
    stores.push(made);
    return made;
  }

  async #publish(type: CommandType, key: string, fields: unknown, { commandId, expiresAt }: Published): Promise<void> {
    this.#published += 1;
    this.#append(this.topics.commands[type], {
      key,
      value: stringifyLossless(checkCommand(type, key, fields)),
      headers: {
        'content-type': 'application/json',
        ce_id: commandId ?? `message-${this.#published}`,
        ...(expiresAt !== undefined && { 'expires-at': expiresAt.toISOString() }),
      },
    });
  }

  #append(topic: string, { headers = {}, key, partition, value }: RawMessage): void {
    const lane = partition ?? (key === null ? 0 : laneOf(key.toString(), this.#laneCount));
    this.broker.append(topic, lane, {
      key: key === null ? null : Buffer.from(key),
      value: value === null ? null : Buffer.from(value),
      headers: Object.entries(headers).map(([name, text]) => [name, Buffer.from(String(text))]),
      timestampMs: this.#time.nowMs,
    });
  }

  /** Reads the records published since the last look, and looks again soon. */
  #look(): void {
    const { deadLetters, quoteStatusChanged, results, transactionStatusChanged } = this.topics;
    const streams: readonly (readonly [string, Stream])[] = [
      [results, 'results'],
      [transactionStatusChanged, 'transaction-status'],
      [quoteStatusChanged, 'quote-status'],
    ];
    for (const [topic, stream] of streams) {
      for (const record of this.#newRecords(topic)) void this.#take(record, stream);
    }
    for (const record of this.#newRecords(deadLetters)) this.journal.takeDeadLetter(record);
    this.#time.after(LOOK_MS, null, () => this.#look());
  }

  async #take(record: TopicRecord, stream: Stream): Promise<void> {
    const never = new AbortController().signal;
    const event = await readEvent(record, stream, avroDecoder(this.#registry), never, () => undefined);
    if (event !== null) this.journal.take(event);
  }

  #newRecords(topic: string): TopicRecord[] {
    return this.broker.logs(topic).flatMap((log, partition) => {
      const name = `${topic}/${partition}`;
      const end = log.lastStableOffset();
      const unread = log.all.slice(this.#looked.get(name) ?? 0, end);
      this.#looked.set(name, end);
      return unread.filter(isForReaders).map((record) => topicRecord(topic, partition, record));
    });
  }
}
