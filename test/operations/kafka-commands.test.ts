/** The runbooks' Kafka commands, as pasted: with Kafka's own tools, at a broker with TLS and authorization. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { KAFKA_TOOLS, kafkaToolsJava } from 'payment-processor-local-kafka/kafka-tools';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import { createKafka, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { plainKafkaSettings } from '../support/kafka-settings.ts';
import { ROOT } from './tools.ts';

const RUNBOOKS = join(ROOT, 'docs/runbooks');
const TOPIC = 'runbook-commands';
/** Allows for downloading the tools, once. */
const INSTALL_MS_MAX = 300_000;

const texts = await Promise.all((await readdir(RUNBOOKS)).map((file) => readFile(join(RUNBOOKS, file), 'utf8')));
const commands = [
  ...new Set(texts.flatMap((text) => [...text.matchAll(/^ *(kafka-\S+\.sh .*)$/gm)].map(([, line = '']) => line))),
]
  // Once aborted, the transaction is gone for the other commands.
  .sort((left, right) => Number(left.includes(' abort ')) - Number(right.includes(' abort ')));
let folder: string;
let tools: Awaited<ReturnType<typeof kafkaToolsJava>>;
let endTransaction: () => Promise<void>;

beforeAll(async () => {
  tools = await kafkaToolsJava(console.info);
  const { brokers, certificates } = inject('secured');
  folder = await mkdtemp(join(tmpdir(), 'runbook-commands-'));
  const properties = ['security.protocol=SSL', 'ssl.truststore.type=PEM', `ssl.truststore.location=${certificates.ca}`];
  await writeFile(join(folder, 'admin.properties'), properties.join('\n'));
  const kafka = createKafka(plainKafkaSettings(brokers), 'runbook-commands', { retry: LANE_RETRY });
  await makeUsableTopics(kafka, [{ topic: TOPIC }]);
  const producer = kafka.producer({ transactionalId: TOPIC, idempotent: true });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic: TOPIC, messages: [{ partition: 0, value: 'left open' }] });
  endTransaction = () => producer.disconnect();
}, INSTALL_MS_MAX);

afterAll(async () => {
  await endTransaction();
  await rm(folder, { recursive: true, force: true });
});

test('use only tools that we have', () => {
  expect(commands.length).toBeGreaterThan(5);
  const tools = new Set(commands.map((command) => command.split(' ')[0] ?? ''));
  expect([...tools].filter((tool) => !(tool in KAFKA_TOOLS))).toEqual([]);
});

test.each(commands)('%s', async (command) => {
  const [tool = '', ...parameters] = command
    .replace('"$KAFKA_BROKERS"', `127.0.0.1:${inject('secured').ports.ssl}`)
    .replace('admin.properties', join(folder, 'admin.properties'))
    .replace('TOPIC', TOPIC)
    .replace('LANE', '0')
    .replace(/\bID\b/, '1')
    .replace('OFFSET', '0')
    .split(' ');
  const { stdout } = await promisify(execFile)(tools.java, [...tools.flags, KAFKA_TOOLS[tool] ?? tool, ...parameters]);
  if (parameters.includes('describe-producers')) expect(stdout).toMatch(/LatestCoordinatorEpoch|ProducerId/);
});
