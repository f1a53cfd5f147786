/** Invariant I7 in virtual time, where each of Kafka's requests takes 300 ms: a commit takes about a second. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createQuoteOf, executionsOf, publishTransfers } from '../support/commands.ts';
import { withSlowKafka } from './slow-kafka.ts';

/** Each request takes 300 ms. */
const SLOW = { lanes: 3, settings: { API_TIMEOUT_MS: '10000' }, slowMs: 150 };

test('executions do not wait for a backlog of transfers whose calls take all slots', async () => {
  await withSlowKafka(SLOW, async (stack, slowDown) => {
    const executions = await executionsOf(stack, 'execution', 40);
    for (const [index, share] of [0.2, 0.25, 0.33, 0.5, 1].entries()) {
      // Calls that end together would free many slots at once.
      const delayMs = 600 + 300 * index;
      for (const operation of ['transfer-in', 'execute-quote'])
        await stack.service.addFaults({ kind: 'delay', operation, share, delayMs });
    }
    await stack.startProcessor();
    slowDown();
    const backlog = await publishTransfers(stack, 'transfer', 7_000);
    await sleep(10_000);
    for (const [key, execution] of executions) await stack.publisher.publish('execute-quote', key, execution);
    await stack.journal.resultsOfAll([...executions.keys()], 60_000);
    expect(backlog.filter((key) => stack.journal.results(key).length > 0).length).toBeLessThan(backlog.length / 2);
  });
});

test('a two-step quote that expires while the intent to execute it is committed is replaced, not sent', async () => {
  await withSlowKafka(SLOW, async (stack, slowDown) => {
    const quoteLifetimeMs = 20_000;
    const order = { operator: 'test', reason: 'test', until: null };
    const executions: number[] = [];
    let quotes = 0;
    let expiresMs = Infinity;
    const service = await stack.hostileService(async ({ method, path }) => {
      if (method !== 'POST') return null;
      const isExecution = path.endsWith('/execute');
      if (isExecution) executions.push(expiresMs - Date.now());
      else {
        quotes += 1;
        // The hold below comes first.
        if (quotes === 1) await sleep(3_000);
        expiresMs = Date.now() + quoteLifetimeMs;
      }
      const status = isExecution ? 'PROCESSING' : 'PENDING';
      const expiresAt = new Date(expiresMs).toISOString();
      const quote = { id: `Quote:${quotes}`, transactionId: `Transaction:${quotes}`, status, expiresAt };
      return { httpStatus: isExecution ? 200 : 201, body: JSON.stringify(quote) };
    });
    await stack.startProcessor({ API_BASE_URL: service.baseUrl });
    const hold = async (action: 'HOLD' | 'RELEASE'): Promise<void> =>
      stack.publishHold({ action, commandTypes: ['execute-quote'], ...order, at: new Date().toISOString() });
    await stack.publisher.publish('create-quote', 'k', { ...createQuoteOf('k'), immediatelyExecute: true });
    while (quotes === 0) await sleep(50);
    await hold('HOLD');
    while (expiresMs === Infinity) await sleep(50);
    slowDown();
    // A little longer than a commit.
    await sleep(expiresMs - 1_100 - Date.now());
    await hold('RELEASE');
    expect((await stack.journal.result('k')).value.outcome).toBe('ACCEPTED');
    expect(executions.filter((leftMs) => leftMs <= 0)).toEqual([]);
    expect(quotes).toBe(2);
  });
});
