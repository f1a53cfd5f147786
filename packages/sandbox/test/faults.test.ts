import { describe, expect, test } from 'vitest';
import { sandboxForTest, type Answer, type TestSandbox } from './support.ts';

async function transfer(sandbox: TestSandbox, key = 'k'): Promise<Answer | 'cut'> {
  return sandbox.transferIn('ExternalAccount:a', 'InternalAccount:b', 5, key).catch(() => 'cut' as const);
}

async function effectsOf(sandbox: TestSandbox): Promise<unknown> {
  return (await sandbox.effects()).operations['transfer-in']['k'];
}

/** Begins a transfer and lets it arrive, without moving the sandbox's clock. */
async function begun(sandbox: TestSandbox): Promise<{ waiting: Promise<Answer | 'cut'> }> {
  const waiting = transfer(sandbox);
  while ((await sandbox.callsMade()) < 1);
  return { waiting };
}

// What each fault does to a payment is tried in test/promises/i10-honest.test.ts.
describe('a fault', () => {
  test('apply-late that holds lets the client wait until it gives up', async () => {
    const sandbox = await sandboxForTest();
    await sandbox.addFaults({ kind: 'apply-late', delayMs: 1000, hold: true });
    const { waiting } = await begun(sandbox);
    sandbox.clock.advance(5000);
    expect(await effectsOf(sandbox)).toMatchObject({ effects: 1 });
    expect(await Promise.race([waiting, Promise.resolve('still waiting')])).toBe('still waiting');
    sandbox.clock.advance(600_000);
    expect(await waiting).toBe('cut');
  });

  test('status answers with the status it names, without effect', async () => {
    const sandbox = await sandboxForTest();
    await sandbox.addFaults(
      { kind: 'status', httpStatus: 429, retryAfter: 7, count: 1 },
      { kind: 'status', httpStatus: 502, body: '<html>bad gateway</html>', contentType: 'text/html', count: 1 },
      { kind: 'status', httpStatus: 204, body: '', count: 1 },
    );
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
    await sandbox.addFaults({ kind: 'status', httpStatus: 500, operation: 'list-transactions', count: 1 });
    await sandbox.addFaults({ kind: 'status', httpStatus: 501, operation: 'transfer-in', key: 'chosen' });
    expect(await transfer(sandbox, 'other')).toMatchObject({ status: 201 });
    expect(await transfer(sandbox, 'chosen')).toMatchObject({ status: 501 });
    expect(await transfer(sandbox, 'chosen')).toMatchObject({ status: 501 });
    expect((await sandbox.get('/transactions')).status).toBe(500);
    expect((await sandbox.get('/transactions')).status).toBe(200);
    expect(await sandbox.faults()).toMatchObject([
      { operation: 'list-transactions', hits: 1 },
      { key: 'chosen', hits: 2 },
    ]);
    await sandbox.clearFaults();
    expect(await sandbox.faults()).toEqual([]);
    expect(await transfer(sandbox, 'chosen')).toMatchObject({ status: 201 });
  });

  test('with a share hits about that many, and the same ones for the same seed', async () => {
    const runs: number[][] = [];
    for (const randomSeed of [7, 7]) {
      const sandbox = await sandboxForTest({ randomSeed });
      await sandbox.addFaults({ kind: 'status', httpStatus: 503, share: 0.3 });
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
    const status = { kind: 'status', httpStatus: 500 };
    const drop = { kind: 'drop-before' };
    for (const rule of [
      ...[{ kind: 'explode' }, { kind: 'delay' }, { kind: 'status' }, { ...status, httpStatus: 99 }],
      ...[{ ...drop, share: 2 }, 5, { ...drop, operation: 'x' }, { ...status, retryAfter: 'a\nb' }],
    ]) {
      expect((await sandbox.control('POST', 'faults', rule)).status).toBe(400);
    }
    expect(await sandbox.faults()).toEqual([]);
  });

  test('cannot make a reset hang or reach into the world after it', async () => {
    const sandbox = await sandboxForTest();
    await sandbox.addFaults({ kind: 'delay', delayMs: 1000 });
    const { waiting } = await begun(sandbox);
    await sandbox.control('POST', 'reset');
    sandbox.clock.advance(1000);
    expect(await waiting).toMatchObject({ status: 201 });
    expect((await sandbox.books()).transactions).toBe(0);
  });
});
