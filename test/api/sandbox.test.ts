/** Against the whole service: what a reading lets one conclude about effects. */
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from 'payment-processor-sandbox/start';
import type { Reading } from '../../src/api/types.ts';
import { paymentApi, transferIn } from './payment-api-in-test.ts';

interface Effects {
  operations: Record<string, Record<string, { calls: number; effects: number }>>;
}

test('whatever fault hits a call: accepted took effect, refused and never sent did not, and none was called twice', async () => {
  const sandbox = await startSandbox({ settleMs: 60_000 });
  onTestFinished(() => sandbox.stop());
  // The breaker has tests of its own; here faults are to go on.
  const api = paymentApi(sandbox.baseUrl, { timeoutMs: 400, breakerErrorPercent: 100 });
  await api.start();
  const setFaults = async (faults: object[]): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(faults);
    expect((await fetch(`${sandbox.url}/control/faults`, { method: 'POST', headers, body })).ok).toBe(true);
  };
  const rule = (kind: string, fields: object = {}): object => ({
    operation: 'transfer-in',
    kind,
    share: 0.12,
    ...fields,
  });
  await setFaults([
    rule('drop-before'),
    rule('drop-after'),
    rule('cut-body'),
    rule('apply-late', { delayMs: 5 }),
    rule('apply-late', { delayMs: 600, hold: true, share: 0.03 }),
    rule('delay', { delayMs: 600, share: 0.03 }),
    rule('status', { httpStatus: 503 }),
    rule('status', { httpStatus: 429, retryAfter: 1 }),
    rule('status', { httpStatus: 400, body: 'no' }),
    rule('status', { httpStatus: 200, body: '<html>', contentType: 'text/html' }),
  ]);
  const readings = new Map<string, Reading['kind']>();
  const worker = async (name: number): Promise<void> => {
    for (let index = 0; index < 30; index += 1) {
      const key = `worker-${name}-${index}`;
      readings.set(key, (await api.perform(transferIn, { idempotencyKey: key })).kind);
    }
  };
  await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(worker));
  const { operations } = (await (await fetch(`${sandbox.url}/control/effects`)).json()) as Effects;
  for (const [key, kind] of readings) {
    const { calls, effects } = operations['transfer-in']?.[key] ?? { calls: 0, effects: 0 };
    if (kind === 'doubt') expect(calls, key).toBeLessThanOrEqual(1);
    else expect(calls, `${key} ${kind}`).toBe(kind === 'never-sent' ? 0 : 1);
    if (kind === 'accepted') expect(effects, key).toBe(1);
    else if (kind !== 'doubt') expect(effects, `${key} ${kind}`).toBe(0);
  }
  expect(new Set(readings.values())).toEqual(new Set(['accepted', 'doubt', 'refused', 'told-to-wait']));
});
