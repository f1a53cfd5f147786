/** What each input takes of a lane's commits and of its time. Which inputs a commit moved: broken-producer.test.ts tells. */
import { afterEach, expect, test, vi } from 'vitest';
import type { InputHandlers } from '../../src/lanes/inputs/inputs.ts';
import { inputsOf, newTransaction, offerBatch, silence, topics } from './lane-in-memory.ts';

const transfers = topics.commands['transfer-in'];

afterEach(() => void vi.useRealTimers());

test('observations wait for something else that their lane commits, and not for long', async () => {
  vi.useFakeTimers();
  let taken = 0;
  let wakes = 0;
  const inputs = inputsOf([], { monotonicMs: () => 0 }, () => (wakes += 1));
  inputs.open(new Map([[topics.observations, 0n]]), null);
  const handlers = {
    observations: { name: 'observation', handle: () => ((taken += 1), null), setAside: silence },
  } as unknown as InputHandlers;
  const observe = async (offset: number): Promise<void> => {
    offerBatch(inputs, topics.observations, offset);
    await vi.advanceTimersByTimeAsync(0);
  };
  const admitted = (isWanted: boolean): number => {
    taken = 0;
    const transaction = newTransaction(9);
    if (isWanted) transaction.commitAnyway();
    inputs.admit(handlers, transaction, Infinity);
    return taken;
  };

  await observe(0);
  expect([admitted(false), wakes]).toEqual([0, 0]);
  expect(admitted(true)).toBe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(wakes).toBe(0);

  await observe(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([wakes, admitted(false)]).toEqual([1, 1]);
});

test('observations take half of the time, and leave commands the other', () => {
  let nowMs = 0;
  const inputs = inputsOf(['transfer-in'], { nowMs: () => nowMs, monotonicMs: () => nowMs });
  inputs.open(new Map(), null);
  for (const topic of [topics.observations, transfers]) offerBatch(inputs, topic, 0, 9);
  const taken = { observations: 0, commands: 0 };
  const handler = (name: keyof typeof taken) => ({
    name,
    handle: () => {
      nowMs += 10;
      taken[name] += 1;
      return null;
    },
    setAside: silence,
  });
  const transaction = newTransaction(18);
  transaction.commitAnyway();
  const handlers = { observations: handler('observations'), commands: handler('commands') };
  inputs.admit(handlers as unknown as InputHandlers, transaction, 60);
  // Half of the time is for each.
  expect(taken).toEqual({ observations: 3, commands: 3 });
});

test('an input with nothing to take leaves its turn to the next: where time is short, each that has something gets on', () => {
  const inputs = inputsOf(['transfer-in', 'create-quote', 'execute-quote'], { nowMs: () => 0, monotonicMs: () => 0 });
  inputs.open(new Map(), null);
  const filled = [topics.operatorDecisions, transfers];
  for (const topic of filled) offerBatch(inputs, topic, 0);
  const handler = { name: 'any', handle: () => null, setAside: silence };
  const handlers = { holds: handler, decisions: handler, observations: handler, commands: handler };
  const transaction = newTransaction();
  inputs.admit(handlers, transaction, -1);
  expect([...transaction.positions().keys()]).toEqual(filled);
  expect(transaction.isCutShort()).toBe(false);
});

test('a transaction is full before it has more than a batch may have', () => {
  const transaction = newTransaction();
  const value = Buffer.alloc(5 * 1024 * 1024);
  transaction.add({ topic: topics.ledger, partition: 0, key: 'key', value, headers: {} });
  expect(transaction.isFull()).toBe(true);
});

test('an idle lane says in the ledger what it has stepped over, once in ten seconds', () => {
  let nowMs = 0;
  const inputs = inputsOf(['transfer-in'], { monotonicMs: () => nowMs });
  inputs.open(new Map([[transfers, 0n]]), null);
  const isCommitted = (): boolean => {
    const transaction = newTransaction();
    inputs.admit({} as InputHandlers, transaction, Infinity);
    return !transaction.isEmpty();
  };
  inputs.passFiltered({ topic: transfers, lane: 0, leaderEpoch: 0, fetchedOffset: 0n, lastOffset: 4n });
  expect(isCommitted()).toBe(false);
  nowMs += 10_000;
  expect(isCommitted()).toBe(true);
  inputs.moved(inputs.next(new Map()));
  nowMs += 10_000;
  expect(isCommitted()).toBe(false);
});
