/** Invariant I9: credentials, account numbers and personal data appear in no log, metric, span or readiness reason. */
import { afterAll, expect, test } from 'vitest';
import { SpanReceiver, tracingTo } from '../support/span-receiver.ts';
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
  collectorToken: 'planted-collector-token',
  key: 'planted-key-',
};

const stack = useStack({
  name: 'quiet',
  sandbox: { tokenId: TOKEN, clientSecret: SECRET },
  settings: { API_TOKEN_ID: TOKEN, API_CLIENT_SECRET: SECRET, LOG_LEVEL: 'trace' },
});

const collector = await SpanReceiver.start();
afterAll(() => collector.close());

test('values planted in settings, commands and answers are nowhere in logs, metrics, spans and readiness', async () => {
  const { publisher, journal, service } = stack();
  const processor = await stack().startProcessor({
    ...tracingTo(collector),
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${PLANTED.collectorToken}`,
  });
  const transfer = {
    source: { accountId: PLANTED.sourceAccount },
    destination: { accountId: PLANTED.destinationAccount },
  };
  await publisher.publish('transfer-in', 'planted-key-accepted', transfer, { correlationId: PLANTED.header });
  await publisher.publish('transfer-in', 'planted-key-refused', {
    ...transfer,
    source: { accountId: PLANTED.refusedAccount },
  });
  await publisher.publish('create-quote', 'planted-key-quote', {
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
  await publisher.publish('simulate-uma-receive', 'planted-key-uma', {
    senderUmaAddress: PLANTED.address,
    receivingCurrencyCode: 'USD',
    receivingCurrencyAmount: 5n,
    customerId: PLANTED.customer,
  });
  const uma = await journal.result('planted-key-uma');
  await publisher.publish('reject-transaction', 'planted-key-reject', {
    transactionId: uma.value.transaction?.id ?? '',
    reason: PLANTED.reason,
  });
  const headers = { 'content-type': 'application/json', 'my-header': PLANTED.header };
  await stack().publishRaw(
    'transfer-in',
    { key: 'planted-key-torn', value: `{"source":{"accountId":"${PLANTED.torn}`, headers },
    { key: 'planted-key-unknown', value: `{"${PLANTED.torn}":"${PLANTED.person}"}`, headers },
    { key: `${PLANTED.torn} ${PLANTED.person}`, value: '{}', headers },
  );
  const keys = [
    'planted-key-accepted',
    'planted-key-refused',
    'planted-key-quote',
    'planted-key-reject',
    'planted-key-torn',
    'planted-key-unknown',
  ];
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
  await publisher.publish('transfer-in', 'planted-key-failing', { ...transfer, amount: 7n });
  await journal.result('planted-key-failing');
  const seen = {
    metrics: await processor.metrics(),
    readiness: JSON.stringify(await processor.readiness()),
    state: await (await fetch(`${processor.httpUrl}/api/state`)).text(),
    group: await (await fetch(`${processor.httpUrl}/api/group`)).text(),
    member: await (await fetch(`${processor.httpUrl}/api/member`)).text(),
  };
  await processor.stop();
  const everything = { log: processor.lines.join('\n'), spans: collector.bodies.join('\n'), ...seen };
  expect(everything.log).toContain('lane-open');
  expect(everything.metrics).toContain('# HELP');
  expect(new Set(collector.spans.map(({ attributes }) => attributes['payments.outcome']))).toContain('REFUSED');
  const found = Object.entries(everything).flatMap(([place, text]) =>
    Object.entries(PLANTED).flatMap(([name, planted]) => (text.includes(planted) ? [`${name} in the ${place}`] : [])),
  );
  expect(found).toEqual([]);
});
