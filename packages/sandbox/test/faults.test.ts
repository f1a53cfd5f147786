import { describe, expect, test } from 'vitest';
import type { KeyTally } from '../src/effects.ts';
import { sandboxForTest, type Answer, type Fields, type TestSandbox } from './support.ts';

async function addFault(sandbox: TestSandbox, rule: Fields | Fields[]): Promise<void> {
  expect((await sandbox.control('POST', 'faults', rule)).status).toBe(200);
}

async function transfer(sandbox: TestSandbox, key = 'k'): Promise<Answer | 'cut'> {
  return sandbox.transferIn('ExternalAccount:a', 'InternalAccount:b', 5, key).catch(() => 'cut' as const);
}

async function effectsOf(sandbox: TestSandbox, key = 'k'): Promise<KeyTally> {
  return (await sandbox.effects()).operations['transfer-in'][key]!;
}

/** Lets requests that are under way arrive, without moving the sandbox's clock. */
async function untilCalls(sandbox: TestSandbox, calls: number): Promise<void> {
  for (;;) {
    const { totals } = await sandbox.effects();
    if (totals['transfer-in'].calls >= calls) return;
  }
}

// What each fault does to a payment is tried in test/promises/i10-honest.test.ts.
describe('a fault', () => {
  test('apply-late that holds lets the client wait until it gives up', async () => {
    const sandbox = await sandboxForTest();
    await addFault(sandbox, { kind: 'apply-late', delayMs: 1000, hold: true });
    const waiting = transfer(sandbox);
    await untilCalls(sandbox, 1);
    sandbox.clock.advance(5000);
    expect(await effectsOf(sandbox)).toMatchObject({ effects: 1 });
    expect(await Promise.race([waiting, Promise.resolve('still waiting')])).toBe('still waiting');
    sandbox.clock.advance(600_000);
    expect(await waiting).toBe('cut');
  });

  test('status answers with the status it names, without effect', async () => {
    const sandbox = await sandboxForTest();
    await addFault(sandbox, [
      { kind: 'status', httpStatus: 429, retryAfter: 7, count: 1 },
      { kind: 'status', httpStatus: 502, body: '<html>bad gateway</html>', contentType: 'text/html', count: 1 },
      { kind: 'status', httpStatus: 204, body: '', count: 1 },
    ]);
    expect(await transfer(sandbox)).toMatchObject({
      status: 429,
      headers: { 'retry-after': '7' },
      body: { status: 429 },
    });
    expect(await transfer(sandbox)).toMatchObject({
      status: 502,
      headers: { 'content-type': 'text/html' },
      text: '<html>bad gateway</html>',
    });
    expect(await transfer(sandbox)).toMatchObject({ status: 204, text: '' });
    expect(await effectsOf(sandbox)).toMatchObject({ calls: 3, effects: 0 });
  });
});

describe('a rule', () => {
  test('hits its operation and key alone, as often as its count, and tells its hits', async () => {
    const sandbox = await sandboxForTest();
    await addFault(sandbox, { kind: 'status', httpStatus: 500, operation: 'list-transactions', count: 1 });
    await addFault(sandbox, { kind: 'status', httpStatus: 501, operation: 'transfer-in', key: 'chosen' });
    expect(await transfer(sandbox, 'other')).toMatchObject({ status: 201 });
    expect(await transfer(sandbox, 'chosen')).toMatchObject({ status: 501 });
    expect(await transfer(sandbox, 'chosen')).toMatchObject({ status: 501 });
    expect((await sandbox.get('/transactions')).status).toBe(500);
    expect((await sandbox.get('/transactions')).status).toBe(200);
    const { body } = await sandbox.control('GET', 'faults');
    expect(body.faults).toMatchObject([
      { operation: 'list-transactions', hits: 1 },
      { key: 'chosen', hits: 2 },
    ]);
    expect((await sandbox.control('DELETE', 'faults')).body).toEqual({ faults: [] });
    expect(await transfer(sandbox, 'chosen')).toMatchObject({ status: 201 });
  });

  test('with a share hits about that many, and the same ones for the same seed', async () => {
    const runs: number[][] = [];
    for (let run = 0; run < 2; run++) {
      const sandbox = await sandboxForTest({ randomSeed: 7 });
      await addFault(sandbox, { kind: 'status', httpStatus: 503, share: 0.3 });
      const statuses: number[] = [];
      for (let call = 0; call < 200; call++) statuses.push((await sandbox.get('/transactions')).status);
      runs.push(statuses);
    }
    const hits = runs[0]?.filter((status) => status === 503).length ?? 0;
    expect(hits).toBeGreaterThan(30);
    expect(hits).toBeLessThan(90);
    expect(runs[1]).toEqual(runs[0]);
  });

  test('that is not one is refused', async () => {
    const sandbox = await sandboxForTest();
    const rules = [
      { kind: 'explode' },
      { kind: 'delay' },
      { kind: 'status' },
      { kind: 'status', httpStatus: 99 },
      { kind: 'drop-before', share: 2 },
      5,
    ];
    for (const rule of [
      ...rules,
      { kind: 'drop-before', operation: 'x' },
      { kind: 'status', httpStatus: 500, retryAfter: 'a\nb' },
    ]) {
      expect((await sandbox.control('POST', 'faults', rule)).status).toBe(400);
    }
    expect((await sandbox.control('GET', 'faults')).body).toEqual({ faults: [] });
  });

  test('cannot make a reset hang or reach into the world after it', async () => {
    const sandbox = await sandboxForTest();
    await addFault(sandbox, { kind: 'delay', delayMs: 1000 });
    const waiting = transfer(sandbox);
    await untilCalls(sandbox, 1);
    await sandbox.control('POST', 'reset');
    sandbox.clock.advance(1000);
    expect(await waiting).toMatchObject({ status: 201 });
    expect((await sandbox.books()).transactions).toBe(0);
  });
});
