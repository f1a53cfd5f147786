/**
 * Everything that the demo needs, on this machine.
 *
 * Stages: sandbox -> Kafka and schema registry (an existing pair if the environment names one) -> topics and schemas
 * -> processor, publisher and readers, side by side -> (stop) ended in the opposite order.
 * What was started is registered with the Stops that the caller hands in, so that it is ended even if a later stage
 * fails. Logs are in a directory of the demo's own; the caller removes it.
 */
import { randomUUID } from 'node:crypto';
import { PaymentCommandPublisher, subscribe } from '../../src/client/index.ts';
import { CLIENT_SETTING_NAMES, type ClientSettings } from '../../src/client/settings.ts';
import { registerSubjects } from '../../src/cli/schema-subjects.ts';
import { readSomeSettings } from '../../src/config.ts';
import { openTopicReader } from '../../src/consumers/outside/topic-reader.ts';
import { createKafka, PATIENT_RETRY } from '../../src/producers/kafka-client.ts';
import { createTopics } from '../../src/producers/outside/topic-creation.ts';
import { TOPIC_SETTING_NAMES } from '../../src/producers/topic-definitions.ts';
import { topicNames } from '../../src/records/topics.ts';
import { freePort } from '../engine/ports.ts';
import { startEngine } from '../engine/start.ts';
import { startSandbox, type RunningSandbox } from '../sandbox/start.ts';
import { ACCOUNTS } from './commands.ts';
import type { Journal } from './journal.ts';
import { startProcessor, type Processor } from './processor.ts';
import { SetUpError } from './set-up-error.ts';
import type { Stops } from './stops.ts';

/** Executed quotes and transfers-in are done after this time: long enough to be seen under way. */
const SETTLE_MS = 2_000;
/** Far longer than the demo: the incoming payment must still wait when it is rejected, on a slow machine too. */
const APPROVAL_MS = 600_000;

/** Doubt, which fault rules can bring about, is then settled within a few seconds, well before a result is missed. */
const API_TIMEOUT_MS = 5_000;
const SETTLING_TIME_MS = 2_000;
const POLL_INTERVAL_MS = 500;

export interface Stage {
  readonly settings: ClientSettings;
  readonly sandbox: RunningSandbox;
  readonly processor: Processor;
  readonly publisher: PaymentCommandPublisher;
  /** The settings of the processor that are not its defaults, for another terminal. */
  readonly exports: Readonly<Record<string, string>>;
  /** Whether Kafka and the registry were there before, and stay. */
  readonly onExistingKafka: boolean;
}

/**
 * @param directory for logs and the processor's local store
 * @param journal receives every result, status change and dead letter from now on
 * @throws {EngineError} or {SetUpError}, with a message that says what to do
 */
export async function setUp(
  directory: string,
  journal: Journal,
  stops: Stops,
  say: (line: string) => void,
): Promise<Stage> {
  const sandbox = await startSandbox({ settleMs: SETTLE_MS, approvalMs: APPROVAL_MS, accounts: ACCOUNTS });
  stops.add(() => sandbox.stop());
  say(`Sandbox of the payment service: ${sandbox.baseUrl}`);

  const kafka = (await existingKafka(say)) ?? (await ownKafka(stops, say));
  const { settings } = kafka;
  await makeTopicsAndSchemas(settings, say);

  const exports = {
    KAFKA_BROKERS: settings.KAFKA_BROKERS.join(','),
    SCHEMA_REGISTRY_URL: settings.SCHEMA_REGISTRY_URL,
    TOPIC_PREFIX: settings.TOPIC_PREFIX,
    KAFKA_GROUP_ID: `${settings.TOPIC_PREFIX}-commands`,
    API_BASE_URL: sandbox.baseUrl,
    API_TOKEN_ID: 'demo',
    API_CLIENT_SECRET: 'demo',
    API_TIMEOUT_MS: String(API_TIMEOUT_MS),
    SETTLING_TIME_MS: String(SETTLING_TIME_MS),
    POLL_INTERVAL_MS: String(POLL_INTERVAL_MS),
    SANDBOX_COMMANDS: 'true',
  };
  const [processor, publisher] = await Promise.all([
    startProcessorFor(exports, kafka.onExistingKafka, directory, stops, say),
    openPublisher(settings, stops),
    openReaders(settings, journal, stops),
  ]);
  return { settings, sandbox, processor, publisher, exports, onExistingKafka: kafka.onExistingKafka };
}

