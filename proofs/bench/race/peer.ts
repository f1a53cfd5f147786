/**
 * A consumer as a good team writes it with kafkajs and without a ledger: at least once, a batch at a time in each partition; its
 * calls in parallel within the slots, with the command's key; its results in one request, then the offset. For comparison alone.
 *
 * Settings: KAFKA_BROKERS, GROUP_ID, COMMAND_TOPIC, RESULT_TOPIC, API_BASE_URL, SLOTS, PARTITIONS.
 */
import kafkajs, { type KafkaMessage } from 'kafkajs';
import { Pool } from 'undici';

process.env['KAFKAJS_NO_PARTITIONER_WARNING'] = '1';
const CALL_TIMEOUT_MS = 10_000;

const environment = (name: string): string => process.env[name] ?? '';
const base = new URL(environment('API_BASE_URL'));
// Further calls wait for a connection.
const service = new Pool(base.origin, { connections: Number(environment('SLOTS')) });
const kafka = new kafkajs.Kafka({
  clientId: 'peer',
  brokers: environment('KAFKA_BROKERS').split(','),
  logLevel: kafkajs.logLevel.NOTHING,
});
const producer = kafka.producer({ idempotent: true });
const consumer = kafka.consumer({ groupId: environment('GROUP_ID'), maxWaitTimeInMs: 100 });
const topic = environment('RESULT_TOPIC');

await Promise.all([producer.connect(), consumer.connect()]);
await consumer.subscribe({ topics: [environment('COMMAND_TOPIC')], fromBeginning: true });
await consumer.run({
  partitionsConsumedConcurrently: Number(environment('PARTITIONS')),
  eachBatch: async ({ batch: { messages } }) => {
    await producer.send({ topic, messages: await Promise.all(messages.map(handled)) });
  },
});
process.on('SIGTERM', () => process.exit(0));
console.log('ready');

async function handled({ key, value }: KafkaMessage): Promise<{ key: Buffer | null; value: string }> {
  const { statusCode, body } = await service.request({
    path: `${base.pathname.replace(/\/$/, '')}/transfer-in`,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key?.toString() ?? '' },
    body: value,
    bodyTimeout: CALL_TIMEOUT_MS,
    headersTimeout: CALL_TIMEOUT_MS,
  });
  const transaction = await body.json();
  return { key, value: JSON.stringify({ outcome: statusCode < 300 ? 'ACCEPTED' : 'REFUSED', transaction }) };
}
