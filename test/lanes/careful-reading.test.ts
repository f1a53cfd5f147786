/** A lane that reads one message at a time (I6). */
import { afterEach, expect, test, vi } from 'vitest';
import { CarefulReading } from '../../src/lanes/inputs/careful-reading.ts';
import type { InputHandlers } from '../../src/lanes/inputs/inputs.ts';
import { inputsOf, newTransaction, offerBatch, silence, topics } from './lane-in-memory.ts';

const MESSAGES_MAX = 1_000;
const transfers = topics.commands['transfer-in'];

afterEach(() => void vi.useRealTimers());

test('a message is marked before it is read, and all others wait until it is committed', () => {
  const careful = new CarefulReading({ topic: 'one', offset: 5n, tries: 1 });
  expect(careful.before('one', 5n)).toEqual({ kind: 'mark', mark: { topic: 'one', offset: 5n, tries: 2 } });
  careful.committed(new Map([['one', 5n]]));
  expect(careful.before('two', 0n)).toEqual({ kind: 'not-now' });
  expect(careful.before('one', 5n)).toEqual({ kind: 'read' });
  // It failed, and is read again: its turn goes on.
  expect(careful.before('one', 5n)).toEqual({ kind: 'read' });
  careful.committed(new Map([['one', 6n]]));
  expect(careful.before('two', 0n)).toEqual({ kind: 'mark', mark: { topic: 'two', offset: 0n, tries: 1 } });
});

test('once careful reading is over, the messages of all topics are read as they come', () => {
  const careful = new CarefulReading(null);
  for (let offset = 0n; offset < MESSAGES_MAX && !careful.isOver(); offset += 1n) {
    careful.before('one', offset);
    careful.committed(new Map([['one', offset + 1n]]));
  }
  expect(careful.isOver()).toBe(true);
  for (const topic of ['one', 'two', 'three']) expect(careful.before(topic, 2_000n)).toEqual({ kind: 'read' });
});

test('a message that must wait for what is not its fault gives its turn away, and its mark is cleared', () => {
  const careful = new CarefulReading(null);
  careful.before('one', 5n);
  careful.postponed('one', true);
  expect(careful.isMarkStale()).toBe(true);
  careful.markCleared();
  expect(careful.isMarkStale()).toBe(false);
  expect(careful.before('two', 0n).kind).toBe('mark');
});

test('a message that waits for the registry gives its turn away as often as it is asked for, and is marked anew', async () => {
  vi.useFakeTimers();
  const registry = { decode: async () => ({ kind: 'unavailable', problem: 'away' }) };
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const inputs = inputsOf(['transfer-in'], clock, silence, { registry, maxAgeMs: {} });
  const careful = new CarefulReading(null);
  inputs.open(new Map([topics.operatorDecisions, transfers].map((topic) => [topic, 0n])), careful);
  const handler = { name: 'any', handle: () => null, setAside: silence };
  const handlers = { holds: handler, decisions: handler, observations: handler, commands: handler } as InputHandlers;
  let commits = 0;
  const fill = async (): Promise<void> => {
    const transaction = newTransaction(1);
    inputs.admit(handlers, transaction, Infinity);
    await vi.advanceTimersByTimeAsync(0);
    if (transaction.isEmpty()) return;
    commits += 1;
    inputs.moved(inputs.next(transaction.positions()));
  };

  offerBatch(inputs, transfers, 0, 1, {});
  await fill();
  offerBatch(inputs, topics.operatorDecisions, 0);
  for (let filled = 0; filled < 10; filled += 1) await fill();
  expect(inputs.positions().get(topics.operatorDecisions)).toBe(1n);
  // Two marks and the decision: while it waits there is nothing to commit.
  expect(commits).toBe(3);
  await vi.advanceTimersByTimeAsync(1_000);
  for (let filled = 0; filled < 10; filled += 1) await fill();
  expect(commits).toBe(4);
});

test('messages that were not read count for nothing: careful reading goes on', () => {
  const careful = new CarefulReading(null);
  for (let asked = 0; asked < MESSAGES_MAX; asked += 1) {
    expect(careful.before('one', 5n).kind).toBe('mark');
    careful.postponed('one', false);
  }
});
