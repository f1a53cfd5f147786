/** Brokers' clocks may differ: like a process's clock, one that is hours ahead must not delay results (ADR 17). */
import { expect, test } from 'vitest';
import { transferInOf } from '../../test/support/commands.ts';
import { VirtualStack } from './virtual-stack.ts';

const AHEAD_MS = 2 * 3_600_000;
const KEYS = ['first', 'second', 'third'];

test('where the ledger is led by brokers whose clock is two hours ahead, results come all the same', () =>
  VirtualStack.run({ name: 'ahead', lanes: 2 }, async (stack) => {
    stack.broker.setClockAhead(stack.topics.ledger, AHEAD_MS);
    const processor = await stack.startProcessor();
    for (const key of KEYS) {
      await stack.publisher.publish('transfer-in', key, transferInOf(key));
      const { value } = await stack.journal.result(key);
      expect(value.outcome).toBe('ACCEPTED');
    }
    // All lanes learn from one refusal: no lane tries the refused time again.
    const losses = processor.log().filter(({ event }) => event === 'lane-lost');
    expect(losses.length).toBeLessThanOrEqual(2);
  }));
