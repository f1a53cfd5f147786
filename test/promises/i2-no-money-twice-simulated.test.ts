/** Invariant I2 in virtual time: copies, a process that wakes up replaced, and groups that take lanes from each other. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { accountOf, createQuoteOf, publishTransfers, STARTING_BALANCE, transferInOf } from '../support/commands.ts';
import type { LogLine } from '../support/processor.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({ name: 'twice', sandbox: { settleMs: 0 } });

test('copies of a command, however many and however fast, are one call', async () => {
  await stack().startProcessor({ API_TIMEOUT_MS: '15000' });
  await Promise.all(
    Array.from({ length: 40 }, () => stack().publisher.publish('transfer-in', 'copies', transferInOf('copies'))),
  );
  await stack().journal.result('copies');
  await stack().publisher.publish('transfer-in', 'copies', transferInOf('copies'), { commandId: 'the-last' });
  await stack().journal.until(
    () =>
      stack()
        .journal.results('copies')
        .some(({ headers }) => headers['in-reply-to'] === 'the-last'),
    'the reply to the last copy',
  );
  const { operations } = await stack().service.effects();
  expect(operations['transfer-in']['copies']).toMatchObject({ calls: 1, effects: 1 });
  expect((await stack().service.balanceOf(accountOf('copies'))) - STARTING_BALANCE).toBe(100n);
});

test('a process that was frozen, and replaced, wakes up without calling anything', async () => {
  // Slow calls and one slot: most intents of the frozen process have not been called.
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 400, count: 4 });
  const frozen = await stack().startProcessor({ API_MAX_CONCURRENCY: '1' });
  const keys = await publishTransfers(stack(), 'frozen', 10);
  const tallies = async () => {
    const { operations } = await stack().service.effects();
    return keys.map((key) => operations['transfer-in'][key] ?? { calls: 0, effects: 0 });
  };
  await eventually(tallies, (all) => all.some(({ calls }) => calls > 0), 'the first call');
  frozen.freeze();
  await stack().startProcessor();
  await stack().journal.resultsOfAll(keys);
  const before = await tallies();
  const linesBefore = frozen.log().length;
  frozen.thaw();
  // It notices that its place was taken, and joins again.
  await eventually(
    async () => frozen.log().slice(linesBefore),
    (lines) => lines.some(({ event }) => event === 'lanes-assigned'),
    'the woken process to join the group again',
  );
  await stack().publisher.publish('transfer-in', 'after-frozen', transferInOf('after-frozen'));
  await stack().journal.result('after-frozen');
  expect(await tallies()).toEqual(before);
  expect(before.map(({ effects }) => effects)).toEqual(keys.map(() => 1));
  for (const key of keys) expect(stack().journal.results(key)).toHaveLength(1);
});

/** Publishes a command whose answers are lost, and starts the processor again under another API_TOKEN_ID. */
async function resultUnderAnotherToken(type: 'transfer-in' | 'create-quote', fields: object) {
  const key = `rotated-${type}`;
  await stack().service.addFaults({ kind: 'drop-after', operation: type, key });
  const before = await stack().startProcessor();
  await stack().publisher.publish(type, key, fields);
  const tally = async () => (await stack().service.effects()).operations[type][key];
  await eventually(tally, (one) => (one?.calls ?? 0) > 1, 'a call that was repeated');
  await before.stop();
  await stack().service.clearFaults();
  await stack().startProcessor({ API_TOKEN_ID: 'another' });
  const { value } = await stack().journal.result(key);
  return { result: value, effects: (await tally())?.effects };
}

test('a call in doubt is not repeated under another API_TOKEN_ID, for which the service may keep keys of its own', async () => {
  const { effects, result } = await resultUnderAnotherToken('transfer-in', transferInOf('rotated'));
  expect(result.outcome).toBe('UNKNOWN');
  expect(result.error?.message).toContain('API_TOKEN_ID was changed');
  expect(effects).toBe(1);
});

test('a quote in doubt is asked for again under another API_TOKEN_ID: it moves no money', async () => {
  const { result } = await resultUnderAnotherToken('create-quote', createQuoteOf('rotated'));
  expect(result.outcome).toBe('ACCEPTED');
});

