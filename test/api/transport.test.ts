/**
 * The reading of a call when the network or the service misbehaves: never sent only if no byte can have arrived, in
 * doubt otherwise (invariant I10), and no request ever written twice (invariant I2).
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from 'payment-processor-contract/clock';
import { createHttpClient, type HttpClient, type HttpRequest } from '../../src/api/client.ts';
import { always, EMPTY_PAGE, httpAnswer, servingReads, type Script } from './scripted-service.ts';
import { paymentApi, scriptedService, startedPair, transferIn, TRANSACTION_BODY } from './payment-api-in-test.ts';

const KEY = { idempotencyKey: 'key-1' };
const POST: HttpRequest = { method: 'POST', path: '/transfer-in', body: '{}', headers: {}, maxBodyBytes: 1000 };

function httpClient(baseUrl: string, concurrency = 4): HttpClient {
  const client = createHttpClient({
    baseUrl,
    credentials: () => ({ tokenId: 'a', clientSecret: 'b' }),
    concurrency,
    connectTimeoutMs: 1000,
  });
  onTestFinished(() => client.close());
  return client;
}

test('after our own code failed, a call that was sent is in doubt', async () => {
  let isBroken = false;
  const nowMs = (): number => {
    if (isBroken) throw new TypeError('a bug');
    return Date.now();
  };
  const script = servingReads(always(200, TRANSACTION_BODY));
  const { service, api } = await startedPair(script, { clock: { ...systemClock, nowMs } });
  const reading = await api.perform(transferIn, { ...KEY, onSent: () => (isBroken = true) });
  isBroken = false;
  expect(reading).toMatchObject({ kind: 'doubt', reason: 'an internal error of the processor' });
  expect(service.requestsOf('POST')).toHaveLength(1);
});

describe('never sent', () => {
  test('where the connection is refused', async () => {
    const { service, api } = await startedPair(servingReads(always(200, TRANSACTION_BODY)));
    await service.stop();
    let sent = 0;
    const reading = await api.perform(transferIn, { ...KEY, onSent: () => (sent += 1) });
    expect(reading).toEqual({ kind: 'never-sent', reason: 'ECONNREFUSED' });
    expect(sent).toBe(0);
  });

  test('where the host has no address', async () => {
    const answer = await httpClient('http://host.invalid').call(POST, 3000);
    expect(answer.kind).toBe('never-sent');
  });

  test('where the connection is not set up before the deadline', async () => {
    const silent = await scriptedService(() => undefined, { onConnection: () => true });
    const answer = await httpClient(silent.origin.replace('http:', 'https:')).call(POST, 200);
    expect(answer).toEqual({ kind: 'never-sent', reason: 'no connection within 200 ms' });
  });

  test('where no connection came free before the deadline, and it is not sent later', async () => {
    const service = await scriptedService(() => undefined);
    const client = httpClient(service.baseUrl, 1);
    const calls = Array.from({ length: 12 }, (_, index) => client.call({ ...POST, path: `/${index}` }, 300));
    const answers = await Promise.all(calls);
    await client.close();
    const unsent = answers.flatMap(({ kind }, index) => (kind === 'never-sent' ? [`/${index}`] : []));
    // One that was lost may have been cut off before the service had it.
    expect(answers.filter(({ kind }) => kind === 'lost').length).toBe(12 - unsent.length);
    expect(unsent).not.toEqual([]);
    expect(service.requests.filter(({ path }) => unsent.some((name) => path.endsWith(name)))).toEqual([]);
  });

  test('where the caller objects at the last moment: not a byte leaves', async () => {
    const { service, api } = await startedPair(servingReads(always(200, TRANSACTION_BODY)));
    let sent = 0;
    const hooks = { beforeSending: () => 'the lane is lost', onSent: () => (sent += 1) };
    const readings = [
      await api.perform(transferIn, { ...KEY, ...hooks }),
      await api.perform(transferIn, { ...KEY, ...hooks }),
    ];
    expect(readings).toEqual(Array(2).fill({ kind: 'never-sent', reason: 'the lane is lost' }));
    expect(sent).toBe(0);
    expect(service.requestsOf('POST')).toEqual([]);
    expect((await api.perform(transferIn, KEY)).kind).toBe('accepted');
  });

  test('after the client was closed', async () => {
    const { service, api } = await startedPair(servingReads(always(200, TRANSACTION_BODY)));
    await api.close();
    expect((await api.perform(transferIn, KEY)).kind).toBe('never-sent');
    expect(await api.listTransactions({})).toMatchObject({ kind: 'failed', cause: 'held' });
    expect(service.requestsOf('POST')).toEqual([]);
  });
});

describe('doubt', () => {
  const head = (length: number): string =>
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
  const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const broken: [string, Script][] = [
    ['the connection is reset after the request was read', (_request, socket) => void socket.resetAndDestroy()],
    ['the connection is closed without an answer', (_request, socket) => void socket.end()],
    ['the body ends before its length', (_request, socket) => void socket.end(head(9999) + TRANSACTION_BODY)],
    [
      'the body is reset midway',
      (_request, socket) => void socket.write(head(9999) + '{"id"', () => socket.resetAndDestroy()),
    ],
    ['the last chunk is missing', (_request, socket) => void socket.end(`${chunked}5\r\n{"id"\r\n`)],
    ['the headers are cut', (_request, socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-le')],
    ['the headers never end', (_request, socket) => void socket.write('HTTP/1.1 200 OK\r\n')],
    [
      'the headers are endless',
      (_request, socket) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\n\r\n`),
    ],
    ['nothing comes back', () => undefined],
    ['the body never ends', (_request, socket) => void socket.write(head(9999) + TRANSACTION_BODY)],
    ['the answer is no HTTP', (_request, socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    [
      'the answer switches protocols',
      (_request, socket) => void socket.write('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    ],
    ['the body is a page', always(200, '<html>Welcome</html>', { 'content-type': 'text/html' })],
    ['the body is larger than any transaction', always(200, `{"id":"Transaction:1","x":"${'y'.repeat(600_000)}"}`)],
    ['the status is 204', (_request, socket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n')],
  ];
  test.each(broken)('where %s; asked once', async (_name, script) => {
    const { service, api } = await startedPair(servingReads(script), { timeoutMs: 500 });
    let sent = 0;
    const reading = await api.perform(transferIn, { ...KEY, onSent: () => (sent += 1) });
    expect(reading.kind).toBe('doubt');
    expect(sent).toBe(1);
    expect(service.requestsOf('POST')).toHaveLength(1);
  });

  test('where the request is reset before it was read', async () => {
    const service = await scriptedService(servingReads(always(200, TRANSACTION_BODY)));
    const api = paymentApi(service.baseUrl);
    await api.start();
    const resetting = await scriptedService(() => undefined, {
      onConnection: (socket) => {
        socket.once('data', () => socket.resetAndDestroy());
        return true;
      },
    });
    const answer = await httpClient(resetting.baseUrl).call(POST, 1000);
    expect(answer.kind).toBe('lost');
    expect(resetting.connections()).toBe(1);
  });

  test('where a connection that was idle dies as the request leaves; no second connection carries it', async () => {
    const { service, api } = await startedPair(servingReads(always(200, TRANSACTION_BODY)));
    expect((await api.perform(transferIn, KEY)).kind).toBe('accepted');
    service.script(servingReads((_request, socket) => void socket.resetAndDestroy()));
    expect((await api.perform(transferIn, KEY)).kind).toBe('doubt');
    expect(service.requestsOf('POST')).toHaveLength(2);
  });
});

describe('an answer is read', () => {
  test('where its status came whole and its body did not', async () => {
    const { api } = await startedPair(
      servingReads(
        (_request, socket) => void socket.end('HTTP/1.1 422 Unprocessable\r\ncontent-length: 999\r\n\r\n{"code":"A"'),
      ),
    );
    expect(await api.perform(transferIn, KEY)).toMatchObject({
      kind: 'refused',
      httpStatus: 422,
      error: { code: null },
    });
  });

  test('where it comes in small pieces, after an early hint, and is closed at its end', async () => {
    const { api } = await startedPair(
      servingReads((_request, socket) => {
        const bytes = Buffer.from(
          `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 Created\r\nconnection: close\r\n\r\n${TRANSACTION_BODY.replace('p1', 'é😀')}`,
        );
        const writeFrom = (start: number): void => {
          if (start >= bytes.length) socket.end();
          else socket.write(bytes.subarray(start, start + 7), () => setImmediate(writeFrom, start + 7));
        };
        writeFrom(0);
      }),
    );
    expect(await api.perform(transferIn, KEY)).toMatchObject({
      kind: 'accepted',
      transaction: { platformCustomerId: 'é😀' },
    });
  });

  test('where the service closes each connection after one answer: every call is made once', async () => {
    const { service, api } = await startedPair(
      servingReads((_request, socket) => void socket.end(httpAnswer(200, TRANSACTION_BODY, { connection: 'close' }))),
      { maxConcurrency: 4 },
    );
    const worker = async (name: number): Promise<string[]> => {
      const kinds: string[] = [];
      for (let index = 0; index < 25; index += 1) {
        kinds.push((await api.perform(transferIn, { idempotencyKey: `${name}-${index}` })).kind);
      }
      return kinds;
    };
    const kinds = (await Promise.all([0, 1, 2, 3].map(worker))).flat();
    expect(kinds).toEqual(Array(100).fill('accepted'));
    expect(new Set(service.requestsOf('POST').map((request) => request.headers['idempotency-key'])).size).toBe(100);
    expect(service.requestsOf('POST')).toHaveLength(100);
  });
});

test('a redirect is not followed', async () => {
  const target = await scriptedService(always(200, TRANSACTION_BODY));
  const { service, api } = await startedPair(servingReads(always(307, '', { location: `${target.origin}/login` })));
  expect(await api.perform(transferIn, KEY)).toMatchObject({ kind: 'redirected', httpStatus: 307 });
  expect(target.connections()).toBe(0);
  expect(service.requestsOf('POST')).toHaveLength(1);
});

test('reads do not wait for changes that hang', async () => {
  const { api } = await startedPair(
    servingReads(() => undefined),
    { maxConcurrency: 2, timeoutMs: 1000 },
  );
  const hanging = [1, 2].map((index) => api.perform(transferIn, { idempotencyKey: `${index}` }));
  expect(await api.listTransactions({})).toMatchObject({ kind: 'page', data: [], hasMore: false, totalCount: 0n });
  await Promise.all(hanging);
});

test('closing ends calls that hang, in bounded time, and leaves no timer or socket', async () => {
  const { service, api } = await startedPair(
    servingReads(() => undefined),
    { timeoutMs: 60_000 },
  );
  const hanging = api.perform(transferIn, KEY);
  await api.close();
  expect((await hanging).kind).toBe('doubt');
  await service.stop();
  expect(process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap')).toEqual([]);
});

test('calls that ended leave no timer', async () => {
  const { api } = await startedPair(servingReads(always(200, TRANSACTION_BODY)), { timeoutMs: 60_000 });
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  for (let index = 0; index < 50; index += 1) await api.perform(transferIn, KEY);
  expect(timers() - before).toBeLessThan(10);
});

describe('a list', () => {
  test.each([
    ['nextCursor absent', '{"data":[],"hasMore":false}', { hasMore: false, nextCursor: null, totalCount: null }],
    ['nextCursor null', '{"data":[],"hasMore":false,"nextCursor":null}', { hasMore: false, nextCursor: null }],
    ['nextCursor empty', '{"data":[],"hasMore":false,"nextCursor":""}', { hasMore: false, nextCursor: null }],
    [
      'a further page',
      '{"data":[],"hasMore":true,"nextCursor":"c","totalCount":9007199254740993}',
      { hasMore: true, nextCursor: 'c', totalCount: 9007199254740993n, warnings: [] },
    ],
    [
      'hasMore missing',
      '{"data":[],"nextCursor":"c"}',
      { hasMore: true, nextCursor: 'c', isIncomplete: true, warnings: ['hasMore is not a boolean'] },
    ],
    [
      'a transaction without an id',
      '{"data":[{"status":"PENDING"},7],"hasMore":false}',
      { data: [], isIncomplete: true },
    ],
    [
      'a whole transaction',
      `{"data":[${TRANSACTION_BODY}],"hasMore":false}`,
      { data: [{ id: 'Transaction:t1' }], isIncomplete: false, warnings: [] },
    ],
  ])('with %s is a page', async (_name, body, page) => {
    const { service, api } = await startedPair(always(200, EMPTY_PAGE));
    service.script(always(200, body));
    expect(await api.listTransactions({})).toMatchObject({ kind: 'page', ...page });
  });

  test.each([
    [200, '<html>', {}, { cause: 'not-understood' }],
    [200, '{"data":{}}', {}, { cause: 'not-understood' }],
    [302, '', { location: 'https://x.example/' }, { cause: 'redirected' }],
    [400, '{}', {}, { cause: 'refused' }],
    [401, '{}', {}, { cause: 'unauthorized' }],
    [429, '{}', { 'retry-after': '3' }, { cause: 'told-to-wait', retryAfterMs: 3000 }],
    [503, '{}', {}, { cause: 'unreachable' }],
    [200, `{"data":[${' '.repeat(8 * 1024 * 1024)}]}`, {}, { cause: 'unreachable', isTooLong: true }],
  ])('answered %i %s has failed', async (httpStatus, body, headers, failure) => {
    const { service, api } = await startedPair(always(200, EMPTY_PAGE));
    service.script(always(httpStatus, body, headers));
    expect(await api.listTransactions({})).toMatchObject({ kind: 'failed', httpStatus, ...failure });
  });
});
