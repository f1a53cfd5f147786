/** While credentials, base URL or the service as a whole are wrong, no change is sent, and it is said why (invariant I5). */
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { always, EMPTY_PAGE, httpAnswer, servingReads, startScriptedService, type Script } from './scripted-service.ts';
import {
  CLIENT_SECRET,
  paymentApi,
  scriptedService,
  startedPair,
  TOKEN_ID,
  transferIn,
  TRANSACTION_BODY,
  whenApi,
} from './payment-api-in-test.ts';

const KEY = { idempotencyKey: 'key-1' };
const serving = servingReads(always(200, TRANSACTION_BODY));
const PAGE = '<html><body>It works</body></html>';

test('before the first check nothing is sent', async () => {
  const service = await scriptedService(serving);
  const api = paymentApi(service.baseUrl);
  expect(api.state()).toEqual({ kind: 'unchecked' });
  expect(api.allowance('transfer-in')).toBe(0);
  expect((await api.perform(transferIn, KEY)).kind).toBe('never-sent');
  await api.start();
  expect(api.state()).toEqual({ kind: 'serving' });
  expect(api.closure('transfer-in')).toBeNull();
  expect(api.allowance('transfer-in')).toBe(Infinity);
});

describe('at the start the service is held, with the reason, and released by itself', () => {
  const cases: [string, Script, RegExp][] = [
    ['wrong credentials', always(401, '{"code":"UNAUTHORIZED"}'), /credentials.*API_TOKEN_ID/],
    ['credentials without the right', always(403, '{}'), /not allowed to list transactions/],
    ['a wrong version segment', always(404, '{"code":"NOT_FOUND"}'), /version segment.*API_BASE_URL/],
    ['another method needed', always(405, ''), /API_BASE_URL/],
    ['a page instead of the service', always(200, PAGE), /not the payment service/],
    ['JSON of something else', always(200, '{"hello":"world"}'), /not the payment service/],
    ['a redirect', always(302, '', { location: 'https://login.example/x?y=z' }), /wrong base URL.*login\.example/],
    ['a list request refused', always(400, '{}'), /HTTP 400/],
    ['an outage', always(503, '{}'), /cannot be reached.*503/],
    ['a rate limit', always(429, '{}', { 'retry-after': '0' }), /asks us to wait/],
    ['a dropped connection', (_request, socket) => void socket.resetAndDestroy(), /cannot be reached/],
  ];
  test.each(cases)('%s', async (_name, script, reason) => {
    const { service, api } = await startedPair(script);
    const state = api.state();
    expect(state).toMatchObject({ kind: 'held', reason: expect.stringMatching(reason) as string });
    expect(api.closure('create-quote')).toMatchObject({
      cause: 'held',
      reason: expect.stringMatching(reason) as string,
    });
    expect(api.allowance('create-quote')).toBe(0);
    expect((await api.perform(transferIn, KEY)).kind).toBe('never-sent');
    expect(await api.listTransactions({})).toMatchObject({ kind: 'failed', cause: 'held' });
    expect(service.requestsOf('POST')).toEqual([]);
    service.script(serving);
    await whenApi(api, () => api.state().kind === 'serving');
    expect((await api.perform(transferIn, KEY)).kind).toBe('accepted');
  });

  test('a service that is not there yet', async () => {
    const first = await startScriptedService(serving);
    const port = Number(new URL(first.origin).port);
    await first.stop();
    const api = paymentApi(first.baseUrl);
    await api.start();
    expect(api.state()).toMatchObject({ kind: 'held', reason: expect.stringContaining('ECONNREFUSED') as string });
    await scriptedService(serving, { port });
    await whenApi(api, () => api.state().kind === 'serving');
  });
});

test('a change answered 401 holds the service until a check of its own succeeds', async () => {
  const { service, api } = await startedPair(servingReads(always(401, '{}')));
  expect((await api.perform(transferIn, KEY)).kind).toBe('unauthorized');
  expect(api.state()).toMatchObject({ kind: 'held', reason: expect.stringContaining('credentials') as string });
  service.script(serving);
  await whenApi(api, () => api.state().kind === 'serving');
  expect((await api.perform(transferIn, KEY)).kind).toBe('accepted');
});

