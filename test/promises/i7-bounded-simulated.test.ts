/** Invariant I7 in virtual time: calls and unfinished entries have limits, and so have quotes that are made anew. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { CommandType } from 'payment-processor-contract/commands';
import { createQuoteOf, keysOfLane, publishTransfers, rejectionOf, transferInOf } from '../support/commands.ts';
import { LANES } from '../support/stack-options.ts';
import { unfinishedByLane } from '../support/unfinished.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({ name: 'bounded' });

test('a lane with as many unfinished commands as it may have admits no more, until some are finished', async () => {
  const limit = 4;
  // Told to wait: each stays unfinished without holding a call slot.
  await stack().service.addFaults({ kind: 'status', operation: 'transfer-in', httpStatus: 429, retryAfter: 1 });
  await stack().startProcessor({ MAX_UNFINISHED_PER_LANE: String(limit) });
  const keys = await publishTransfers(stack(), 'full', 60);
  await eventually(
    () => unfinishedByLane(stack()),
    (lanes) => lanes.every((count) => count === limit),
    'every lane to be full',
  );
  const { operations } = await stack().service.effects();
  expect(Object.keys(operations['transfer-in']).length).toBeLessThanOrEqual(limit * LANES);
  expect(await unfinishedByLane(stack())).toEqual(Array.from({ length: LANES }, () => limit));
  await stack().service.clearFaults();
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
});

const twoStepOf = (key: string): object => ({ ...createQuoteOf(key), immediatelyExecute: true });

test.each<{ type: CommandType; operation: CommandType; fieldsOf: (key: string) => object }>([
  { type: 'transfer-in', operation: 'transfer-in', fieldsOf: transferInOf },
  { type: 'create-quote', operation: 'execute-quote', fieldsOf: twoStepOf },
])('$type leaves room in its lane while the service defers each $operation', async ({ type, operation, fieldsOf }) => {
  await stack().service.addFaults({ kind: 'status', operation, httpStatus: 429, retryAfter: 600 });
  const limit = 400;
  await stack().startProcessor({ MAX_UNFINISHED_PER_LANE: String(limit), API_MAX_CONCURRENCY: '10' });
  for (const key of keysOfLane('waiting', 0, 2 * limit)) await stack().publisher.publish(type, key, fieldsOf(key));
  await sleep(60_000);
  const [key = ''] = keysOfLane('rejection', 0, 1);
  await stack().publisher.publish('reject-transaction', key, await rejectionOf(stack(), key));
  expect((await stack().journal.result(key, 10_000)).value.outcome).toBe('ACCEPTED');
  const [unfinished = 0] = await unfinishedByLane(stack());
  expect(unfinished).toBeGreaterThan(limit / 4);
  expect(unfinished).toBeLessThan(limit);
});

test('no more calls are under way than API_MAX_CONCURRENCY', async () => {
  let underWay = 0;
  let mostAtOnce = 0;
  const service = await stack().hostileService(async ({ method }) => {
    if (method !== 'POST') return null;
    mostAtOnce = Math.max(mostAtOnce, (underWay += 1));
    await new Promise((resolve) => setTimeout(resolve, 60));
    underWay -= 1;
    return { httpStatus: 201, body: '{"id":"Transaction:slow","status":"PENDING"}' };
  });
  await stack().startProcessor({ API_BASE_URL: service.baseUrl, API_MAX_CONCURRENCY: '3', API_TIMEOUT_MS: '20000' });
  await stack().journal.resultsOfAll(await publishTransfers(stack(), 'slots', 40));
  expect(mostAtOnce).toBe(3);
});

test('quotes that have run out when they come are made anew a few times, and then the command ends and says why', async () => {
  let quotes = 0;
  // Either its clock is behind, or ours is ahead.
  const service = await stack().hostileService(({ method, path }) => {
    if (method !== 'POST' || !path.endsWith('/quotes')) return null;
    quotes += 1;
    const expiresAt = new Date(Date.now() - 60_000).toISOString();
    const quote = { id: `Quote:${quotes}`, transactionId: `Transaction:${quotes}`, status: 'PENDING', expiresAt };
    return { httpStatus: 201, body: JSON.stringify(quote) };
  });
  const processor = await stack().startProcessor({ API_BASE_URL: service.baseUrl, API_TIMEOUT_MS: '15000' });
  const fields = { ...createQuoteOf('stale'), immediatelyExecute: true };
  await stack().publisher.publish('create-quote', 'stale', fields);
  const { value } = await stack().journal.result('stale');
  expect(value).toMatchObject({ outcome: 'EXPIRED', attempts: 6, error: { code: 'TOO_OLD' } });
  expect(value.error?.message).toMatch(/6 quotes in a row had expired on arrival/);
  expect(quotes).toBe(6);
  expect(service.requests.filter(({ path }) => path.endsWith('/execute'))).toEqual([]);
  const told = async () => processor.log().filter(({ event }) => event === 'quote-ran-out');
  const lines = await eventually(told, (all) => all.length === 6, 'the last quote to be told of');
  expect(lines.map(({ isMadeAnew }) => isMadeAnew)).toEqual([true, true, true, true, true, false]);
});
