/**
 * Consumers as a good team writes them with kafkajs and without a ledger: at least once, a result for each command, the offset
 * committed after it. Both call with the command's key. For comparison alone.
 *
 *   each-message  a message at a time in each partition, all partitions at once
 *   each-batch    a batch at a time in each partition: its calls in parallel, within the slots; its results in one request
 *
 * Settings: PEER, KAFKA_BROKERS, GROUP_ID, COMMAND_TOPIC, RESULT_TOPIC, API_BASE_URL, SLOTS, PARTITIONS.
 */
import kafkajs, { type KafkaMessage } from 'kafkajs';
import { Pool } from 'undici';

process.env['KAFKAJS_NO_PARTITIONER_WARNING'] = '1';
const CALL_TIMEOUT_MS = 10_000;

const environment = (name: string): string => process.env[name] ?? '';
const slots = Number(environment('SLOTS'));
const base = new URL(environment('API_BASE_URL'));
const service = new Pool(base.origin, { connections: slots });
const kafka = new kafkajs.Kafka({
  clientId: 'peer',
  brokers: environment('KAFKA_BROKERS').split(','),
  logLevel: kafkajs.logLevel.NOTHING,
});
const producer = kafka.producer({ idempotent: true });
const consumer = kafka.consumer({ groupId: environment('GROUP_ID'), maxWaitTimeInMs: 100 });
const topic = environment('RESULT_TOPIC');
const waiting: (() => void)[] = [];
let free = slots;

await Promise.all([producer.connect(), consumer.connect()]);
await consumer.subscribe({ topics: [environment('COMMAND_TOPIC')], fromBeginning: true });
const partitionsConsumedConcurrently = Number(environment('PARTITIONS'));
if (environment('PEER') === 'each-message') {
  await consumer.run({
    partitionsConsumedConcurrently,
    eachMessage: async ({ message }) => {
      await producer.send({ topic, messages: [await handled(message)] });
    },
  });
} else {
  await consumer.run({
    partitionsConsumedConcurrently,
    eachBatch: async ({ batch: { messages } }) => {
      await producer.send({ topic, messages: await Promise.all(messages.map(handled)) });
    },
  });
}
process.on('SIGTERM', () => process.exit(0));
console.log('ready');

async function handled({ key, value }: KafkaMessage): Promise<{ key: Buffer | null; value: string }> {
  await slot();
  try {
    const { body, statusCode } = await service.request({
      path: `${base.pathname.replace(/\/$/, '')}/transfer-in`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key?.toString() ?? '' },
      body: value,
      bodyTimeout: CALL_TIMEOUT_MS,
      headersTimeout: CALL_TIMEOUT_MS,
    });
    const transaction = (await body.json()) as object;
    return { key, value: JSON.stringify({ outcome: statusCode < 300 ? 'ACCEPTED' : 'REFUSED', transaction }) };
  } finally {
    free += 1;
    waiting.shift()?.();
  }
}

async function slot(): Promise<void> {
  while (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
  free -= 1;
}
