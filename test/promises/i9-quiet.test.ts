/** Invariant I9: credentials, account numbers and personal data appear in no log, metric or readiness reason. */
import { expect, test } from 'vitest';
import { useStack } from '../support/test-stack.ts';

const TOKEN = 'planted-token-id';
const SECRET = 'planted-client-secret';
const PLANTED = {
  TOKEN,
  SECRET,
  credential: Buffer.from(`${TOKEN}:${SECRET}`).toString('base64'),
  sourceAccount: 'ExternalAccount:planted-source-x',
  destinationAccount: 'InternalAccount:planted-destination-x',
  refusedAccount: 'ExternalAccount:planted-refused-002',
  description: 'planted description of a payment',
  person: 'Planted Person',
  address: '$planted@example.com',
  customer: 'Customer:planted-customer',
  reason: 'planted reason of a rejection',
  torn: 'planted-in-torn-json',
  header: 'planted-header',
};

const stack = useStack({
  name: 'quiet',
  sandbox: { tokenId: TOKEN, clientSecret: SECRET },
  settings: { API_TOKEN_ID: TOKEN, API_CLIENT_SECRET: SECRET, LOG_LEVEL: 'trace' },
});

test('what was planted in settings, commands and answers is nowhere in logs, metrics and readiness', async () => {
  const { publisher, journal, service } = stack();
  const processor = await stack().startProcessor();
  const transfer = {
    source: { accountId: PLANTED.sourceAccount },
    destination: { accountId: PLANTED.destinationAccount },
  };
  await publisher.publish('transfer-in', 'k-accepted', transfer, { correlationId: PLANTED.header });
  await publisher.publish('transfer-in', 'k-refused', { ...transfer, source: { accountId: PLANTED.refusedAccount } });
  await publisher.publish('create-quote', 'k-quote', {
    source: { sourceType: 'ACCOUNT', accountId: PLANTED.destinationAccount },
    destination: {
      destinationType: 'UMA_ADDRESS',
      otherFieldsJson: JSON.stringify({ umaAddress: PLANTED.address }),
    },
    lookupId: 'Lookup:1',
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: 1000n,
    description: PLANTED.description,
    senderCustomerInfo: { FULL_NAME: PLANTED.person },
  });
  await publisher.publish('simulate-uma-receive', 'k-uma', {
    senderUmaAddress: PLANTED.address,
    receivingCurrencyCode: 'USD',
    receivingCurrencyAmount: 5n,
    customerId: PLANTED.customer,
  });
  const uma = await journal.result('k-uma');
  await publisher.publish('reject-transaction', 'k-reject', {
    transactionId: uma.value.transaction?.id ?? '',
    reason: PLANTED.reason,
  });
  const headers = { 'content-type': 'application/json', 'my-header': PLANTED.header };
  await stack().publishRaw(
    'transfer-in',
    { key: 'k-torn', value: `{"source":{"accountId":"${PLANTED.torn}`, headers },
    { key: 'k-unknown', value: `{"${PLANTED.torn}":"${PLANTED.person}"}`, headers },
    { key: `${PLANTED.torn} ${PLANTED.person}`, value: '{}', headers },
  );
  const keys = ['k-accepted', 'k-refused', 'k-quote', 'k-reject', 'k-torn', 'k-unknown'];
  const results = await journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual([
    'ACCEPTED',
    'REFUSED',
    'ACCEPTED',
    'ACCEPTED',
    'INVALID',
    'INVALID',
  ]);
  // And what the failing of calls is logged with.
  await service.addFaults(
    { kind: 'drop-after', operation: 'transfer-in', count: 1 },
    { kind: 'status', operation: 'transfer-in', httpStatus: 500, body: `oops ${PLANTED.person}`, count: 2 },
    { kind: 'status', operation: 'any', httpStatus: 401, body: `{"message":"${PLANTED.person}"}`, count: 2 },
  );
  await publisher.publish('transfer-in', 'k-failing', { ...transfer, amount: 7n });
  await journal.result('k-failing');
  const seen = {
    metrics: await processor.metrics(),
    readiness: JSON.stringify(await processor.readiness()),
    state: await (await fetch(`${processor.httpUrl}/api/state`)).text(),
  };
  await processor.stop();
  const everything = { log: processor.lines.join('\n'), ...seen };
  expect(everything.log).toContain('lane-open');
  expect(everything.metrics).toContain('# HELP');
  const found = Object.entries(everything).flatMap(([place, text]) =>
    Object.entries(PLANTED).flatMap(([name, planted]) => (text.includes(planted) ? [`${name} in the ${place}`] : [])),
  );
  expect(found).toEqual([]);
});