describe('a change answered 403, 404 or 405', () => {
  test.each([403, 404, 405])('%i is this command alone where a GET succeeds', async (httpStatus) => {
    const { api } = await startedPair(servingReads(always(httpStatus, '{"code":"X_NOT_FOUND","message":"m"}')));
    expect(await api.perform(transferIn, KEY)).toMatchObject({
      kind: 'not-here',
      httpStatus,
      serviceFails: false,
      error: { code: 'X_NOT_FOUND' },
    });
    expect(api.state().kind).toBe('serving');
  });

  test.each([
    ['fails alike', always(404, 'nothing here')],
    ['is answered 401', always(401, '{}')],
    ['finds an outage', always(502, PAGE)],
    ['gets a page', always(200, PAGE)],
  ])('holds the service where a GET %s', async (_name, script) => {
    const { service, api } = await startedPair(serving);
    service.script((request, socket) => {
      if (request.method === 'POST') socket.write(httpAnswer(404, 'nothing here'));
      else script(request, socket);
    });
    expect(await api.perform(transferIn, KEY)).toMatchObject({ kind: 'not-here', serviceFails: true });
    expect(api.state().kind).toBe('held');
  });

  test('waits where the service asks a GET to wait', async () => {
    const { service, api } = await startedPair(serving);
    service.script((request, socket) => {
      if (request.method === 'POST') socket.write(httpAnswer(404, '{"code":"X_NOT_FOUND"}'));
      else socket.write(httpAnswer(429, '', { 'retry-after': '2' }));
    });
    expect(await api.perform(transferIn, KEY)).toMatchObject({
      kind: 'told-to-wait',
      httpStatus: 404,
      retryAfterMs: 2000,
    });
    expect(api.state().kind).toBe('serving');
  });

  test('is judged by a GET that began after it, not by one under way', async () => {
    const { service, api } = await startedPair(serving);
    const heldGet = Promise.withResolvers<() => void>();
    let gets = 0;
    service.script((request, socket) => {
      if (request.method === 'POST') socket.write(httpAnswer(404, '{"code":"X_NOT_FOUND"}'));
      else if ((gets += 1) === 1) heldGet.resolve(() => socket.write(httpAnswer(200, EMPTY_PAGE)));
      else socket.write(httpAnswer(404, 'nothing here'));
    });
    const first = api.perform(transferIn, { idempotencyKey: 'first' });
    const answerFirstGet = await heldGet.promise;
    const postsBefore = service.requestsOf('POST').length;
    const second = api.perform(transferIn, { idempotencyKey: 'second' });
    const listed = api.listTransactions({ limit: 7 });
    // The list goes by another connection; its answer comes well after the second change was answered.
    expect(await listed).toMatchObject({ kind: 'failed', cause: 'refused' });
    expect(service.requestsOf('POST')).toHaveLength(postsBefore + 1);
    answerFirstGet();
    expect(await first).toMatchObject({ kind: 'not-here', serviceFails: false });
    expect(await second).toMatchObject({ kind: 'not-here', serviceFails: true });
  });

  test('shares its GET with others that came together', async () => {
    const { service, api } = await startedPair(serving);
    const waiting: Socket[] = [];
    service.script(
      servingReads((_request, socket) => {
        if (waiting.push(socket) < 8) return;
        for (const each of waiting) each.write(httpAnswer(404, '{"code":"X_NOT_FOUND"}'));
      }),
    );
    const getsBefore = service.requestsOf('GET').length;
    const calls = Array.from({ length: 8 }, (_, index) => api.perform(transferIn, { idempotencyKey: `k${index}` }));
    expect((await Promise.all(calls)).map((reading) => reading.kind)).toEqual(Array(8).fill('not-here'));
    expect(service.requestsOf('GET').length - getsBefore).toBeLessThan(8);
    const lastPost = service.requests.findLastIndex((request) => request.method === 'POST');
    const lastGet = service.requests.findLastIndex((request) => request.method === 'GET');
    expect(lastGet).toBeGreaterThan(lastPost);
  });
});

test('a redirected change holds the service only where a GET fails as well', async () => {
  const { service, api } = await startedPair(servingReads(always(302, '')));
  expect((await api.perform(transferIn, KEY)).kind).toBe('redirected');
  expect(api.state().kind).toBe('serving');
  service.script(always(302, ''));
  expect((await api.perform(transferIn, KEY)).kind).toBe('redirected');
  expect(api.state()).toMatchObject({ kind: 'held', reason: expect.stringContaining('wrong base URL') as string });
});

test('a list answered 401 leads to a check, and to the hold', async () => {
  const { service, api } = await startedPair(serving);
  service.script(always(401, '{}'));
  expect(await api.listTransactions({})).toMatchObject({ kind: 'failed', cause: 'unauthorized' });
  await whenApi(api, () => api.state().kind === 'held');
});

test('reasons, logs and reports hold no credentials, accounts or bodies (invariant I9)', async () => {
  const told: unknown[] = [];
  const overrides = {
    log: (...entry: unknown[]) => void told.push(entry),
    onCall: (report: unknown) => void told.push(report),
    breakerErrorPercent: 1,
  };
  const { service, api } = await startedPair(always(401, `{"message":"no ${TOKEN_ID} body-text"}`), overrides);
  told.push(api.state(), api.closure('transfer-in'));
  service.script(serving);
  await whenApi(api, () => api.state().kind === 'serving');
  for (const script of [
    always(503, 'body-text'),
    always(404, '{"code":"body-text"}'),
    always(302, '', { location: 'http://a:body-text@x/' }),
  ]) {
    service.script(servingReads(script));
    for (let index = 0; index < 6; index += 1) await api.perform(transferIn, KEY);
    told.push(api.snapshot());
  }
  const text = JSON.stringify(told);
  expect(told.length).toBeGreaterThan(10);
  for (const secret of [
    TOKEN_ID,
    CLIENT_SECRET,
    Buffer.from(`${TOKEN_ID}:${CLIENT_SECRET}`).toString('base64'),
    'ExternalAccount',
    'body-text',
    'key-1',
  ]) {
    expect(text).not.toContain(secret);
  }
});

test('the check asks for one transaction', async () => {
  const { service } = await startedPair(always(200, EMPTY_PAGE));
  expect(service.requests.map((request) => request.path)).toEqual(['/2025-10-13/transactions?limit=1']);
});

test.each([
  ['away', httpAnswer(503, '{}')],
  ['cut off within its body', httpAnswer(200, EMPTY_PAGE).slice(0, -10)],
])('a 404 by the service while its list is %s holds nothing, and is no reason to stand aside', async (_how, list) => {
  const { service, api } = await startedPair(serving);
  service.script((request, socket) => {
    if (request.method !== 'GET') socket.write(httpAnswer(404, '{"code":"TRANSACTION_NOT_FOUND"}'));
    else socket.write(list, () => void setTimeout(() => socket.destroy(), 20));
  });
  expect(await api.perform(transferIn, KEY)).toMatchObject({ kind: 'told-to-wait', httpStatus: 404 });
  expect(service.requestsOf('GET').length).toBeGreaterThan(1);
  expect([api.state(), api.unserved()]).toEqual([{ kind: 'serving' }, null]);
});
