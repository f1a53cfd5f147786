/**
 * Everything that the demo needs, on this machine.
 *
 * Stages: sandbox -> Kafka and schema registry (an existing pair if the environment names one) -> topics and schemas
 * -> processor, publisher and readers -> (stops) ended in reverse order.
 */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Kafka } from 'kafkajs';
import { PaymentCommandPublisher, subscribe } from 'payment-processor-client';
import { CLIENT_SETTING_NAMES, type ClientSettings } from 'payment-processor-client/internal/settings';
import { registerSubjects } from 'payment-processor-cli/schema-subjects';
import { readSomeSettings, SETTINGS, type Environment } from 'payment-processor-contract/config';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { createTopics } from 'payment-processor-cli/kafka/topic-creation';
import { TOPIC_SETTING_NAMES, type TopicSettings } from 'payment-processor-contract/topic-definitions';
import { messageOf } from 'payment-processor-contract/registry-http';
import { topicNames } from 'payment-processor-contract/topics';
import { EngineError } from 'payment-processor-local-kafka/errors';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';
import { httpProbe, waitUntilReady } from 'payment-processor-local-kafka/readiness';
import { startEngine } from 'payment-processor-local-kafka/start';
import { startProcess } from 'payment-processor-local-kafka/supervised-process';
import { startSandbox } from 'payment-processor-sandbox/start';
import { startArguments } from '../start-command.ts';
import { ACCOUNTS } from './commands.ts';
import { Journal } from './journal.ts';

type Settings = ClientSettings & TopicSettings;

/** Executed quotes and transfers-in take this long: enough to be seen in progress. */
const SETTLE_MS = 2_000;
/** Far longer than the demo: even on a slow machine the incoming payment must still be waiting when it is rejected. */
const APPROVAL_MS = 600_000;
/** Without a call under way it stops well within a second. */
const PROCESSOR_STOP_MS_MAX = 10_000;

/** In the demo's directory. */
export const PROCESSOR_LOG = 'processor.log';

const OWN_KAFKA = 'For a Kafka of its own: env -u KAFKA_BROKERS -u SCHEMA_REGISTRY_URL npm run demo';

/** What the story needs. */
export type Stage = Awaited<ReturnType<typeof setUp>>;

/**
 * @param directory for the processor's log and local store
 * @param stops ends what was started, even if a later stage fails
 * @throws {EngineError} with a message that says what to do
 */
export async function setUp(directory: string, stops: AsyncDisposableStack) {
  const sandbox = await startSandbox({ settleMs: SETTLE_MS, approvalMs: APPROVAL_MS, accounts: ACCOUNTS });
  stops.defer(() => sandbox.stop());
  console.log(`Sandbox of the payment service: ${sandbox.baseUrl}`);

  const given = ['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL'].filter((name) => process.env[name]);
  const isExisting = given.length > 0;
  const environment = isExisting
    ? { ...environmentWith(CLIENT_SETTING_NAMES), TOPIC_PREFIX: `payments-demo-${randomUUID().slice(0, 8)}` }
    : { ...environmentWith([]), ...(await startKafka(stops)) };
  const settings = readSettings(environment);
  const { KAFKA_BROKERS, SCHEMA_REGISTRY_URL, TOPIC_PREFIX } = settings;
  if (isExisting) {
    console.log(
      `Kafka (existing): ${KAFKA_BROKERS.join()}; topics and schemas with the prefix ${TOPIC_PREFIX} stay there`,
    );
    console.log(`It is used because ${given.join(' and ')} are set in this shell. ${OWN_KAFKA}`);
  }
  const kafka = createKafka(settings, 'payment-demo', { retry: PATIENT_RETRY });
  await makeTopicsAndSchemas(kafka, settings, isExisting);

  /** The settings of the processor that are not its defaults. */
  const exports = {
    KAFKA_BROKERS: KAFKA_BROKERS.join(),
    SCHEMA_REGISTRY_URL,
    TOPIC_PREFIX,
    KAFKA_GROUP_ID: `${TOPIC_PREFIX}-commands`,
    API_BASE_URL: sandbox.baseUrl,
    API_TOKEN_ID: 'demo',
    API_CLIENT_SECRET: 'demo',
    // Fault rules can cause doubt; this settles it within a few seconds, well before a result counts as missing.
    API_TIMEOUT_MS: '5000',
    SETTLING_TIME_MS: '2000',
    POLL_INTERVAL_MS: '500',
    SANDBOX_COMMANDS: 'true',
  };
  const publisher = stops.adopt(await PaymentCommandPublisher.connect(settings), (it) => it.close());
  const [processor, journal] = await Promise.all([
    startProcessor({ ...environment, ...exports }, directory, stops),
    openJournal(kafka, settings, stops),
  ]);
  void processor.ended.then((code) => journal.end(`the processor ended, with code ${code}`));
  return { sandbox, settings, kafka, exports, publisher, processor, journal };
}

