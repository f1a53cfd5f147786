/** What reaches the service, as read from the socket. Its fields and paths: test/contract/values.test.ts. */
import { expect, test } from 'vitest';
import type { ChangeRequest } from '../../src/api/types.ts';
import { always, EMPTY_PAGE, httpAnswer, servingReads, VERSION_SEGMENT, type SeenRequest } from './scripted-service.ts';
import {
  CLIENT_SECRET,
  createQuote,
  oneOfEach,
  paymentApi,
  scriptedService,
  startedPair,
  TOKEN_ID,
  TRANSACTION_BODY,
} from './payment-api-in-test.ts';

const answering = servingReads(always(200, TRANSACTION_BODY));

async function sent(request: ChangeRequest): Promise<SeenRequest> {
  const { service, api } = await startedPair(answering);
  await api.perform(request, { idempotencyKey: 'key-1' });
  return service.requestsOf('POST')[0]!;
}

test('a change is posted with credentials, key and JSON', async () => {
  const seen = await sent(oneOfEach['transfer-in']);
  expect(seen.headers).toMatchObject({
    authorization: `Basic ${Buffer.from(`${TOKEN_ID}:${CLIENT_SECRET}`, 'utf8').toString('base64')}`,
    'idempotency-key': 'key-1',
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'payment-processor',
  });
  const executed = await sent(oneOfEach['execute-quote']);
  expect(executed.headers).toMatchObject({ 'idempotency-key': 'key-1', 'content-length': '0' });
  expect(executed.headers['content-type']).toBeUndefined();
});

test('a quote that is to be executed at once says so', async () => {
  const { body } = await sent({ ...createQuote, fields: { ...createQuote.fields, immediatelyExecute: true } });
  expect(JSON.parse(body)).toMatchObject({ immediatelyExecute: true });
});

test('further fields of an account are sent as they are, and a named one wins', async () => {
  const otherFieldsJson = '{"umaAddress":"$a@b.example","limit":12345678901234567890,"destinationType":"OTHER"}';
  const destination = { destinationType: 'UMA_ADDRESS', accountId: null, otherFieldsJson };
  const { body } = await sent({ ...createQuote, fields: { ...createQuote.fields, destination } });
  expect(body).toContain(
    '"destination":{"umaAddress":"$a@b.example","limit":12345678901234567890,"destinationType":"UMA_ADDRESS"}',
  );
});

test.each(['{', '[]', '"text"'])('a command whose further fields are %s is never sent', async (otherFieldsJson) => {
  const { service, api } = await startedPair(answering);
  const source = { ...createQuote.fields.source, otherFieldsJson };
  const reading = await api.perform(
    { ...createQuote, fields: { ...createQuote.fields, source } },
    { idempotencyKey: 'k' },
  );
  expect(reading.kind).toBe('never-sent');
  expect(service.requestsOf('POST')).toEqual([]);
});

test.each(['', 'a b', 'a\nb', 'ä'])('a key %j that cannot be a header is never sent', async (idempotencyKey) => {
  const { service, api } = await startedPair(answering);
  expect((await api.perform(oneOfEach['transfer-in'], { idempotencyKey })).kind).toBe('never-sent');
  expect(service.requestsOf('POST')).toEqual([]);
});

test.each([
  ['..', '%2E%2E'],
  ['.', '%2E'],
  ['a/../b', 'a%2F..%2Fb'],
  ['a?b#c%d', 'a%3Fb%23c%25d'],
  ['é 😀', '%C3%A9%20%F0%9F%98%80'],
  ['\ud800', '%EF%BF%BD'],
  ['x\r\nhost: evil', 'x%0D%0Ahost%3A%20evil'],
])('an id %j stays one segment of the path', async (quoteId, segment) => {
  const seen = await sent({ operation: 'execute-quote', fields: { quoteId } });
  expect(seen.path).toBe(`${VERSION_SEGMENT}/quotes/${segment}/execute`);
});

test('a base URL keeps its path prefix, with or without a slash at its end', async () => {
  const service = await scriptedService((_request, socket) => void socket.write(httpAnswer(200, EMPTY_PAGE)));
  for (const end of ['', '/', '//']) {
    await paymentApi(`${service.origin}/gateway/2025-10-13${end}`).start();
  }
  expect(service.requests.map((request) => request.path)).toEqual(
    Array(3).fill('/gateway/2025-10-13/transactions?limit=1'),
  );
});

test('a list sends all 12 filters, encoded', async () => {
  const { service, api } = await startedPair(answering);
  await api.listTransactions({
    sortOrder: 'asc',
    customerId: 'Customer:1',
    platformCustomerId: 'p&q=r',
    senderAccountIdentifier: 's',
    receiverAccountIdentifier: '$a@b',
    status: 'PENDING',
    type: 'INCOMING',
    reference: 'r#1',
    startDate: '2026-01-01T00:00:00+01:00',
    endDate: '2026-01-02T00:00:00Z',
    limit: 100,
    cursor: 'c+/=',
  });
  expect(service.requestsOf('GET').at(-1)?.path).toBe(
    `${VERSION_SEGMENT}/transactions?customerId=Customer%3A1&platformCustomerId=p%26q%3Dr&senderAccountIdentifier=s&receiverAccountIdentifier=%24a%40b&status=PENDING&type=INCOMING&reference=r%231&startDate=2026-01-01T00%3A00%3A00%2B01%3A00&endDate=2026-01-02T00%3A00%3A00Z&limit=100&cursor=c%2B%2F%3D&sortOrder=asc`,
  );
});

test('a list without filters has no query', async () => {
  const { service, api } = await startedPair(answering);
  await api.listTransactions({});
  expect(service.requestsOf('GET').at(-1)?.path).toBe(`${VERSION_SEGMENT}/transactions`);
});
