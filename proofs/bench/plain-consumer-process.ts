/**
 * What is usually written: read a message, call the service, produce the result, commit the offset. Careful in the usual
 * ways (an idempotent producer, a commit per message, a time-out, three tries) and without a ledger. For comparison alone.
 *
 * Settings: KAFKA_BROKERS, GROUP_ID, COMMAND_TOPICS (name=topic, comma-separated), RESULT_TOPIC, API_BASE_URL,
 * API_CREDENTIALS, SEND_KEYS (true: the command's key goes out as Idempotency-Key).
 */
import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { parseLossless, stringifyLossless } from '../../src/records/lossless-json.ts';

process.env['KAFKAJS_NO_PARTITIONER_WARNING'] = '1';
const CALL_TIMEOUT_MS = 1_500;
const TRIES = 3;
const TRY_AGAIN_MS = 200;
/** As many messages at once as there are lanes. */
const PARTITIONS_AT_ONCE = 3;

type Fields = Record<string, unknown>;

const environment = (name: string): string => process.env[name] ?? '';
const types = new Map(
  environment('COMMAND_TOPICS')
    .split(',')
    .map((pair) => [pair.slice(pair.indexOf('=') + 1), pair.slice(0, pair.indexOf('='))]),
);
const kafka = new kafkajs.Kafka({
  clientId: 'plain-consumer',
  brokers: environment('KAFKA_BROKERS').split(','),
  logLevel: kafkajs.logLevel.NOTHING,
});
const producer = kafka.producer({ idempotent: true });
const consumer = kafka.consumer({
  groupId: environment('GROUP_ID'),
  sessionTimeout: 6_000,
  heartbeatInterval: 1_000,
  maxWaitTimeInMs: 250,
});

await Promise.all([producer.connect(), consumer.connect()]);
await consumer.subscribe({ topics: [...types.keys()], fromBeginning: true });
await consumer.run({
  autoCommit: false,
  partitionsConsumedConcurrently: PARTITIONS_AT_ONCE,
  eachMessage: async ({ topic, partition, message }) => {
    const key = message.key?.toString() ?? '';
    const fields = parseLossless(message.value?.toString() ?? '') as Fields;
    const outcome = await handle(types.get(topic) ?? '', key, fields);
    await producer.send({
      topic: environment('RESULT_TOPIC'),
      messages: [{ key, value: JSON.stringify({ outcome }) }],
    });
    await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(message.offset) + 1n) }]);
  },
});

async function handle(type: string, key: string, fields: Fields): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    try {
      const status = await call(type, key, fields);
      if (status < 300) return 'SUCCEEDED';
      if (status < 500) return 'FAILED';
    } catch {
      // No answer: the usual code tries again.
    }
    if (tries === TRIES) return 'FAILED';
    await delay(TRY_AGAIN_MS);
  }
}

async function call(type: string, key: string, fields: Fields): Promise<number> {
  const { path, body } = requestOf(type, fields);
  const response = await fetch(`${environment('API_BASE_URL')}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(environment('API_CREDENTIALS')).toString('base64')}`,
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(environment('SEND_KEYS') === 'true' ? { 'idempotency-key': key } : {}),
    },
    ...(body === null ? {} : { body: stringifyLossless(body) }),
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  });
  await response.arrayBuffer();
  return response.status;
}

function requestOf(type: string, fields: Fields): { path: string; body: object | null } {
  switch (type) {
    case 'execute-quote':
      return { path: `/quotes/${encodeURIComponent(String(fields['quoteId']))}/execute`, body: null };
    case 'reject-transaction':
      return {
        path: `/transactions/${encodeURIComponent(String(fields['transactionId']))}/reject`,
        body: { reason: fields['reason'] },
      };
    case 'transfer-in':
      return { path: '/transfer-in', body: fields };
    default:
      throw new Error(`no call is known for ${type}`);
  }
}
