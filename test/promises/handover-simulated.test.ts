/** A lane that moves to another member in order, with a backlog: calls that wait for their turn were never sent, and all say so. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { publishTransfers, transferInOf } from '../support/commands.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({ name: 'handover', sandbox: { settleMs: 0 } });

test('commands that wait for the rate limit when a member joins are called once, or end EXPIRED without a call', async () => {
  const settings = { API_MAX_RPS: '3' };
  await stack().startProcessor(settings);
  const keys = Array.from({ length: 60 }, (_, index) => `waiting-${index}`);
  const expiresAt = new Date(Date.now() + 14_000);
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key), { expiresAt })));
  await eventually(
    () => stack().service.callsMade(),
    (made) => made > 3,
    'the first calls',
  );
  await stack().startProcessor(settings);
  const results = await stack().journal.resultsOfAll(keys);
  const { operations } = await stack().service.effects();
  const rows = results.map(({ key, value: { attempts, outcome } }) => {
    const calls = operations['transfer-in'][key]?.calls ?? 0;
    return `${outcome}, ${attempts} attempts, ${calls} calls`;
  });
  expect(new Set(rows)).toEqual(new Set(['ACCEPTED, 1 attempts, 1 calls', 'EXPIRED, 0 attempts, 0 calls']));
});

test('a member that may take long to answer is not fenced by the next one, whose API_TIMEOUT_MS is shorter', async () => {
  const HANGS_MS = 45_000;
  const refusal = { httpStatus: 409, body: '{"status":409,"code":"NO","message":"no"}' };
  const service = await stack().hostileService(async ({ method }) => {
    if (method === 'GET') return null;
    await delay(HANGS_MS);
    return refusal;
  });
  const settings = {
    API_BASE_URL: service.baseUrl,
    KAFKA_SESSION_TIMEOUT_MS: '6000',
    KAFKA_HEARTBEAT_INTERVAL_MS: '1000',
  };
  const before = await stack().startProcessor({ ...settings, API_TIMEOUT_MS: '60000' });
  const keys = await publishTransfers(stack(), 'slow', 12);
  const isCalled = async (): Promise<boolean> =>
    service.requests.filter(({ method }) => method === 'POST').length === keys.length;
  await eventually(isCalled, Boolean, 'the calls');
  const next = await stack().spawnProcessor({ ...settings, API_TIMEOUT_MS: '10000' });
  const results = await stack().journal.resultsOfAll(keys);
  expect(new Set(results.map(({ value: { attempts, outcome } }) => `${outcome}, ${attempts} attempts`))).toEqual(
    new Set(['REFUSED, 1 attempts']),
  );
  expect(next.log().filter(({ event }) => event === 'owner-fenced')).toEqual([]);
  expect(before.log().filter(({ event }) => event === 'lane-lost')).toEqual([]);
});

test('with the longest heartbeat interval, a member that joins takes lanes from no one who is healthy', async () => {
  const settings = { KAFKA_HEARTBEAT_INTERVAL_MS: '5000', KAFKA_SESSION_TIMEOUT_MS: '15000' };
  const before = await stack().startProcessor(settings);
  // Between two heartbeats.
  await delay(12_100);
  const next = await stack().spawnProcessor(settings);
  const isShared = async (): Promise<boolean> => next.openedLanes().length > 0;
  await eventually(isShared, Boolean, 'lanes to move');
  await delay(60_000);
  const losses = [...before.log(), ...next.log()].filter(
    ({ event }) => event === 'lane-lost' || event === 'owner-fenced',
  );
  expect(losses).toEqual([]);
});
