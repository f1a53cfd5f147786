/** What processes of one group report about the ledger and about trouble with lanes, in real runs. The tests run in order. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ownerRecords, OWNER_KEY } from '../../src/ledger/ledger-records.ts';
import type { ProcessorState } from '../../src/ops/processor-state.ts';
import type { RunningProcessor } from '../support/processor.ts';
import { accountOf, transferInOf } from '../support/commands.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

// If the service honours no keys, a lost answer becomes UNKNOWN.
const stack = useStack({
  name: 'group-metrics',
  sandbox: { honourKeys: [] },
  settings: { API_IDEMPOTENT_OPERATIONS: '' },
});

/** The process that runs after the restart. */
let processor: RunningProcessor;

/** The sum of a metric's series with these labels. */
async function valueOf(processor: RunningProcessor, name: string, labels = ''): Promise<number> {
  const lines = (await processor.metrics()).split('\n');
  const found = lines.filter(
    (line) => (line.startsWith(`${name} `) || line.startsWith(`${name}{`)) && line.includes(labels),
  );
  return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

async function stateOf(processor: RunningProcessor): Promise<ProcessorState> {
  return (await (await fetch(`${processor.httpUrl}/api/state`)).json()) as ProcessorState;
}

async function allLanesOpen(...processors: RunningProcessor[]): Promise<void> {
  const open = async (): Promise<number> => {
    const values = processors.map((processor) => valueOf(processor, 'payments_lanes', 'stage="open"'));
    return (await Promise.all(values)).reduce((sum, value) => sum + value, 0);
  };
  await eventually(open, (sum) => sum === LANES, 'all lanes to be open');
}

test('UNKNOWN is counted only by the lane owner, shown by all, survives a restart, and is gone once decided', async () => {
  const first = await stack().startProcessor();
  await stack().service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key: 'unclear', count: 1 });
  await stack().publisher.publish('transfer-in', 'unclear', transferInOf('unclear'));
  expect((await stack().journal.result('unclear')).value).toMatchObject({ outcome: 'UNKNOWN' });
  const second = await stack().startProcessor();
  await allLanesOpen(first, second);
  const counted = async (): Promise<number> =>
    (await valueOf(first, 'payments_unknown_results', 'transfer-in')) +
    (await valueOf(second, 'payments_unknown_results', 'transfer-in'));
  await eventually(counted, (sum) => sum === 1, 'the UNKNOWN result to be counted once');
  for (const processor of [first, second]) {
    const shown = (state: ProcessorState): boolean => state.unknownResults.waiting === 1;
    const state = await eventually(() => stateOf(processor), shown, 'the UNKNOWN result to be shown');
    expect(state.unknownResults.listed).toMatchObject([{ command: 'transfer-in' }]);
    expect(JSON.stringify(state)).not.toContain('unclear');
  }
  await stack().endProcessors();
  processor = await stack().startProcessor();
  const sum = (): Promise<number> => valueOf(processor, 'payments_unknown_results');
  await eventually(sum, (value) => value === 1, 'the UNKNOWN result to be counted after a restart');
  expect(await valueOf(processor, 'payments_unknown_oldest_seconds')).toBeGreaterThan(0);
  await stack().publishDecision('unclear', {
    ...{ decision: 'NOT_EXECUTED', expectedRevision: 1, transactionId: null },
    ...{ operator: 'ada', reason: 'looked up' },
  });
  await eventually(sum, (value) => value === 0, 'the decided result to be counted no more');
  expect((await stateOf(processor)).unknownResults).toMatchObject({ waiting: 0, oldestSeconds: null, listed: [] });
});

/** From the lane's current owner. */
async function transactionalIdOf(lane: number): Promise<string> {
  const owners = (await stack().readLedger()).filter(
    ({ key, partition, value }) => partition === lane && key?.toString() === OWNER_KEY && value !== null,
  );
  const last = owners.at(-1)?.value;
  if (last == null) throw new Error(`lane ${lane} has no owner`);
  return ownerRecords.decode(last).transactionalId;
}

test('lanes of a fenced process count as lost, and are acquired again', async () => {
  const intruder = stack().kafka.producer({
    transactionalId: await transactionalIdOf(1),
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await intruder.connect();
  try {
    const transaction = await intruder.transaction();
    await transaction.abort();
    for (let number = 0; number < 3 * LANES; number += 1) {
      await stack().publisher.publish('transfer-in', `after-${number}`, transferInOf(`after-${number}`));
    }
    for (let number = 0; number < 3 * LANES; number += 1) await stack().journal.result(`after-${number}`);
    expect(await valueOf(processor, 'payments_lanes_lost_total', 'fenced')).toBeGreaterThan(0);
    expect(await valueOf(processor, 'payments_lanes_lost_total')).toBe(LANES);
    await allLanesOpen(processor);
    expect(await valueOf(processor, 'payments_lane_uncommitted_seconds')).toBeLessThan(5);
  } finally {
    await intruder.disconnect();
  }
});

test("commands behind a publisher's open transaction are shown, though no lag counts them", async () => {
  const publisher = stack().kafka.producer({
    transactionalId: `publisher-${randomUUID()}`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await publisher.connect();
  try {
    const transaction = await publisher.transaction();
    const message = { key: 'open', value: JSON.stringify({ accountId: accountOf('open') }), partition: 2 };
    await transaction.send({ topic: stack().topics.commands['transfer-in'], messages: [message] });
    const labels = 'lane="2",command="transfer-in"';
    const held = (): Promise<number> => valueOf(processor, 'payments_held_back_messages', labels);
    await eventually(held, (value) => value === 1, 'the open transaction to be told');
    const age = (): Promise<number> => valueOf(processor, 'payments_held_back_seconds', labels);
    await eventually(age, (value) => value > 0, 'its age to be told');
    expect(await valueOf(processor, 'payments_lag_messages', labels)).toBe(0);
    await transaction.abort();
    await eventually(held, (value) => value === 0, 'the transaction to be over');
    expect(await age()).toBe(0);
  } finally {
    await publisher.disconnect();
  }
});
