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

const MINUTE_MS = 60_000;

interface TakenBack {
  readonly isRejection?: boolean;
  /** Statuses after the call, each from so many ms on. */
  readonly shown: readonly (readonly [fromMs: number, status: string])[];
  /** The service's clocks: how much later than PENDING the effect has its updatedAt. */
  readonly updatedByMs?: number;
  /** When it was created, before the processor's first start. */
  readonly agoMs?: number;
}

test.each<[string, TakenBack]>([
  [
    'an execution',
    {
      shown: [
        [0, 'PROCESSING'],
        [17_000, 'PENDING'],
      ],
    },
  ],
  [
    'an execution, by a clock that is behind',
    {
      shown: [
        [0, 'PROCESSING'],
        [17_000, 'PENDING'],
      ],
      updatedByMs: -500,
    },
  ],
  [
    'an execution of an older transaction',
    {
      shown: [
        [0, 'PROCESSING'],
        [17_000, 'PENDING'],
      ],
      agoMs: MINUTE_MS,
    },
  ],
  [
    'a rejection',
    {
      isRejection: true,
      shown: [
        [0, 'REJECTED'],
        [9_000, 'PROCESSING'],
        [17_000, 'PENDING'],
      ],
    },
  ],
  [
    'a rejection, which PROCESSING would refute',
    {
      isRejection: true,
      shown: [
        [0, 'REJECTED'],
        [9_000, 'PROCESSING'],
      ],
    },
  ],
])('an effect that only the poller saw, before a replica took it back, is not denied: %s', async (_case, taken) => {
  const [seen = '', last = ''] = [taken.shown[0]?.[1], taken.shown.at(-1)?.[1]];
  const createdMs = Date.now() - (taken.agoMs ?? 0);
  let calledMs = Infinity;
  let calls = 0;
  const view = (): object => {
    const sinceMs = Date.now() - calledMs;
    // The replica shows the effect again only long after the command's time limit.
    const isLate = sinceMs > MINUTE_MS;
    const status = isLate ? seen : (taken.shown.findLast(([fromMs]) => sinceMs >= fromMs)?.[1] ?? 'PENDING');
    const effectMs = taken.updatedByMs ?? null;
    const updatedMs = createdMs + (isLate ? 1_000 : status === seen ? (effectMs ?? 0) : 0);
    const updatedAt = effectMs === null ? null : new Date(updatedMs).toISOString();
    return { status, ...(updatedAt && { updatedAt }) };
  };
  const shown = {
    id: 'Transaction:1',
    ...(taken.isRejection ? { type: 'INCOMING' } : { type: 'OUTGOING', quoteId: 'Quote:1' }),
    createdAt: new Date(createdMs).toISOString(),
  };
  const service = await stack().hostileService(async ({ method }) => {
    if (method === 'GET')
      return { httpStatus: 200, body: JSON.stringify({ data: [{ ...shown, ...view() }], hasMore: false }) };
    calls += 1;
    calledMs = Math.min(calledMs, Date.now());
    await sleep(MINUTE_MS);
    return null;
  });
  const settings = { API_BASE_URL: service.baseUrl, API_TIMEOUT_MS: '10000', SETTLING_TIME_MS: '10000' };
  await stack().startProcessor({
    ...{ ...settings, POLL_INTERVAL_MS: '5000' },
    ...(taken.agoMs === undefined && { POLL_START: shown.createdAt }),
  });
  const statuses = () =>
    stack()
      .journal.transactionEvents(shown.id)
      .map(({ value }) => value.status);
  if (taken.agoMs === undefined) await stack().journal.until(() => statuses().includes('PENDING'), 'the payment');
  const options = { expiresAt: new Date(Date.now() + 30_000) };
  if (taken.isRejection)
    await stack().publisher.publish('reject-transaction', 'seen', { transactionId: shown.id }, options);
  else
    await stack().publisher.publish('execute-quote', 'seen', { quoteId: 'Quote:1', transactionId: shown.id }, options);
  const { value } = await stack().journal.result('seen', 300_000);
  expect([value.outcome, value.error?.message]).toEqual([
    'UNKNOWN',
    expect.stringContaining(`is ${last} now, but was seen ${seen} before`),
  ]);
  expect(calls).toBe(1);
  await stack().journal.until(() => statuses().includes(seen), 'its effect', 300_000);
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
