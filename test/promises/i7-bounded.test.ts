/** Invariant I7: queues, bodies and memory have limits. Those of calls and entries are tried in virtual time. */
import { readFile } from 'node:fs/promises';
import { afterEach, expect, test } from 'vitest';
import { accountOf, transferInOf } from '../support/commands.ts';
import { startHostileService } from '../support/hostile-service.ts';
import { useStack } from '../support/test-stack.ts';
import { unfinishedByLane } from '../support/unfinished.ts';
import { eventually } from '../support/watch.ts';

const stack = useStack({ name: 'bounded' });

afterEach(async () => {
  await stack().endProcessors();
  await stack().service.clearFaults();
});

test('a body beyond the limit is not taken in; its command is not taken for a success', async () => {
  const service = await startHostileService(({ method }) =>
    method === 'POST' ? { httpStatus: 201, body: `{"id":"Transaction:huge","x":"${'y'.repeat(20_000_000)}"}` } : null,
  );
  const processor = await stack().startProcessor({
    API_BASE_URL: service.baseUrl,
    API_IDEMPOTENT_OPERATIONS: '',
  });
  await stack().publisher.publish('transfer-in', 'huge', transferInOf('huge'));
  expect((await stack().journal.result('huge')).value.outcome).toBe('UNKNOWN');
  expect((await processor.readiness()).reasons).toBeDefined();
  await stack().endProcessors();
  await service.close();
});

test('a backlog stays in Kafka, not in memory', async () => {
  const processor = await stack().startProcessor({ MAX_UNFINISHED_PER_LANE: '2' });
  await stack().service.addFaults({ kind: 'status', operation: 'transfer-in', httpStatus: 429, retryAfter: 60 });
  const before = await residentBytes(processor.pid);
  // 120 MB of commands that are mostly blanks.
  const padding = ' '.repeat(40_000);
  const headers = { 'content-type': 'application/json' };
  const messagesOf = (batch: number) =>
    Array.from({ length: 20 }, (_, index) => {
      const key = `backlog-${batch}-${index}`;
      const value = `{"source":{"accountId":"ExternalAccount:payer-x"},${padding}"destination":{"accountId":"${accountOf(key)}"}}`;
      return { key, value, headers };
    });
  for (let batch = 0; batch < 150; batch += 1) await stack().publishRaw('transfer-in', ...messagesOf(batch));
  await eventually(
    () => unfinishedByLane(stack()),
    (lanes) => lanes.every((count) => count === 2),
    'every lane to be full',
  );
  const grownBytes = (await residentBytes(processor.pid)) - before;
  expect(grownBytes).toBeLessThan(80 * 1024 * 1024);
});

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 'NaN') * 1024;
}