async function startKafka(stops: AsyncDisposableStack): Promise<Environment> {
  const engine = await startEngine({ onProgress: console.log });
  stops.defer(() => engine.stop());
  return { KAFKA_BROKERS: engine.brokers.join(), SCHEMA_REGISTRY_URL: engine.registryUrl };
}

/** Drops all other settings: the user's shell may have them set for another processor. */
function environmentWith(kept: readonly string[]): Environment {
  const dropped = Object.keys(SETTINGS).filter((name) => !kept.includes(name));
  const names = new Set(dropped.flatMap((name) => [name, `${name}_FILE`]));
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !names.has(name)));
}

function readSettings(environment: Environment): Settings {
  const read = readSomeSettings(environment, [...CLIENT_SETTING_NAMES, ...TOPIC_SETTING_NAMES]);
  if (read.ok) return read.config;
  const lines = ['To use an existing Kafka, KAFKA_BROKERS and SCHEMA_REGISTRY_URL must both be set, and rightly:'];
  throw new EngineError([...lines, ...read.problems, OWN_KAFKA].join('\n  '));
}

async function makeTopicsAndSchemas(kafka: Kafka, settings: Settings, isExisting: boolean): Promise<void> {
  try {
    const topics = await createTopics(kafka, settings, { replicationFactor: null, dryRun: false });
    const schemas = await registerSubjects(settings);
    console.log(`${topics.length} topics made, ${schemas.length} schemas registered`);
  } catch (error) {
    const where = isExisting ? `, at the Kafka and registry that this shell names. ${OWN_KAFKA}` : '';
    throw new EngineError(`Topics and schemas could not be made: ${messageOf(error)}${where}`, {
      cause: error,
    });
  }
}

/** As in production: `npm start`, settings from the environment. It cannot outlive this process. */
async function startProcessor(environment: Environment, directory: string, stops: AsyncDisposableStack) {
  const startedAtMs = performance.now();
  const port = String(await freePort());
  const child = await startProcess({
    title: 'The processor',
    program: process.execPath,
    arguments: startArguments(),
    environment: { ...environment, STATE_DIR: join(directory, 'state'), HTTP_HOST: LOOPBACK, HTTP_PORT: port },
    logFile: join(directory, PROCESSOR_LOG),
    workingDirectory: process.cwd(),
  });
  stops.defer(() => child.end(PROCESSOR_STOP_MS_MAX));
  const url = `http://${LOOPBACK}:${port}`;
  await waitUntilReady(child, httpProbe(`${url}/health/ready`));
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  console.log(`Processor: ready after ${seconds} s (process ${child.pid}, ${url})`);
  return { url, ended: child.ended };
}

/** @returns a journal of every result, status change and dead letter from now on */
async function openJournal(kafka: Kafka, settings: Settings, stops: AsyncDisposableStack): Promise<Journal> {
  const journal = new Journal();
  const readers = await Promise.all([
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
      onRecord: ({ key, headers, value }) =>
        journal.add({ kind: 'dead-letter', key: key?.toString() ?? '(no key)', headers, value }),
    }),
  ]);
  for (const reader of readers) {
    reader.ended.catch((error: unknown) => journal.end(`reading from Kafka failed: ${messageOf(error)}`));
    stops.defer(() => reader.close());
  }
  return journal;
}
