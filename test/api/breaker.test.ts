/** The breaker of an operation: what opens it, and how it closes again. */
import { describe, expect, test } from 'vitest';
import type { PaymentApi, PaymentApiOptions } from '../../src/api/payment-api.ts';
import { always, httpAnswer, servingReads, type ScriptedService } from './scripted-service.ts';
import { createQuote, startedPair, transferIn, TRANSACTION_BODY, whenApi } from './payment-api-in-test.ts';

const accepting = servingReads(always(200, TRANSACTION_BODY));
const failing = servingReads(always(503, '{}'));

function kindOf(api: PaymentApi): Promise<string> {
  return api.perform(transferIn, { idempotencyKey: 'k' }).then((reading) => reading.kind);
}

async function kindsOf(api: PaymentApi, count: number): Promise<string[]> {
  const kinds: string[] = [];
  for (let index = 0; index < count; index += 1) kinds.push(await kindOf(api));
  return kinds;
}

const stageOf = (api: PaymentApi): string => api.snapshot().operations['transfer-in'].breaker;

async function opened(
  overrides: Partial<PaymentApiOptions> = {},
): Promise<{ service: ScriptedService; api: PaymentApi }> {
  const pair = await startedPair(failing, overrides);
  await kindsOf(pair.api, 5);
  expect(stageOf(pair.api)).toBe('open');
  return pair;
}

describe('opens', () => {
  test('when the share of faults is reached, and then sends nothing of this operation', async () => {
    const { service, api } = await opened({ breakerResetMs: 60_000 });
    expect(api.closure('transfer-in')).toMatchObject({ cause: 'breaker' });
    expect(api.allowance('transfer-in')).toBe(0);
    expect(await kindOf(api)).toBe('never-sent');
    expect(service.requestsOf('POST')).toHaveLength(5);
  });

  test('for its own operation alone', async () => {
    const { service, api } = await opened({ breakerResetMs: 60_000 });
    expect(api.closure('create-quote')).toBeNull();
    service.script(accepting);
    expect((await api.perform(createQuote, { idempotencyKey: 'q' })).kind).toBe('accepted');
  });

  test('at a share of 100 %', async () => {
    await opened({ breakerErrorPercent: 100, breakerResetMs: 60_000 });
  });

  test('when connections are refused', async () => {
    const { service, api } = await startedPair(accepting, { breakerResetMs: 60_000 });
    await service.stop();
    await kindsOf(api, 5);
    expect(stageOf(api)).toBe('open');
  });

  test.each([403, 404, 405])('when HTTP %i comes without an error code, as from a proxy', async (httpStatus) => {
    const page = servingReads((_request, socket) => void socket.write(httpAnswer(httpStatus, '<html>no route</html>')));
    const { api } = await startedPair(page, { breakerResetMs: 60_000 });
    await kindsOf(api, 5);
    expect(api.closure('transfer-in')).toMatchObject({ cause: 'breaker' });
  });

  test('not below the share', async () => {
    const { service, api } = await startedPair(accepting);
    await kindsOf(api, 6);
    service.script(failing);
    await kindsOf(api, 4);
    expect(stageOf(api)).toBe('closed');
  });

  test('not for a few calls', async () => {
    const { api } = await startedPair(failing);
    await kindsOf(api, 4);
    expect(stageOf(api)).toBe('closed');
  });

  test.each([400, 404, 409, 422, 429, 501])('not for %i', async (httpStatus) => {
    const { api } = await startedPair(servingReads(always(httpStatus, '{"code":"X"}')));
    await kindsOf(api, 10);
    expect(stageOf(api)).toBe('closed');
    expect(api.allowance('transfer-in')).toBe(Infinity);
  });

  test('not for calls that the caller itself kept back', async () => {
    const { api } = await startedPair(accepting);
    for (let index = 0; index < 10; index += 1) {
      await api.perform(transferIn, { idempotencyKey: 'k', beforeSending: () => 'not ours any more' });
    }
    expect(stageOf(api)).toBe('closed');
  });
});

