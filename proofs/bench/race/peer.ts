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
import { Calls } from './peer-calls.ts';

process.env['KAFKAJS_NO_PARTITIONER_WARNING'] = '1';

const environment = (name: string): string => process.env[name] ?? '';
const calls = new Calls(environment('API_BASE_URL'), Number(environment('SLOTS')));
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
  const { statusCode, body } = await calls.transferIn(key?.toString() ?? '', value);
  const transaction = JSON.parse(body) as object;
  return { key, value: JSON.stringify({ outcome: statusCode < 300 ? 'ACCEPTED' : 'REFUSED', transaction }) };
}
