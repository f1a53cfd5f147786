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
    expect(JSON.stringify(reasons)).toMatch(
      /up to offset \d+, but the partition ends at offset \d+\. .*lost-internal-topic/,
    );
    expect((await service.effects()).totals['execute-quote']?.effects).toBe(2);
  }));

test('once another process has written past the end of that store, it is rebuilt: it would not know what was written over the gap', () =>
  VirtualStack.run({ name: 'overgrown', lanes: 1 }, async (stack) => {
    const { broker, journal, publisher, service, topics } = stack;
    const publish = async (key: string): Promise<void> =>
      publisher.publish('create-quote', key, { ...createQuoteOf(key), immediatelyExecute: true });
    const pay = async (name: string, count: number): Promise<string[]> => {
      const keys = Array.from({ length: count }, (_, index) => `${name}-${index}`);
      for (const key of keys) await publish(key);
      await journal.resultsOfAll(keys);
      return keys;
    };
    const [first, second] = [{ STATE_DIR: 'first' }, { STATE_DIR: 'second' }];
    const ahead = await stack.startProcessor(first);
    const behind = await stack.startProcessor(second);
    await pay('yesterday', 1);
    await sleep(3_000);
    await behind.stop();
    const copyEnd = broker.log(topics.ledger, 0).nextOffset();
    await pay('today', 20);
    await sleep(3_000);
    await ahead.stop();
    broker.log(topics.ledger, 0).newLeader(copyEnd);
    const waiting = await stack.spawnProcessor(first);
    await sleep(20_000);
    const serving = await stack.startProcessor(second);
    const written = await pay('gap', 3);
    await pay('later', 40);
    await waiting.ready();
    await serving.stop();
    const before = (await service.effects()).totals['execute-quote']?.effects;
    for (const key of written) await publish(key);
    await journal.until(() => written.every((key) => journal.results(key).length > 1), 'an answer to each copy');
    expect((await service.effects()).totals['execute-quote']?.effects).toBe(before);
  }));
