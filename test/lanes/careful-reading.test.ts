/** A lane that reads one message at a time: nobody waits for a turn that never ends (I6). */
import { expect, test } from 'vitest';
import { CarefulReading } from '../../src/lanes/careful-reading.ts';

const PATIENCE_MS = 20;
const MESSAGES_MAX = 1_000;

/** What a message is told that asks for its turn; 'waits' when it is told nothing. */
async function told(order: Promise<{ kind: string }>): Promise<string> {
  const waits = new Promise<{ kind: string }>((resolve) => setTimeout(() => resolve({ kind: 'waits' }), PATIENCE_MS));
  return (await Promise.race([order, waits])).kind;
}

test('once careful reading is over, the messages of all topics that waited for their turn are read', async () => {
  const careful = new CarefulReading(null, async () => undefined);
  const waiting: Promise<{ kind: string }>[] = [];
  for (let offset = 0n; offset < MESSAGES_MAX && !careful.isOver(); offset += 1n) {
    waiting.push(careful.before('one', offset), careful.before('two', offset), careful.before('three', offset));
    await waiting.shift();
    careful.committed(new Map(['one', 'two', 'three'].map((topic) => [topic, offset + 1n])));
  }
  expect(careful.isOver()).toBe(true);
  for (const order of waiting) expect(await told(order)).toBe('read');
});

test('a message that has its turn and is read again needs no other', async () => {
  const careful = new CarefulReading(null, async () => undefined);
  expect(await told(careful.before('one', 5n))).toBe('read');
  expect(await told(careful.before('one', 5n))).toBe('read');
});
