/**
 * Invariant I2: every call starts from a committed intent of the lane's owner, and never while an attempt is in doubt. Through a
 * real Kafka; frozen processes, copies and groups that fight are tried in virtual time (i2-no-money-twice-simulated.test.ts).
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, inject, test } from 'vitest';
import type { Gathered } from '../../proofs/chaos/chaos-evidence.ts';
import { judgeChaos } from '../../proofs/chaos/chaos-judgement.ts';
import { runChaos } from '../../proofs/chaos/chaos-scenario.ts';
import { publishTransfers, transferInOf } from '../support/commands.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';

const stack = useStack({ name: 'twice', sandbox: { settleMs: 0 } });

afterEach(async () => {
  await stack().endProcessors();
  await stack().service.clearFaults();
});

/** Accepted commands whose transaction no event tells of, or whose rejection is not the last that is told. */
function untold({ results, transactionEvents }: Pick<Gathered, 'results' | 'transactionEvents'>): string[] {
  const last = new Map(transactionEvents.map(({ key, value }) => [key, value.status]));
  const accepted = results.filter(({ value }) => value.outcome === 'ACCEPTED');
  const told = accepted.map(({ key, value: { commandType, quote, transaction } }) => {
    const status = last.get(transaction?.id ?? quote?.transactionId ?? '');
    return { key, status, isRejection: commandType === 'reject-transaction' };
  });
  return told
    .filter(({ isRejection, status }) => status === undefined || (isRejection && status !== 'REJECTED'))
    .map(({ key, status }) => `${key}: ${status}`);
}

test('a process that is killed at work moves no money twice, and leaves no command without its one result and its events', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'payment-kills-'));
  const evidence = await runChaos(
    {
      kafkaBrokers: inject('kafkaBrokers'),
      schemaRegistryUrl: inject('schemaRegistryUrl'),
      engine: null,
      directory,
      onProgress: () => undefined,
    },
    {
      minutes: 0.1,
      seed: 7,
      commandsPerSecond: 15,
      processors: 1,
      types: ['transfer-in', 'execute-quote', 'reject-transaction'],
      honourKeys: ['transfer-in'],
      disturbances: ['processor killed'],
      isPlain: true,
      poisonEveryMs: null,
      coordinatorEveryMs: Infinity,
      isTold: (found) => untold(found).length === 0,
    },
  );
  await rm(directory, { recursive: true });
  expect(evidence.disturbances['processor killed']).toBeGreaterThan(0);
  // Else a kill would prove nothing.
  expect(evidence.underWayAtKills.size).toBeGreaterThan(0);
  expect(judgeChaos(evidence).wrong).toEqual([]);
  expect(untold(evidence)).toEqual([]);
});

test('a second process that joins amid a backlog shares the lanes; each command is called and answered once', async () => {
  // Slow calls in few slots: most commands are fetched, and not yet admitted, when every position is rewound.
  await stack().service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 60 });
  // A machine that stands still for a while must neither end a call nor count a member out.
  const few = { API_MAX_CONCURRENCY: '1', API_TIMEOUT_MS: '15000', KAFKA_SESSION_TIMEOUT_MS: '10000' };
  const first = await stack().startProcessor(few);
  const keys = await publishTransfers(stack(), 'shared', 90);
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
