/** Processes that come and go take their lanes over from each other without a pause in between. */
import { afterAll, beforeAll, afterEach, expect, inject, test } from 'vitest';
import { writeLedger } from '../bench/take-over-ledger.ts';
import { LANES, Stack } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { transferInOf } from '../../test/support/commands.ts';

/** Longer than the test: nobody is counted out, and whatever is handed over was handed over in order. */
const SLOW = { KAFKA_SESSION_TIMEOUT_MS: '30000', KAFKA_HEARTBEAT_INTERVAL_MS: '1000' };
/** Read in a second or two. */
const KEYS = 30_000;

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.open({
    name: 'handing-over',
    kafkaBrokers: inject('kafkaBrokers'),
    schemaRegistryUrl: inject('schemaRegistryUrl'),
    settings: SLOW,
  });
});
afterEach(() => stack.endProcessors());
afterAll(() => stack.close());

test('a process that ends serves its lanes until the group has given them to others', async () => {
  const [leaves, stays] = [await stack.startProcessor(), await stack.startProcessor()];
  await eventually(
    async () => stays.openedLanes().length + leaves.assignedLanes().length,
    (count) => count === LANES,
    'the lanes shared out',
    20_000,
  );
  const given = [...leaves.assignedLanes()];
  expect(given).not.toEqual([]);
  const ended = leaves.stop();
  await leaves.logged('ending');
  const keys = Array.from({ length: 30 }, (_, index) => `while-leaving-${index}`);
  for (const key of keys) {
    await stack.publisher.publish('transfer-in', key, transferInOf(key));
    await stack.journal.result(key);
  }
  expect(await ended).toEqual({ code: 0, signal: null });
  const order = leaves.log().filter(({ event }) => ['ending', 'lanes-assigned', 'ended'].includes(event ?? ''));
  expect(order.slice(-3)).toMatchObject([
    { event: 'ending' },
    { event: 'lanes-assigned', lanes: [] },
    { event: 'ended' },
  ]);
  // Each member learns for itself what the group has decided.
  await eventually(
    async () => stays.assignedLanes().length,
    (count) => count === LANES,
    'all lanes with the one that stays',
  );
  expect(stays.log().filter(({ event }) => event === 'owner-fenced')).toEqual([]);
});

test('a process that starts joins once it has read the ledger, while another serves the lanes', async () => {
  await writeLedger(stack, { keys: KEYS, lanes: LANES }, () => undefined);
  const serves = await stack.startProcessor();
  const remembered = async (processor: typeof serves): Promise<number> =>
    Number(/^payments_keys_remembered (\S+)$/m.exec(await processor.metrics())?.[1] ?? 0);
  await eventually(
    () => remembered(serves),
    (count) => count >= KEYS,
    'the ledger read',
    60_000,
  );
  const joins = await stack.spawnProcessor();
  await joins.logged('lanes-assigned');
  expect(await remembered(joins)).toBeGreaterThanOrEqual(KEYS);
});
