/** Invariant I2: every call starts from a committed intent of the lane's owner, and never while an attempt is in doubt. */
import { afterEach, expect, inject, test } from 'vitest';
import { judge } from '../../proofs/chaos/kill-judgement.ts';
import { runKills } from '../../proofs/chaos/kill-scenario.ts';
import { accountOf, STARTING_BALANCE, transferInOf } from '../support/commands.ts';
import type { LogLine } from '../support/processor.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'twice', sandbox: { settleMs: 0 } });

afterEach(async () => {
  await stack().endProcessors();
  await stack().service.clearFaults();
});

test('a process that is killed at work moves no money twice, and leaves no command without its one result', async () => {
  const evidence = await runKills({
    kafkaBrokers: inject('kafkaBrokers'),
    schemaRegistryUrl: inject('schemaRegistryUrl'),
    commands: 15,
    kills: 1,
    seed: 7,
    onProgress: () => undefined,
  });
  expect(judge(evidence).wrong).toEqual([]);
});

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

test('a second process that joins amid a backlog shares the lanes; each command is called and answered once', async () => {
  // Slow calls in few slots: most commands are fetched, and not yet admitted, when every position is rewound.
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 60 });
  // A machine that stands still for a while must neither end a call nor count a member out.
  const few = { API_MAX_CONCURRENCY: '1', API_TIMEOUT_MS: '15000', KAFKA_SESSION_TIMEOUT_MS: '10000' };
  const first = await stack().startProcessor(few);
  const keys = Array.from({ length: 90 }, (_, index) => `shared-${index}`);
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key))));
  const second = await stack().startProcessor(few);
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
  await stack().publisher.publish('transfer-in', 'shared-last', transferInOf('shared-last'));
  await stack().journal.result('shared-last');
  expect(keys.filter((key) => stack().journal.results(key).length !== 1)).toEqual([]);
  const { operations } = await stack().service.effects();
  const tallies = keys.map((key) => operations['transfer-in'][key]);
  expect(tallies.map((tally) => [tally?.calls, tally?.effects])).toEqual(keys.map(() => [1, 1]));
  expect(first.openedLanes()).toHaveLength(LANES);
  expect(second.openedLanes().length).toBeGreaterThan(0);
});

test('a process that was frozen, and replaced, wakes up without calling anything', async () => {
  // Slow calls and one slot: most intents of the frozen process have not been called.
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 400, count: 4 });
  const frozen = await stack().startProcessor({ API_MAX_CONCURRENCY: '1' });
  const keys = Array.from({ length: 10 }, (_, index) => `frozen-${index}`);
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key))));
  const tallies = async () => {
    const { operations } = await stack().service.effects();
    return keys.map((key) => operations['transfer-in'][key] ?? { calls: 0, effects: 0 });
  };
  await eventually(tallies, (all) => all.some(({ calls }) => calls > 0), 'the first call');
  frozen.freeze();
  await stack().startProcessor();
  await stack().journal.resultsOfAll(keys);
  const before = await tallies();
  const linesBefore = frozen.lines.length;
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

test('of two groups on one prefix, which take lanes from each other, one alone calls for a command', async () => {
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 100 });
  const keys = Array.from({ length: 60 }, (_, index) => `groups-${index}`);
  const { KAFKA_GROUP_ID: group = '', STATE_DIR: stateDir = '' } = stack().environment;
  // No key is honoured, so that nothing may ever be called again.
  const unkeyed = { API_IDEMPOTENT_OPERATIONS: '', API_MAX_CONCURRENCY: '2' };
  const first = await stack().startProcessor(unkeyed);
  await Promise.all(keys.map((key) => stack().publisher.publish('transfer-in', key, transferInOf(key))));
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
