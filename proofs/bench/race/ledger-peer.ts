/**
 * The least that a ledger costs: kafkajs in batches as in peer.ts, and around each call the records of a processor that can say
 * afterwards what became of it. No store, no schemas, no checks, no owners, nothing found again after a crash: it shows what of the
 * processor's cost is the writing itself. For comparison alone.
 *
 *   waiting     as many commands as the processor may have intents
 *   intended    the command is in the ledger, committed
 *   called
 *   done        result, ledger entry, status change and the transaction's state, committed
 *
 * One producer for all partitions: what is ready goes into the next transaction. Offsets are committed by the consumer.
 *
 * Settings: KAFKA_BROKERS, GROUP_ID, COMMAND_TOPIC, RESULT_TOPIC, LEDGER_TOPIC, STATUS_TOPIC, API_BASE_URL, SLOTS, PARTITIONS.
 */
import { randomUUID } from 'node:crypto';
import kafkajs, { type KafkaMessage } from 'kafkajs';
import { Calls } from './peer-calls.ts';

process.env['KAFKAJS_NO_PARTITIONER_WARNING'] = '1';
const INTENTS_MAX = 1_000;
const RECORDS_MAX = 4_000;

interface PeerRecord {
  readonly topic: string;
  readonly partition: number;
  readonly key: string;
  readonly value: string | Buffer | null;
}

const environment = (name: string): string => process.env[name] ?? '';
const slots = Number(environment('SLOTS'));
const partitions = Number(environment('PARTITIONS'));
const [ledger, results, statuses] = ['LEDGER_TOPIC', 'RESULT_TOPIC', 'STATUS_TOPIC'].map(environment) as [
  string,
  string,
  string,
];
const calls = new Calls(environment('API_BASE_URL'), slots);
const kafka = new kafkajs.Kafka({
  clientId: 'ledger-peer',
  brokers: environment('KAFKA_BROKERS').split(','),
  logLevel: kafkajs.logLevel.NOTHING,
});
const producer = kafka.producer({ transactionalId: randomUUID(), idempotent: true, maxInFlightRequests: 1 });
const consumer = kafka.consumer({ groupId: environment('GROUP_ID'), maxWaitTimeInMs: 100 });
let gathered: { readonly records: readonly PeerRecord[]; readonly done: () => void }[] = [];
let isCommitting = false;
let intents = 0;
const waiting: (() => void)[] = [];

await Promise.all([producer.connect(), consumer.connect()]);
await consumer.subscribe({ topics: [environment('COMMAND_TOPIC')], fromBeginning: true });
await consumer.run({
  partitionsConsumedConcurrently: partitions,
  eachBatch: async ({ batch: { messages, partition } }) => {
    await Promise.all(messages.map((message) => handled(message, partition)));
  },
});
process.on('SIGTERM', () => process.exit(0));
console.log('ready');

async function handled({ key: bytes, value }: KafkaMessage, partition: number): Promise<void> {
  while (intents >= INTENTS_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
  intents += 1;
  const key = bytes?.toString() ?? '';
  const command = JSON.parse(value?.toString() ?? '{}') as object;
  const attemptId = randomUUID();
  const intent = JSON.stringify({ key, state: 'INTENT', attemptId, command });
  await committed([{ topic: ledger, partition, key, value: intent }]);
  const { statusCode, body } = await calls.transferIn(key, value);
  const transaction = JSON.parse(body) as { id: string; status: string };
  const result = JSON.stringify({ outcome: statusCode < 300 ? 'ACCEPTED' : 'REFUSED', transaction });
  const { id, status } = transaction;
  await committed([
    { topic: results, partition, key, value: result },
    { topic: ledger, partition, key, value: JSON.stringify({ key, state: 'DONE', result }) },
    { topic: statuses, partition, key: id, value: JSON.stringify({ transaction }) },
    { topic: ledger, partition, key: id, value: JSON.stringify({ id, status, observedMs: Date.now() }) },
  ]);
  intents -= 1;
  waiting.shift()?.();
}

function committed(records: readonly PeerRecord[]): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  gathered.push({ records, done: () => resolve(null) });
  if (!isCommitting) void commit();
  return promise;
}

/** One transaction after the other, while there is anything. */
async function commit(): Promise<void> {
  isCommitting = true;
  while (gathered.length > 0) {
    await new Promise(setImmediate);
    const together = gathered.slice(0, RECORDS_MAX);
    gathered = gathered.slice(RECORDS_MAX);
    const transaction = await producer.transaction();
    const byTopic = Map.groupBy(
      together.flatMap(({ records }) => records),
      ({ topic }) => topic,
    );
    await transaction.sendBatch({
      topicMessages: [...byTopic].map(([topic, messages]) => ({ topic, messages })),
    });
    await transaction.commit();
    for (const { done } of together) done();
  }
  isCommitting = false;
}
