import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpServer, type HttpServer, type Route } from '../../src/ops/http-server.ts';
import { entry, inputStatus, laneStatus, SECRET_KEY, TOPICS } from './fake-processor.ts';
import { ShownProcessor } from './shown-processor.ts';

const TOKEN = 'a-token-of-the-test';
const running: (HttpServer | ShownProcessor)[] = [];

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
});

async function serve(
  routes: readonly Route[],
  authToken: string | null = null,
  errors: unknown[] = [],
): Promise<string> {
  const server = createHttpServer({
    host: '127.0.0.1',
    port: 0,
    authToken,
    routes,
    onError: (_path, error) => errors.push(error),
  });
  running.push(server);
  const { port } = await server.start();
  return `http://127.0.0.1:${port}`;
}

async function served(processor: ShownProcessor, authToken: string | null = null): Promise<string> {
  running.push(processor);
  return (await processor.serve(authToken)).slice(0, -1);
}

describe('health over HTTP', () => {
  it('is live in any state of lanes and service', async () => {
    const processor = new ShownProcessor();
    processor.lanes.assigned = null;
    processor.api.state = { kind: 'held', reason: 'down', setting: null, sinceMs: 0 };
    const answer = await fetch(`${await served(processor)}/health/live`);
    expect([answer.status, await answer.json()]).toEqual([200, { live: true }]);
  });

  it('answers 200 when ready and 503 with the reasons when not, without a token', async () => {
    const processor = new ShownProcessor();
    const url = await served(processor, TOKEN);
    const ready = await fetch(`${url}/health/ready`);
    expect([ready.status, await ready.json()]).toEqual([200, { ready: true, reasons: [] }]);
    processor.isDraining = true;
    const draining = await fetch(`${url}/health/ready`);
    expect(draining.status).toBe(503);
    expect(await draining.json()).toEqual({ ready: false, reasons: ['draining: the process is shutting down'] });
  });
});

