/**
 * All that a test needs around processors: topics and schemas of its own, a sandbox in this process, a publisher, and
 * the journal of what comes out. `close` ends everything, processors included, in the order of use.
 */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerSubjects } from 'payment-processor-cli/schema-subjects';
import { PaymentCommandPublisher } from 'payment-processor-client';
import { CLIENT_SETTING_NAMES, type ClientSettings } from 'payment-processor-client/internal/settings';
import { readSomeSettings } from 'payment-processor-contract/config';
import { openTopicReader, type TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { createTopics } from 'payment-processor-cli/kafka/topic-creation';
import {
  TOPIC_SETTING_NAMES,
  topicDefinitions,
  type TopicDefinition,
} from 'payment-processor-contract/topic-definitions';
import type { HoldOrder } from '../../src/ledger/holds.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { topicNames, type TopicNames } from 'payment-processor-contract/topics';
import { startSandbox, type RunningSandbox } from 'payment-processor-sandbox/start';
import { deleteTopic } from './delete-topic.ts';
import { startHostileService, type HostileAnswer, type HostileService } from './hostile-service.ts';
import { Journal } from './journal.ts';
import { RunningProcessor, spawnProcessor } from './processor.ts';
import { CLIENT_SECRET, SandboxControl, TOKEN_ID } from './sandbox-control.ts';
import { LANES, QUICK_SETTINGS, SLOW_PAYMENTS, type RawMessage, type StackOptions } from './stack-options.ts';
import { changeTopics } from './topic-settings.ts';
import { eventually } from './watch.ts';

export { LANES, type RawMessage, type StackOptions } from './stack-options.ts';

const CLEANED_AT_ONCE = {
  'segment.ms': '1000',
  'max.compaction.lag.ms': '1000',
  'delete.retention.ms': '100',
  'min.cleanable.dirty.ratio': '0.01',
};
/** The log cleaner runs every 15 s, and removes a tombstone in its second pass. */
const CLEANED_MS_MAX = 120_000;

/** Settings that inject a bug which the command of this key hits three times (faulty-encoding.ts). */
export function faultyFor(key: string): Record<string, string> {
  return { FAULTY_KEY: key, NODE_OPTIONS: `--import ${new URL('faulty-encoding.ts', import.meta.url).href}` };
}

export class Stack {
  readonly environment: Readonly<Record<string, string>>;
  readonly settings: ClientSettings;
  readonly topics: TopicNames;
  readonly kafka: ReturnType<typeof createKafka>;
  readonly sandbox: RunningSandbox;
  readonly service: SandboxControl;
  readonly publisher: PaymentCommandPublisher;
  readonly journal: Journal;
  readonly #processors: RunningProcessor[] = [];
  #endedLast: RunningProcessor[] = [];
  readonly #hostile: HostileService[] = [];
  readonly #raw: ReturnType<ReturnType<typeof createKafka>['producer']>;

  private constructor(parts: Pick<Stack, 'environment' | 'settings' | 'sandbox' | 'publisher' | 'journal' | 'kafka'>) {
    this.environment = parts.environment;
    this.settings = parts.settings;
    this.topics = topicNames(parts.settings.TOPIC_PREFIX);
    this.kafka = parts.kafka;
    this.sandbox = parts.sandbox;
    this.service = new SandboxControl(parts.sandbox);
    this.publisher = parts.publisher;
    this.journal = parts.journal;
    this.#raw = parts.kafka.producer();
  }

  static async open(options: StackOptions): Promise<Stack> {
    const prefix = `test-${options.name}-${randomUUID().slice(0, 8)}`;
    const kafkaEnvironment = {
      KAFKA_BROKERS: options.kafkaBrokers.join(','),
      SCHEMA_REGISTRY_URL: options.schemaRegistryUrl,
      TOPIC_PREFIX: prefix,
      LANES: String(options.lanes ?? LANES),
    };
    const read = readSomeSettings({ ...kafkaEnvironment, ...options.settings }, [
      ...CLIENT_SETTING_NAMES,
      ...TOPIC_SETTING_NAMES,
    ]);
    if (!read.ok) throw new Error(read.problems.join('; '));
    const settings = read.config;
    const kafka = createKafka(settings, `${prefix}-test`, { retry: PATIENT_RETRY });
    await Promise.all([
      createTopics(kafka, settings, { replicationFactor: null, dryRun: false }),
      registerSubjects(settings),
    ]);
    const sandbox = await startSandbox({ ...SLOW_PAYMENTS, ...options.sandbox });
    const environment = {
      ...kafkaEnvironment,
      KAFKA_GROUP_ID: `${prefix}-group`,
      STATE_DIR: join(tmpdir(), `${prefix}-state`),
      API_BASE_URL: sandbox.baseUrl,
      API_TOKEN_ID: TOKEN_ID,
      API_CLIENT_SECRET: CLIENT_SECRET,
      ...QUICK_SETTINGS,
      ...options.settings,
    };
    const [publisher, journal] = await Promise.all([
      PaymentCommandPublisher.connect(settings),
      options.isRead === false ? new Journal() : Journal.open(settings),
    ]);
    const stack = new Stack({ environment, settings, sandbox, publisher, journal, kafka });
    await stack.#raw.connect();
    return stack;
  }

  /** Starts a processor and waits until its lanes are open. */
  async startProcessor(overrides: Readonly<Record<string, string>> = {}): Promise<RunningProcessor> {
    const processor = await this.spawnProcessor(overrides);
    await processor.ready();
    return processor;
  }

  /** Starts a processor without waiting until it is ready. */
  async spawnProcessor(overrides: Readonly<Record<string, string>> = {}): Promise<RunningProcessor> {
    const processor = await spawnProcessor({ ...this.environment, ...overrides });
    this.#processors.push(processor);
    return processor;
  }

  /** Publishes bytes as they are, without the client's checks. */
  async publishRaw(type: CommandType, ...messages: RawMessage[]): Promise<void> {
    await this.#raw.send({ topic: this.topics.commands[type], messages: messages.map((message) => ({ ...message })) });
  }

  /** Publishes an operator's decision on the result of the key. */
  async publishDecision(key: string, decision: object, headers: Readonly<Record<string, string>> = {}): Promise<void> {
    const messages = [
      { key, value: JSON.stringify(decision), headers: { 'content-type': 'application/json', ...headers } },
    ];
    await this.#raw.send({ topic: this.topics.operatorDecisions, messages });
  }

  /** Publishes an operator's order to hold or release to every lane. */
  async publishHold(order: HoldOrder): Promise<void> {
    const value = JSON.stringify(order);
    const messages = Array.from({ length: Number(this.environment['LANES']) }, (_, partition) => ({
      value,
      partition,
    }));
    await this.#raw.send({ topic: this.topics.operatorHolds, messages });
  }

  /** Starts a service that replaces the sandbox; closed with the stack. */
  async hostileService(answer: HostileAnswer): Promise<HostileService> {
    const service = await startHostileService(answer);
    this.#hostile.push(service);
    return service;
  }

  /** Every committed record of the ledger. */
  async readLedger(): Promise<TopicRecord[]> {
    const records: TopicRecord[] = [];
    const reader = await openTopicReader(this.kafka, {
      topics: [this.topics.ledger],
      start: { from: 'beginning' },
      untilEnd: true,
      groupPrefix: this.settings.TOPIC_PREFIX,
      onRecord: (record) => void records.push(record),
    });
    await reader.ended;
    await reader.close();
    return records;
  }

  /** Deletes and recreates a topic, as an operator might to repair something. */
  async makeTopicAgain(topic: string): Promise<void> {
    await deleteTopic(this.kafka, topic);
    const read = readSomeSettings(this.environment, TOPIC_SETTING_NAMES);
    if (!read.ok) throw new Error(read.problems.join('; '));
    await createTopics(this.kafka, read.config, { replicationFactor: null, dryRun: false });
  }

  /** Changes the configuration of some of the stack's topics, as an operator would. */
  async configureTopics(
    changes: Readonly<Record<string, string>>,
    isMeant: (definition: TopicDefinition) => boolean,
  ): Promise<void> {
    const read = readSomeSettings(this.environment, TOPIC_SETTING_NAMES);
    if (!read.ok) throw new Error(read.problems.join('; '));
    const topics = topicDefinitions(read.config).filter(isMeant);
    await changeTopics(
      this.kafka,
      topics.map(({ topic }) => topic),
      changes,
    );
  }

  /** Deletes a key of lane 0 from the ledger, and waits until the log cleaner has removed its tombstone too. */
  async forgetInLedger(key: string): Promise<void> {
    const isLedger = ({ purpose }: TopicDefinition): boolean => purpose === 'ledger';
    await this.configureTopics(CLEANED_AT_ONCE, isLedger);
    const producer = this.kafka.producer();
    await producer.connect();
    const write = (ledgerKey: string, value: string | null) =>
      producer.send({ topic: this.topics.ledger, messages: [{ key: ledgerKey, value, partition: 0 }] });
    await write(key, null);
    await eventually(
      async () => {
        await write('churn', 'closes the segment');
        return (await this.readLedger()).map((record) => record.key?.toString());
      },
      (keys) => !keys.includes(key),
      'the log cleaner',
      CLEANED_MS_MAX,
    );
    await producer.disconnect();
  }

  /** What the processors printed last, for a failing test. */
  logs(): string {
    const shown = this.#processors.length > 0 ? this.#processors : this.#endedLast;
    return shown.map((processor) => `--- processor ${processor.pid}\n${processor.tail()}`).join('\n');
  }

  /** Ends what the last test left running. */
  async endProcessors(): Promise<void> {
    this.#endedLast = this.#processors.splice(0);
    await Promise.all(this.#endedLast.map((processor) => processor.end()));
  }

  async close(): Promise<void> {
    await this.endProcessors();
    await Promise.all([this.publisher.close(), this.journal.close(), this.#raw.disconnect()]);
    await Promise.all([this.sandbox.stop(), ...this.#hostile.map((service) => service.close())]);
    await rm(this.environment['STATE_DIR'] ?? '', { recursive: true, force: true });
  }
}
