/** Somebody has added partitions to a topic: a key's earlier records stay where they are, and are still found by the key. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { laneOf } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { runCli } from '../../cli/test/run-cli.ts';
import { aTransaction } from '../../../test/ledger/entries.ts';
import { PaymentClient } from '../src/index.ts';
import { createRegistry } from '../src/settings.ts';
import { environmentOf, kafkaOf, LANES, resultOf, sendTo, settingsOf, useResults } from './fixtures.ts';

const { prefix, write } = useResults('added-partitions');
const ADDED = LANES + 2;
/** The number of partitions now leads to another lane. */
const key = ['order-1', 'order-2', 'order-3'].find((name) => laneOf(name, LANES) !== laneOf(name, ADDED)) ?? '';
let client: PaymentClient;

beforeAll(async () => {
  await write(resultOf(key));
  const added = { topic: topicNames(prefix).results, count: ADDED };
  await withAdmin(kafkaOf(prefix), (admin) => admin.createPartitions({ topicPartitions: [added] }));
  client = await PaymentClient.connect(settingsOf(prefix));
});
afterAll(async () => client.close());

test('the client does not say that the key has no result', async () => {
  expect(await client.readResult(key, { timeoutMs: 20_000 })).toMatchObject({ kind: 'result' });
  expect(await client.awaitSettled(key, { timeoutMs: 5_000 })).toMatchObject({ kind: 'open' });
});

test('a client that runs when they are added to the status changes goes on to settle payments', async () => {
  const topic = topicNames(prefix).transactionStatusChanged;
  const registry = createRegistry(settingsOf(prefix));
  await registry.ready(topic);
  // Reads live from here on.
  expect(await client.awaitSettled(key, { timeoutMs: 2_000 })).toMatchObject({ kind: 'open' });
  await withAdmin(kafkaOf(prefix), (admin) => admin.createPartitions({ topicPartitions: [{ topic, count: ADDED }] }));
  // Its result names no transaction: only the status changes show it, of any partition.
  const later = 'order-later';
  await write(resultOf(later, { transaction: null, quote: null }));
  const settled = client.awaitSettled(later, { timeoutMs: 20_000 });
  const transaction = aTransaction({ id: 'Transaction:later', status: 'COMPLETED' });
  const change = {
    ...{ transactionId: transaction.id, type: 'INCOMING', previousStatus: null, status: 'COMPLETED' },
    ...{ failureReason: null, customerId: null, platformCustomerId: null, quoteId: null, changedAt: null },
    ...{ commandKey: later, commandKeys: [later], observedAt: BigInt(Date.now()), observedBy: 'POLL', transaction },
  };
  const headers = { ce_id: 'later', ce_time: new Date().toISOString() };
  const partition = laneOf(transaction.id, LANES);
  await sendTo(kafkaOf(prefix), topic, [
    { key: transaction.id, headers, value: registry.encode(topic, change), partition },
  ]);
  expect(await settled).toMatchObject({ kind: 'settled', status: 'COMPLETED' });
});

test('the command line does not say that nothing about the key exists', async () => {
  const results = await runCli(environmentOf(prefix), 'results', '--key', key);
  expect(results).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`ACCEPTED  transfer-in  ${key}`) as string,
  });
  const show = await runCli(environmentOf(prefix), '--output', 'json', 'show', key);
  expect(show).toMatchObject({ code: 0, documents: [{ payment: { kind: 'open' } }] });
});