describe('one command over HTTP', () => {
  const ask = (url: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${url}/api/command`, { headers });

  it('requires the token, and the key in a header', async () => {
    const url = await served(new ShownProcessor(), TOKEN);
    const authorization = `Bearer ${TOKEN}`;
    expect((await ask(url, { 'command-key': 'order-1' })).status).toBe(401);
    expect((await ask(url, { authorization })).status).toBe(400);
    expect((await ask(url, { authorization, 'command-key': 'a.execute' })).status).toBe(400);
    expect((await ask(url, { authorization, 'command-key': 'x'.repeat(201) })).status).toBe(400);
    const unknown = await ask(url, { authorization, 'command-key': 'order-1' });
    expect([unknown.status, await unknown.json()]).toEqual([
      200,
      {
        found: false,
        lane: 0,
        reason: expect.stringMatching(
          /has no such key\. The command was never published, is not admitted yet/,
        ) as string,
      },
    ]);
  });

  it('shows phase, calls and doubt, but not the key, fields or accounts', async () => {
    const processor = new ShownProcessor();
    const { nowMs } = processor;
    const reason = 'no answer for "accountId": "ACCOUNT-OF-JANE" of jane@example.org';
    const doubtful = entry('transfer-in', nowMs - 60_000, {
      state: 'DOUBTFUL',
      settleAtMs: nowMs + 5_000,
      reason,
      refusal: null,
    });
    processor.commands.set(SECRET_KEY, { ...doubtful, attempts: 2, firstSentMs: nowMs - 30_000, lastEndedMs: nowMs });
    const answer = await ask(await served(processor), { 'command-key': SECRET_KEY });
    const text = await answer.text();
    expect(JSON.parse(text)).toMatchObject({
      found: true,
      lane: 0,
      phase: 'DOUBTFUL',
      outcome: null,
      attempts: 2,
      doubt: { since: '2026-03-01T11:59:30.000Z', lastCallOver: '2026-03-01T12:00:00.000Z', ruledOutBy: null },
    });
    expect(text).toContain('to be settled at 2026-03-01T12:00:05.000Z or later: no answer');
    for (const secret of [SECRET_KEY, 'JANE', 'jane@']) expect(text).not.toContain(secret);
  });
});

describe('metrics and state over HTTP', () => {
  it('require the token when one is set', async () => {
    const url = await served(new ShownProcessor(), TOKEN);
    for (const path of ['/metrics', '/api/state']) {
      const without = await fetch(`${url}${path}`);
      expect(without.status).toBe(401);
      expect(without.headers.get('www-authenticate')).toBe('Bearer');
      for (const wrong of [`Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`, TOKEN]) {
        expect((await fetch(`${url}${path}`, { headers: { authorization: wrong } })).status).toBe(401);
      }
      expect((await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(200);
    }
  });

  it('show lanes, lag, unfinished commands and the service, but not keys or fields', async () => {
    const processor = new ShownProcessor();
    const { nowMs } = processor;
    const intent = { state: 'INTENT', attemptId: 'a', processId: 'p', atMs: nowMs, timeoutMs: 10 } as const;
    const held = { buffered: 4, oldestTimestampMs: nowMs - 9_000, position: 6n, cause: 'held' } as const;
    processor.setLane(
      0,
      laneStatus({ entries: [entry('transfer-in', nowMs - 30_000, intent)], inputs: [inputStatus(held)] }),
    );
    processor.ends = async () => new Map([[0, { low: 0n, high: 10n }]]);
    const url = await served(processor);
    const text = await (await fetch(`${url}/api/state`)).text();
    const input = { topic: TOPICS.commands['transfer-in'], command: 'transfer-in', position: '6', cause: 'held' };
    expect(JSON.parse(text)).toMatchObject({
      at: '2026-03-01T12:00:00.000Z',
      processId: 'process-1',
      ready: true,
      service: { state: 'serving', reason: null, since: null },
      lanesConfigured: 6,
      lanes: [{ lane: 0, stage: 'open', unfinished: 1, inputs: [{ ...input, lagMessages: 4, oldestSeconds: 9 }] }],
      unfinished: [{ state: 'INTENT', operation: 'transfer-in', count: 1, oldestSeconds: 30 }],
      oldestUnansweredSeconds: { 'transfer-in': 30, 'create-quote': null },
    });
    const metrics = await fetch(`${url}/metrics`);
    expect(metrics.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const shown = text + (await metrics.text());
    expect(shown).toContain('payments_lag_messages{lane="0",command="transfer-in"} 4');
    expect(shown).not.toContain(SECRET_KEY);
    expect(shown).not.toContain('JANE');
  });

  it('show the last known values while Kafka hangs', async () => {
    const processor = new ShownProcessor();
    processor.setLane(0, laneStatus({ inputs: [inputStatus({ position: 2n })] }));
    processor.ends = async () => new Map([[0, { low: 0n, high: 5n }]]);
    const url = await served(processor);
    await fetch(`${url}/metrics`);
    processor.ends = () => new Promise(() => undefined);
    processor.nowMs += 60_000;
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain('payments_lag_messages{lane="0",command="transfer-in"} 3');
    expect(text).toContain('payments_lag_ends_age_seconds 60');
  });
});

describe('the HTTP server', () => {
  it('answers unknown paths with 404 and wrong methods with 405 and Allow, in JSON', async () => {
    const url = await served(new ShownProcessor());
    const unknown = await fetch(`${url}/nothing`);
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toHaveProperty('error');
    const posted = await fetch(`${url}/metrics`, { method: 'POST', body: 'x' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(await posted.json()).toHaveProperty('error');
  });

  it('ignores the query and answers HEAD without a body', async () => {
    const url = await served(new ShownProcessor());
    expect((await fetch(`${url}/health/live?from=probe`)).status).toBe(200);
    const head = await fetch(`${url}/health/ready`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  it('refuses bodies, and headers that are too large', async () => {
    const url = await served(new ShownProcessor());
    const withBody = await exchange(url, 'GET /health/live HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
    expect(withBody).toMatch(/^HTTP\/1\.1 413 /);
    const large = await exchange(url, `GET /health/live HTTP/1.1\r\nHost: a\r\nX-Large: ${'x'.repeat(9_000)}\r\n\r\n`);
    expect(large).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('answers 500 without the error when a route throws, and reports the error', async () => {
    const errors: unknown[] = [];
    const broken: Route = {
      path: '/broken',
      isProtected: false,
      answer: () => {
        throw new Error('with a secret');
      },
    };
    const answer = await fetch(`${await serve([broken], null, errors)}/broken`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('secret');
    expect(errors).toHaveLength(1);
  });

  it('says which setting to change when the port is in use', async () => {
    const port = Number(new URL(await serve([])).port);
    const second = createHttpServer({ host: '127.0.0.1', port, authToken: null, routes: [], onError: () => undefined });
    await expect(second.start()).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`);
    await second.stop();
  });

  it('answers probes while a client holds more idle connections open than the limit', async () => {
    const url = await served(new ShownProcessor());
    const port = Number(new URL(url).port);
    const silent = Array.from({ length: 250 }, () => connect(port, '127.0.0.1').on('error', () => undefined));
    await Promise.all(silent.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    const statuses = [];
    for (let probe = 0; probe < 5; probe += 1) {
      const headers = { connection: 'close' };
      statuses.push(await fetch(`${url}/health/live`, { headers }).then(({ status }) => status, String));
    }
    for (const socket of silent) socket.destroy();
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
  });

  it('stops despite an idle connection and a request that is never answered', async () => {
    const hanging: Route = { path: '/hanging', isProtected: false, answer: () => new Promise(() => undefined) };
    const url = await serve([hanging]);
    const idle = connect(Number(new URL(url).port), '127.0.0.1');
    const idleClosed = new Promise<void>((resolve) => idle.on('close', () => resolve()).on('error', () => undefined));
    const hung = fetch(`${url}/hanging`).then(
      () => 'answered',
      () => 'cut',
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
    await running[0]?.stop();
    await idleClosed;
    expect(await hung).toBe('cut');
    await expect(fetch(`${url}/hanging`)).rejects.toThrow();
  });
});

/** Sends bytes and reads everything until the server closes the connection. */
async function exchange(url: string, request: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(request);
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
  await new Promise((resolve) => socket.on('close', resolve));
  return received;
}
