/** Invariant I5 in virtual time: while the service fails, refuses us or asks us to wait, commands wait; none is refused or buried. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { createQuoteOf, executionOf, keysOfLane, rejectionOf, transferInOf } from '../support/commands.ts';
import { allAccepted, reasonsOf } from '../support/outage.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({ name: 'outage' });

/** One command of each kind that changes something; their quote and payment are made at once. */
async function prepareAll(prefix: string): Promise<{ keys: string[]; publish(): Promise<unknown> }> {
  const { publisher } = stack();
  const key = (type: string): string => `${prefix}-${type}`;
  const execution = await executionOf(stack(), key('execute'));
  const rejection = await rejectionOf(stack(), key('reject'));
  return {
    keys: ['transfer', 'quote', 'execute', 'reject'].map(key),
    publish: () =>
      Promise.all([
        publisher.publish('transfer-in', key('transfer'), transferInOf(key('transfer'))),
        publisher.publish('create-quote', key('quote'), createQuoteOf(key('quote'))),
        publisher.publish('execute-quote', key('execute'), execution),
        publisher.publish('reject-transaction', key('reject'), rejection),
      ]),
  };
}

const expectAllAccepted = (keys: readonly string[]): Promise<void> => allAccepted(stack(), keys);

test('while every call is answered with 503, transfers in and quotes wait, and are answered when it is over', async () => {
  await stack().service.addFaults(
    { kind: 'status', operation: 'transfer-in', httpStatus: 503 },
    { kind: 'status', operation: 'create-quote', httpStatus: 500 },
  );
  await stack().startProcessor();
  const { publisher, journal, service } = stack();
  const transfers = ['busy-1', 'busy-2', 'busy-3'];
  for (const key of transfers) await publisher.publish('transfer-in', key, transferInOf(key));
  const quotes = ['busy-quote-1', 'busy-quote-2'];
  for (const key of quotes) await publisher.publish('create-quote', key, createQuoteOf(key));
  await eventually(
    () => service.effects(),
    ({ totals }) => (totals['transfer-in']?.calls ?? 0) > 0 && (totals['create-quote']?.calls ?? 0) > 0,
    'the first calls',
  );
  expect(journal.results().filter(({ key }) => key.startsWith('busy'))).toEqual([]);
  await service.clearFaults();
  await expectAllAccepted([...transfers, ...quotes]);
  const { operations } = await service.effects();
  expect(transfers.map((key) => operations['transfer-in'][key]?.effects)).toEqual([1, 1, 1]);
});

test('while our credentials are refused, commands of every kind wait and readiness says so', async () => {
  const processor = await stack().startProcessor();
  const { journal, service } = stack();
  const commands = await prepareAll('credentials');
  await service.addFaults({ kind: 'status', operation: 'any', httpStatus: 401 });
  await commands.publish();
  await reasonsOf(processor, /held.*401/);
  expect(journal.results().filter(({ key }) => commands.keys.includes(key))).toEqual([]);
  await service.clearFaults();
  await expectAllAccepted(commands.keys);
});

test('a 429 is waited out; the command is answered by the first call that is let through', async () => {
  await stack().service.addFaults(
    { kind: 'status', operation: 'list-transactions', httpStatus: 429, retryAfter: 1, count: 1 },
    { kind: 'status', operation: 'transfer-in', httpStatus: 429, retryAfter: 1, count: 2 },
  );
  await stack().startProcessor({ API_TIMEOUT_MS: '15000' });
  await stack().publisher.publish('transfer-in', 'told', transferInOf('told'));
  await expectAllAccepted(['told']);
  const { operations } = await stack().service.effects();
  expect(operations['transfer-in']['told']).toMatchObject({ calls: 3, effects: 1 });
});

test.each<[string, number]>([
  ['one command got a 404', 30_000],
  ['the breaker opened', 180_000],
])('transfers are answered while only the list is away for ten minutes, though %s', async (trouble, waitMsMax) => {
  const { journal, publisher, service } = stack();
  await stack().startProcessor();
  await service.addFaults({ kind: 'status', operation: 'list-transactions', httpStatus: 503 });
  if (trouble === 'the breaker opened') {
    await service.addFaults({ kind: 'status', operation: 'transfer-in', httpStatus: 503, count: 12 });
    const keys = Array.from({ length: 20 }, (_, each) => `many-${each}`);
    for (const key of keys) await publisher.publish('transfer-in', key, transferInOf(key));
  } else await publisher.publish('reject-transaction', 'refused', { transactionId: 'Transaction:none' });
  const results: Promise<unknown>[] = [];
  for (let each = 0; each < 100; each += 1) {
    await sleep(6_000);
    const key = `alone-${each}`;
    await publisher.publish('transfer-in', key, transferInOf(key));
    results.push(journal.result(key, waitMsMax));
  }
  await Promise.all(results);
  expect(journal.results().some(({ key }) => key === 'refused')).toBe(false);
});

test('an hour without the service leaves few transfers in doubt: the others were never sent', async () => {
  const { journal, publisher, service } = stack();
  await stack().startProcessor({ BREAKER_RESET_MS: '5000', API_TIMEOUT_MS: '10000', SETTLING_TIME_MS: '10000' });
  await service.addFaults({ kind: 'status', operation: 'any', httpStatus: 503 });
  const keys = Array.from({ length: 720 }, (_, each) => `hour-${each}`);
  for (const key of keys) {
    await sleep(5_000);
    const expiresAt = new Date(Date.now() + 300_000);
    await publisher.publish('transfer-in', key, transferInOf(key), { expiresAt });
  }
  const outcomes = (await journal.resultsOfAll(keys, 330_000)).map(({ value }) => value.outcome);
  const unknown = outcomes.filter((outcome) => outcome === 'UNKNOWN');
  expect(unknown.length).toBeLessThan(10);
  expect(outcomes.filter((outcome) => outcome === 'EXPIRED')).toHaveLength(keys.length - unknown.length);
});

test('while only executions fail, plain quotes are made, also behind quotes whose execution waits', async () => {
  await stack().service.addFaults({ kind: 'status', operation: 'execute-quote', httpStatus: 503 });
  await stack().startProcessor({ API_MAX_CONCURRENCY: '4' });
  const { journal, publisher, service } = stack();
  const immediate = keysOfLane('immediate', 0, 40);
  for (const key of immediate)
    await publisher.publish('create-quote', key, { ...createQuoteOf(key), immediatelyExecute: true });
  const [plain = ''] = keysOfLane('plain', 0, 1);
  await publisher.publish('create-quote', plain, createQuoteOf(plain));
  expect((await journal.result(plain, 60_000)).value.outcome).toBe('ACCEPTED');
  expect(immediate.filter((key) => journal.results(key).length > 0)).toEqual([]);
  await service.clearFaults();
  await expectAllAccepted(immediate);
});
