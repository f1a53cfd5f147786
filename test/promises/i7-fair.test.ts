/** Invariant I7: no class of work waits for another's backlog. */
import { expect } from 'vitest';
import type { CommandType } from 'payment-processor-contract/commands';
import { createQuoteOf, executionOf, keysOfLane, rejectionOf, transferInOf } from '../support/commands.ts';
import type { EffectsReport } from '../support/sandbox-control.ts';
import { eventually } from '../support/watch.ts';
import { stackTests } from '../support/with-stack.ts';

const { stack, test } = stackTests({ name: 'fair', sandbox: { quoteLifetimeMs: 600_000 } });

const CHANGES: readonly CommandType[] = ['transfer-in', 'create-quote', 'execute-quote', 'reject-transaction'];
const TRANSFERS = 400;
/** Transfers of which the backlog has surely begun to be worked off. */
const BEGUN = 20;
const BACKLOG_MS_MAX = 120_000;

async function slowDown(delayMs: number): Promise<void> {
  await stack().service.addFaults(...CHANGES.map((operation) => ({ kind: 'delay', operation, delayMs })));
}

/** How many of the backlog were answered before the result of the key came. */
function answeredBefore(backlog: ReadonlySet<string>, key: string): number {
  const results = stack().journal.results();
  const until = results.findIndex((result) => result.key === key);
  return results.slice(0, until).filter((result) => backlog.has(result.key)).length;
}

test.each([
  { name: 'few call slots', delayMs: 80, settings: { API_MAX_CONCURRENCY: '3' } },
  { name: 'a limit of calls per second', delayMs: 0, settings: { API_MAX_RPS: '40' } },
])(
  'an execution, a rejection and a two-step quote do not wait for a backlog of transfers: $name',
  async ({ delayMs, settings }) => {
    const run = `fair-${delayMs}`;
    const urgent = [`${run}-execution`, `${run}-rejection`, `${run}-quote`] as const;
    const [execution, rejection] = [await executionOf(stack(), urgent[0]), await rejectionOf(stack(), urgent[1])];
    await slowDown(delayMs);
    await stack().startProcessor(settings);
    const backlog = new Set(Array.from({ length: TRANSFERS }, (_, index) => `${run}-${index}`));
    await Promise.all([...backlog].map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key))));
    const answered = (): number =>
      stack()
        .journal.results()
        .filter(({ key }) => backlog.has(key)).length;
    await stack().journal.until(() => answered() >= BEGUN, 'the backlog to be begun');
    const begun = answered();
    expect(begun).toBeLessThan((TRANSFERS * 3) / 4);
    await Promise.all([
      stack().publisher.publish('execute-quote', urgent[0], execution),
      stack().publisher.publish('reject-transaction', urgent[1], rejection),
      stack().publisher.publish('create-quote', urgent[2], { ...createQuoteOf(urgent[2]), immediatelyExecute: true }),
    ]);
    const results = await stack().journal.resultsOfAll([...urgent, ...backlog], BACKLOG_MS_MAX);
    expect(new Set(results.map(({ value }) => value.outcome))).toEqual(new Set(['ACCEPTED']));
    const waited = urgent.map((key) => ({ key, transfers: answeredBefore(backlog, key) }));
    expect(waited.filter(({ transfers }) => transfers - begun > ((TRANSFERS - begun) * 3) / 4)).toEqual([]);
  },
);

test('commands that always fail do not keep the single calls of an open breaker for themselves', async () => {
  // All in one lane, for each lane takes its own turn.
  const [good = '', ...failing] = keysOfLane('fair-single', 0, 9);
  await stack().service.addFaults(
    ...failing.map((key) => ({ kind: 'status', operation: 'transfer-in', key, httpStatus: 500 })),
  );
  const processor = await stack().startProcessor();
  for (const key of failing) await stack().publisher.publish('transfer-in', key, transferInOf(key));
  await eventually(
    async () => processor.log().some(({ event, stage }) => event === 'breaker-changed' && stage === 'open'),
    (isOpen) => isOpen,
    'the breaker to open',
  );
  const callsOf = ({ operations }: EffectsReport, keys: readonly string[]): number =>
    keys.reduce((sum, key) => sum + (operations['transfer-in'][key]?.calls ?? 0), 0);
  await stack().publisher.publish('transfer-in', good, transferInOf(good));
  const before = callsOf(await stack().service.effects(), failing);
  const called = await eventually(
    () => stack().service.effects(),
    (effects) => callsOf(effects, [good]) > 0,
    'the call of the good one',
  );
  // Every other one is for what is new.
  expect(callsOf(called, failing) - before).toBeLessThan(failing.length);
  expect((await stack().journal.result(good)).value.outcome).toBe('ACCEPTED');
});

test('of many two-step quotes each is executed before so many others are made that it expires', async () => {
  await stack().service.set({ quoteLifetimeMs: 12_000 });
  await slowDown(100);
  const keys = Array.from({ length: 480 }, (_, index) => `fair-mass-${index}`);
  await Promise.all(
    keys.map((key) =>
      stack().publisher.publish('create-quote', key, { ...createQuoteOf(key), immediatelyExecute: true }),
    ),
  );
  await stack().startProcessor({ API_MAX_CONCURRENCY: '4', API_TIMEOUT_MS: '20000' });
  const results = await stack().journal.resultsOfAll(keys, BACKLOG_MS_MAX);
  const { operations } = await stack().service.effects();
  const outcomes = keys.map((key, index) => ({
    key,
    outcome: results[index]?.value.outcome,
    quotes: operations['create-quote'][key]?.effects,
  }));
  expect(outcomes).toEqual(keys.map((key) => ({ key, outcome: 'ACCEPTED', quotes: 1 })));
});