interface KafkaInUse {
  readonly settings: ClientSettings;
  readonly onExistingKafka: boolean;
}

/** The pair that KAFKA_BROKERS and SCHEMA_REGISTRY_URL name; null if neither is set. */
async function existingKafka(say: (line: string) => void): Promise<KafkaInUse | null> {
  const isSet = (name: string): boolean => (process.env[name] ?? '') !== '';
  if (!isSet('KAFKA_BROKERS') && !isSet('SCHEMA_REGISTRY_URL')) return null;
  const prefix = `payments-demo-${randomUUID().slice(0, 8)}`;
  const read = readSomeSettings({ ...process.env, TOPIC_PREFIX: prefix }, CLIENT_SETTING_NAMES);
  if (!read.ok) {
    throw new SetUpError(
      `To use an existing Kafka, KAFKA_BROKERS and SCHEMA_REGISTRY_URL must both be set, and rightly:\n  ${read.problems.join('\n  ')}`,
    );
  }
  say(
    `Kafka (existing): ${read.config.KAFKA_BROKERS.join(',')}; topics and schemas with the prefix ${prefix} stay there`,
  );
  return { settings: read.config, onExistingKafka: true };
}

async function ownKafka(stops: Stops, say: (line: string) => void): Promise<KafkaInUse> {
  const engine = await startEngine({ onProgress: say });
  stops.add(() => engine.stop());
  const environment = { KAFKA_BROKERS: engine.brokers.join(','), SCHEMA_REGISTRY_URL: engine.registryUrl };
  const read = readSomeSettings(environment, CLIENT_SETTING_NAMES);
  if (!read.ok) throw new Error(`BUG: the engine's addresses are not settings: ${read.problems.join('; ')}`);
  return { settings: read.config, onExistingKafka: false };
}

async function makeTopicsAndSchemas(settings: ClientSettings, say: (line: string) => void): Promise<void> {
  const read = readSomeSettings({ TOPIC_PREFIX: settings.TOPIC_PREFIX }, TOPIC_SETTING_NAMES);
  if (!read.ok) throw new Error(`BUG: the defaults are not valid: ${read.problems.join('; ')}`);
  const kafka = createKafka(settings, 'payment-demo', { retry: PATIENT_RETRY });
  try {
    const topics = await createTopics(kafka, read.config, { replicationFactor: null, dryRun: false });
    const schemas = await registerSubjects(settings);
    say(`${topics.length} topics made, ${schemas.length} schemas registered`);
  } catch (error) {
    throw new SetUpError(`Topics and schemas could not be made: ${messageOf(error)}`, { cause: error });
  }
}

async function startProcessorFor(
  settings: Readonly<Record<string, string>>,
  onExistingKafka: boolean,
  directory: string,
  stops: Stops,
  say: (line: string) => void,
): Promise<Processor> {
  const startedAtMs = performance.now();
  const processor = await startProcessor({
    settings,
    // TLS and credentials of the existing Kafka and registry.
    inherited: onExistingKafka ? CLIENT_SETTING_NAMES : [],
    httpPort: await freePort(),
    directory,
  });
  stops.add(() => processor.stop());
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  say(`Processor: ready after ${seconds} s (process ${processor.pid}, ${processor.url})`);
  return processor;
}

async function openPublisher(settings: ClientSettings, stops: Stops): Promise<PaymentCommandPublisher> {
  const publisher = await PaymentCommandPublisher.connect(settings);
  stops.add(() => publisher.close());
  return publisher;
}

/** One subscription to results and status changes, one reader of dead letters: from now on. */
async function openReaders(settings: ClientSettings, journal: Journal, stops: Stops): Promise<void> {
  const kafka = createKafka(settings, 'payment-demo-dead-letters', { retry: PATIENT_RETRY });
  const [events, deadLetters] = await Promise.all([
    subscribe(settings, {
      streams: ['results', 'transaction-status', 'quote-status'],
      start: { from: 'now' },
      onEvent: (event) => journal.add(event),
    }),
    openTopicReader(kafka, {
      topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
      start: { from: 'now' },
      untilEnd: false,
      groupPrefix: `${settings.TOPIC_PREFIX}-demo`,
      onRecord: (record) => journal.add({ kind: 'dead-letter', record }),
    }),
  ]);
  for (const reader of [events, deadLetters]) {
    reader.ended.catch((error: unknown) => journal.end(`reading from Kafka failed: ${messageOf(error)}`));
    stops.add(() => reader.close());
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
