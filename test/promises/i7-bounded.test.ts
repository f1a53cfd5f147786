/** Invariant I7: calls, unfinished entries, queues and memory have limits. */
import { readFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { decodeEntry, ENTRY_PREFIX } from '../../src/ledger/ledger-records.ts';
import { accountOf, createQuoteOf, transferInOf } from '../support/commands.ts';
import { startHostileService } from '../support/hostile-service.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'bounded' });

afterEach(async () => {
  await stack().endProcessors();
  await stack().service.clearFaults();
});

/** Unfinished entries of the ledger, by lane. */
async function unfinishedByLane(): Promise<number[]> {
  const lanes = Array.from({ length: LANES }, () => new Set<string>());
  for (const { key, value, partition } of await stack().readLedger()) {
    const name = key?.toString() ?? '';
    if (!name.startsWith(ENTRY_PREFIX) || value === null) continue;
    if (decodeEntry(value).phase.state === 'DONE') lanes[partition]?.delete(name);
    else lanes[partition]?.add(name);
  }
  return lanes.map((keys) => keys.size);
}

test('a lane with as many unfinished commands as it may have admits no more, until some are finished', async () => {
  const limit = 4;
  // Told to wait: each stays unfinished without holding a call slot.
  await stack().service.addFaults({ kind: 'status', operation: 'transfer-in', httpStatus: 429, retryAfter: 1 });
  await stack().startProcessor({ MAX_UNFINISHED_PER_LANE: String(limit) });
  const keys = Array.from({ length: 60 }, (_, index) => `full-${index}`);
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key))));
  await eventually(unfinishedByLane, (lanes) => lanes.every((count) => count === limit), 'every lane to be full');
  const { operations } = await stack().service.effects();
  expect(Object.keys(operations['transfer-in']).length).toBeLessThanOrEqual(limit * LANES);
  expect(await unfinishedByLane()).toEqual(Array.from({ length: LANES }, () => limit));
  await stack().service.clearFaults();
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
});

test('no more calls are under way than there are slots', async () => {
  const service = await startHostileService(async ({ method }) => {
    if (method !== 'POST') return null;
    await new Promise((resolve) => setTimeout(resolve, 60));
    return { httpStatus: 201, body: '{"id":"Transaction:slow","status":"PENDING"}' };
  });
  await stack().startProcessor({ API_BASE_URL: service.baseUrl, API_MAX_CONCURRENCY: '3', API_TIMEOUT_MS: '20000' });
  const keys = Array.from({ length: 40 }, (_, index) => `slots-${index}`);
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key))));
  await stack().journal.resultsOfAll(keys);
  expect(service.mostAtOnce()).toBe(3);
  await stack().endProcessors();
  await service.close();
});

test('a body beyond the limit is not taken in; its command is not taken for a success', async () => {
  const service = await startHostileService(({ method }) =>
    method === 'POST' ? { httpStatus: 201, body: `{"id":"Transaction:huge","x":"${'y'.repeat(20_000_000)}"}` } : null,
  );
  const processor = await stack().startProcessor({
    API_BASE_URL: service.baseUrl,
    API_IDEMPOTENT_OPERATIONS: '',
  });
  await stack().publisher.publish('transfer-in', 'huge', transferInOf('huge'));
  expect((await stack().journal.result('huge')).value.outcome).toBe('UNKNOWN');
  expect((await processor.readiness()).reasons).toBeDefined();
  await stack().endProcessors();
  await service.close();
});

test('quotes that have run out when they come are made anew a few times, and then the command ends and says why', async () => {
  let quotes = 0;
  // Either its clock is behind, or ours is ahead.
  const service = await startHostileService(({ method, path }) => {
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
  expect(value.error?.message).toMatch(/6 quotes in a row had run out when it came/);
  expect(quotes).toBe(6);
  expect(service.requests.filter(({ path }) => path.endsWith('/execute'))).toEqual([]);
  const told = async () => processor.log().filter(({ event }) => event === 'quote-ran-out');
  const lines = await eventually(told, (all) => all.length === 6, 'the last quote to be told of');
  expect(lines.map(({ isMadeAnew }) => isMadeAnew)).toEqual([true, true, true, true, true, false]);
  await stack().endProcessors();
  await service.close();
});

test('a backlog stays in Kafka, not in memory', async () => {
  const processor = await stack().startProcessor({ MAX_UNFINISHED_PER_LANE: '2' });
  await stack().service.addFaults({ kind: 'status', operation: 'transfer-in', httpStatus: 429, retryAfter: 60 });
  const before = await residentBytes(processor.pid);
  // 120 MB of commands that are mostly blanks.
  const padding = ' '.repeat(40_000);
  const headers = { 'content-type': 'application/json' };
  const messagesOf = (batch: number) =>
    Array.from({ length: 20 }, (_, index) => {
      const key = `backlog-${batch}-${index}`;
      const value = `{"source":{"accountId":"ExternalAccount:payer-x"},${padding}"destination":{"accountId":"${accountOf(key)}"}}`;
      return { key, value, headers };
    });
  for (let batch = 0; batch < 150; batch += 1) await stack().publishRaw('transfer-in', ...messagesOf(batch));
  await eventually(unfinishedByLane, (lanes) => lanes.every((count) => count === 2), 'every lane to be full');
  const grownBytes = (await residentBytes(processor.pid)) - before;
  expect(grownBytes).toBeLessThan(80 * 1024 * 1024);
});

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 'NaN') * 1024;
}
