/** A lane that reads one message at a time (I6). */
import { expect, test } from 'vitest';
import { CarefulReading } from '../../src/lanes/careful-reading.ts';

const MESSAGES_MAX = 1_000;

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

test('a message that was marked three times is set aside unread', () => {
  const careful = new CarefulReading({ topic: 'one', offset: 5n, tries: 3 });
  expect(careful.before('one', 5n).kind).toBe('set-aside');
  expect(careful.before('two', 0n).kind).toBe('not-now');
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
  careful.declined('one');
  expect(careful.isMarkStale()).toBe(true);
  careful.markCleared();
  expect(careful.isMarkStale()).toBe(false);
  expect(careful.before('two', 0n).kind).toBe('mark');
});