test('an effect that only the poller saw, before a replica took it back, rules out that nothing took effect', async () => {
  const shown = { id: 'Transaction:1', type: 'OUTGOING', quoteId: 'Quote:1', createdAt: new Date().toISOString() };
  let executedMs: number | null = null;
  const status = (): string => {
    if (executedMs === null) return 'PENDING';
    // The replica shows it again only long after the command's time limit.
    return Date.now() - executedMs < 17_000 ? 'PROCESSING' : Date.now() - executedMs < 60_000 ? 'PENDING' : 'COMPLETED';
  };
  const service = await stack().hostileService(async ({ method }) => {
    if (method === 'GET')
      return { httpStatus: 200, body: JSON.stringify({ data: [{ ...shown, status: status() }], hasMore: false }) };
    executedMs ??= Date.now();
    await sleep(60_000);
    return null;
  });
  const settings = { API_BASE_URL: service.baseUrl, API_TIMEOUT_MS: '10000', SETTLING_TIME_MS: '10000' };
  await stack().startProcessor({ ...settings, POLL_INTERVAL_MS: '5000', POLL_START: shown.createdAt });
  const statuses = () =>
    stack()
      .journal.transactionEvents(shown.id)
      .map(({ value }) => value.status);
  await stack().journal.until(() => statuses().includes('PENDING'), 'the payment to be known');
  const command = { quoteId: shown.quoteId, transactionId: shown.id };
  const expiresAt = new Date(Date.now() + 30_000);
  await stack().publisher.publish('execute-quote', 'seen-before', command, { expiresAt });
  const { value } = await stack().journal.result('seen-before', 300_000);
  expect([value.outcome, value.error?.message]).toEqual([
    'UNKNOWN',
    expect.stringContaining('is PENDING now, but was seen PROCESSING before'),
  ]);
  await stack().journal.until(() => statuses().includes('COMPLETED'), 'its end');
  expect(statuses()).toEqual(expect.arrayContaining(['PENDING', 'COMPLETED']));
});

test('an execution that is answered with another quote, EXPIRED, is in doubt', async () => {
  const shown = { id: 'Transaction:1', type: 'OUTGOING', quoteId: 'Quote:1', createdAt: new Date().toISOString() };
  const other = { id: 'Quote:2', status: 'EXPIRED', transactionId: 'Transaction:2' };
  const service = await stack().hostileService(({ method }) => {
    const body = method === 'GET' ? { data: [{ ...shown, status: 'PROCESSING' }], hasMore: false } : other;
    return { httpStatus: 200, body: JSON.stringify(body) };
  });
  await stack().startProcessor({ API_BASE_URL: service.baseUrl });
  await stack().publisher.publish('execute-quote', 'other', { quoteId: 'Quote:1', transactionId: shown.id });
  const { value } = await stack().journal.result('other', 300_000);
  expect(value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'LOOKUP' });
});

test('of two groups on one prefix, which take lanes from each other, one alone calls for a command', async () => {
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 100 });
  const { KAFKA_GROUP_ID: group = '', STATE_DIR: stateDir = '' } = stack().environment;
  // No key is honoured, so that nothing may ever be called again.
  const unkeyed = { API_IDEMPOTENT_OPERATIONS: '', API_MAX_CONCURRENCY: '2' };
  const first = await stack().startProcessor(unkeyed);
  const keys = await publishTransfers(stack(), 'groups', 60);
  const second = await stack().spawnProcessor({
    ...unkeyed,
    KAFKA_GROUP_ID: `${group}-other`,
    STATE_DIR: `${stateDir}/other`,
  });
  // One that has lost a lane learns of it with its next commit: there has to be something to commit.
  await eventually(
    async () => {
      const key = `groups-${keys.length}`;
      keys.push(key);
      await stack().publisher.publish('transfer-in', key, transferInOf(key));
      return [first, second].filter((processor) => processor.log().some(isTakingFromAnother)).length;
    },
    (takers) => takers === 2,
    'lanes that each took from the other',
    60_000,
  );
  await stack().journal.resultsOfAll(keys);
  const { operations } = await stack().service.effects();
  const seen = keys.map((key) => [operations['transfer-in'][key]?.calls ?? 0, stack().journal.results(key).length]);
  expect(seen.filter(([calls, results]) => (calls ?? 0) > 1 || results !== 1)).toEqual([]);
});

function isTakingFromAnother({ event }: LogLine): boolean {
  return event === 'lane-of-another-group';
}

test('a payment that stays PENDING longer than its quote lives is not made again, though its answer is lost', async () => {
  const { journal, publisher, service } = stack();
  await service.set({ settleMs: 20_000, quoteLifetimeMs: 15_000 });
  await service.addFaults({ kind: 'drop-after', operation: 'execute-quote', count: 1 });
  // The look-up comes after 20 s.
  await stack().startProcessor({ API_TIMEOUT_MS: '10000', SETTLING_TIME_MS: '10000' });
  // The account's payments stay PENDING for a minute, and then fail.
  const source = { sourceType: 'ACCOUNT', accountId: 'InternalAccount:pending-005' };
  const fields = { ...createQuoteOf('pending'), source, immediatelyExecute: true };
  await publisher.publish('create-quote', 'pending', fields);
  const { value } = await journal.result('pending', 600_000);
  const { operations, quotes } = await service.effects();
  expect(Object.values(quotes).map(({ executions }) => executions)).toEqual([1]);
  expect(operations['create-quote']['pending']).toMatchObject({ calls: 1 });
  expect(value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'LOOKUP', transaction: { status: 'FAILED' } });
});