describe('after its reset time', () => {
  test('one call is let through, then twice as many with each success, then all', async () => {
    const { service, api } = await opened();
    service.script(accepting);
    await whenApi(api, () => api.allowance('transfer-in') === 1);
    expect(stageOf(api)).toBe('trial');
    expect(api.closure('transfer-in')).toBeNull();
    const allowances: number[] = [];
    for (let index = 0; index < 3; index += 1) {
      await kindOf(api);
      allowances.push(api.allowance('transfer-in'));
    }
    expect(allowances).toEqual([2, 4, Infinity]);
    expect(stageOf(api)).toBe('closed');
  });

  test('a trial with nothing to try ends by GETs alone: two that succeed, a reset time apart, close it', async () => {
    const { service, api } = await opened({ breakerResetMs: 50 });
    service.script(accepting);
    await whenApi(api, () => stageOf(api) === 'trial');
    const [posts, gets] = [service.requestsOf('POST').length, service.requestsOf('GET').length];
    await whenApi(api, () => stageOf(api) === 'ramp');
    await whenApi(api, () => stageOf(api) === 'closed');
    expect(service.requestsOf('POST')).toHaveLength(posts);
    expect(service.requestsOf('GET')).toHaveLength(gets + 2);
    expect(api.allowance('transfer-in')).toBe(Infinity);
  });

  test('a GET that fails opens a trial again where there was nothing to call', async () => {
    const { service, api } = await opened({ breakerResetMs: 50 });
    service.script(accepting);
    await whenApi(api, () => stageOf(api) === 'trial');
    service.script(always(503, '{}'));
    await whenApi(api, () => stageOf(api) === 'open');
  });

  test('a call under way decides, not the GET', async () => {
    const { service, api } = await opened({ breakerResetMs: 50 });
    const posted = Promise.withResolvers<() => void>();
    service.script(servingReads((_request, socket) => posted.resolve(() => socket.write(httpAnswer(503, '{}')))));
    await whenApi(api, () => stageOf(api) === 'trial');
    const gets = service.requestsOf('GET').length;
    const kind = kindOf(api);
    const answer = await posted.promise;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect([stageOf(api), service.requestsOf('GET').length]).toEqual(['trial', gets]);
    answer();
    expect(await kind).toBe('doubt');
    expect(stageOf(api)).toBe('open');
  });

  test('calls beyond the allowance are never sent', async () => {
    const { service, api } = await opened();
    service.script(accepting);
    await whenApi(api, () => stageOf(api) === 'trial');
    const before = service.requestsOf('POST').length;
    const [tried, ...others] = await Promise.all(
      [1, 2, 3].map((index) => api.perform(transferIn, { idempotencyKey: `k${index}` })),
    );
    expect(tried?.kind).toBe('accepted');
    const reason = 'the breaker of transfer-in lets no further call through now';
    expect(others).toEqual(Array(2).fill({ kind: 'never-sent', reason }));
    expect(service.requestsOf('POST').length - before).toBe(1);
  });

  test('no change is tried while a GET fails', async () => {
    const { service, api } = await opened();
    service.script(always(503, '{}'));
    const posts = service.requestsOf('POST').length;
    const gets = service.requestsOf('GET').length;
    await whenApi(api, () => service.requestsOf('GET').length >= gets + 3);
    expect(service.requestsOf('POST')).toHaveLength(posts);
    expect(api.state().kind).toBe('serving');
    service.script(accepting);
    await whenApi(api, () => stageOf(api) === 'trial');
  });

  test('a trial that the caller kept back does not close it', async () => {
    const { api } = await opened();
    await whenApi(api, () => stageOf(api) === 'trial');
    const reading = await api.perform(transferIn, { idempotencyKey: 'k', beforeSending: () => 'not ours any more' });
    expect(reading).toEqual({ kind: 'never-sent', reason: 'not ours any more' });
    expect(stageOf(api)).toBe('open');
  });

  test('the ramp lets through as many calls at once as it allows', async () => {
    const { service, api } = await opened();
    service.script(accepting);
    await whenApi(api, () => stageOf(api) === 'trial');
    await kindOf(api);
    const before = service.requestsOf('POST').length;
    const kinds = await Promise.all([kindOf(api), kindOf(api), kindOf(api), kindOf(api)]);
    expect(kinds).toEqual(['accepted', 'accepted', 'never-sent', 'never-sent']);
    expect(service.requestsOf('POST').length - before).toBe(2);
  });

  test('a fault on the ramp opens it again, whatever the share of faults', async () => {
    // 5 faults of 5 open it; 6 of 7, as on the ramp, would not.
    const { service, api } = await opened({ breakerErrorPercent: 90 });
    service.script(accepting);
    await whenApi(api, () => stageOf(api) === 'trial');
    await kindOf(api);
    expect(stageOf(api)).toBe('ramp');
    service.script(failing);
    await kindOf(api);
    expect(stageOf(api)).toBe('open');
  });

  test('a refusal proves that the service is back', async () => {
    const { service, api } = await opened();
    service.script(servingReads(always(422, '{"code":"X"}')));
    await whenApi(api, () => stageOf(api) === 'trial');
    expect(await kindOf(api)).toBe('refused');
    expect(stageOf(api)).toBe('ramp');
  });

  test('what the check finds wrong holds the service', async () => {
    const { service, api } = await opened();
    service.script((_request, socket) => void socket.write(httpAnswer(401, '{}')));
    await whenApi(api, () => api.state().kind === 'held');
    expect(api.closure('transfer-in')).toMatchObject({ cause: 'held' });
  });
});

describe('the log', () => {
  test('says once why a breaker opened, however often it is tried in vain, and once that it is closed again', async () => {
    const lines: { level: string; event: string; fields: Record<string, unknown> }[] = [];
    const { service, api } = await startedPair(accepting, {
      log: (level, event, fields) => void lines.push({ level, event, fields }),
    });
    const told = (): unknown[] =>
      lines
        .filter(({ event, level }) => event === 'breaker-changed' && level !== 'debug')
        .map(({ level, fields }) => ({ level, ...fields }));
    await kindsOf(api, 2);
    service.script(failing);
    await kindsOf(api, 3);
    const opening = { level: 'warn', operation: 'transfer-in', stage: 'open', calls: 5, faults: 3, faultPercent: 60 };
    expect(told()).toEqual([{ ...opening, lastFault: 'HTTP 503' }]);
    for (let trial = 0; trial < 2; trial += 1) {
      await whenApi(api, () => stageOf(api) === 'trial');
      await kindOf(api);
      expect(stageOf(api)).toBe('open');
    }
    expect(told()).toHaveLength(1);
    service.script(accepting);
    await whenApi(api, () => stageOf(api) === 'trial');
    await kindsOf(api, 6);
    expect(stageOf(api)).toBe('closed');
    expect(told().slice(1)).toEqual([
      { level: 'info', operation: 'transfer-in', stage: 'closed', notClosedMs: expect.any(Number) as number },
    ]);
  });
});
