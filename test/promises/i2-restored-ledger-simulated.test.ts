/** Invariant I2 in virtual time: an older copy of the ledger's topic was restored, and a store knows more. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { VirtualStack } from '../../proofs/simulation/virtual-stack.ts';
import { createQuoteOf } from '../support/commands.ts';

test('a process whose store has read more than the ledger has does not start, and pays nothing again', () =>
  VirtualStack.run({ name: 'restored', lanes: 1 }, async (stack) => {
    const { broker, journal, publisher, service, topics } = stack;
    const pay = async (key: string): Promise<void> => {
      await publisher.publish('create-quote', key, { ...createQuoteOf(key), immediatelyExecute: true });
      expect((await journal.result(key)).value.outcome).toBe('ACCEPTED');
    };
    const processor = await stack.startProcessor();
    await pay('yesterday');
    await sleep(5_000);
    const copyEnd = broker.log(topics.ledger, 0).nextOffset();
    await pay('today');
    await sleep(5_000);
    await processor.stop();
    broker.log(topics.ledger, 0).newLeader(copyEnd);
    const waiting = await stack.spawnProcessor();
    await sleep(60_000);
    const { reasons } = await waiting.readiness();
    expect(JSON.stringify(reasons)).toMatch(/up to offset \d+, but it ends at offset \d+\. .*lost-internal-topic/);
    expect((await service.effects()).totals['execute-quote']?.effects).toBe(2);
  }));
