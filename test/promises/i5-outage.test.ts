/** Invariant I5: while the service, the registry or our credentials fail, commands wait; none is refused or buried. */
import { afterEach, expect, test } from 'vitest';
import { createQuoteOf, executionOf, rejectionOf, transferInOf } from '../support/commands.ts';
import { startHostileService } from '../support/hostile-service.ts';
import type { RunningProcessor } from '../support/processor.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';
import { startSandbox } from '../../dev/sandbox/start.ts';

const stack = useStack({ name: 'outage' });

afterEach(async () => {
  await stack().endProcessors();
  await stack().service.clearFaults();
});

/** One command of each kind that changes something; their quote and payment are made at once. */
async function prepareAll(prefix: string): Promise<{ keys: string[]; publish(): Promise<unknown> }> {
  const { publisher } = stack();
  const key = (type: string): string => `${prefix}-${type}`;
  const execution = await executionOf(stack(), key('execute'));
  const rejection = await rejectionOf(stack(), key('reject'));
  return {
    keys: ['transfer', 'quote', 'execute', 'reject'].map(key),
    publish: () =>
      Promise.all([
        publisher.publish('transfer-in', key('transfer'), transferInOf(key('transfer'))),
        publisher.publish('create-quote', key('quote'), createQuoteOf(key('quote'))),
        publisher.publish('execute-quote', key('execute'), execution),
        publisher.publish('reject-transaction', key('reject'), rejection),
      ]),
  };
}

async function reasonsOf(processor: RunningProcessor, pattern: RegExp): Promise<void> {
  await eventually(
    () => processor.readiness(),
    ({ ready, reasons }) => !ready && reasons.some((reason) => pattern.test(reason)),
    `readiness to say ${String(pattern)}`,
  );
}

async function expectAllAccepted(keys: readonly string[]): Promise<void> {
  const results = await stack().journal.resultsOfAll(keys);
  expect(results.map(({ key, value }) => [key, value.outcome])).toEqual(keys.map((key) => [key, 'ACCEPTED']));
  for (const key of keys) expect(stack().journal.results(key)).toHaveLength(1);
  expect(stack().journal.deadLetters()).toEqual([]);
}

test('while nobody listens at the service, commands wait and readiness says why; then all are answered', async () => {
  const away = await startSandbox();
  await away.stop();
  const processor = await stack().startProcessor({ API_BASE_URL: away.baseUrl });
  const { publisher, journal } = stack();
  const keys = ['transfer-a', 'transfer-b', 'transfer-c'];
  for (const key of keys) await publisher.publish('transfer-in', key, transferInOf(key));
  await reasonsOf(processor, /service/);
  expect(journal.results().filter(({ key }) => keys.includes(key))).toEqual([]);
  const back = await startSandbox({ port: away.port });
  await expectAllAccepted(keys);
  await eventually(
    () => processor.readiness(),
    ({ ready }) => ready,
    'the processor to be ready again',
  );
  await back.stop();
});

test('a process that was never served takes no lane from one that is, and is given lanes once it is', async () => {
  const away = await startSandbox();
  await away.stop();
  const served = await stack().startProcessor();
  const unserved = await stack().startProcessor({ API_BASE_URL: away.baseUrl });
  await reasonsOf(unserved, /^stands aside, and other members have the lanes: .*cannot be reached/);
  expect([served.assignedLanes().length, unserved.assignedLanes()]).toEqual([LANES, []]);
  const keys = Array.from({ length: 2 * LANES }, (_, index) => `beside-${index}`);
  for (const key of keys) await stack().publisher.publish('transfer-in', key, transferInOf(key));
  await expectAllAccepted(keys);
  expect(await served.readiness()).toEqual({ ready: true, reasons: [] });
  const back = await startSandbox({ port: away.port });
  await unserved.logged('stands-aside-no-more');
  await unserved.ready();
  expect(unserved.openedLanes()).not.toEqual([]);
  await back.stop();
});

test('while every call is answered with 503, transfers in and quotes wait, and are answered when it is over', async () => {
  await stack().service.addFaults(
    { kind: 'status', operation: 'transfer-in', httpStatus: 503 },
    { kind: 'status', operation: 'create-quote', httpStatus: 500 },
  );
  await stack().startProcessor();
  const { publisher, journal, service } = stack();
  const transfers = ['busy-1', 'busy-2', 'busy-3'];
  for (const key of transfers) await publisher.publish('transfer-in', key, transferInOf(key));
  const quotes = ['busy-quote-1', 'busy-quote-2'];
  for (const key of quotes) await publisher.publish('create-quote', key, createQuoteOf(key));
  await eventually(
    () => service.effects(),
    ({ totals }) => (totals['transfer-in']?.calls ?? 0) > 0 && (totals['create-quote']?.calls ?? 0) > 0,
    'the first calls',
  );
  expect(journal.results().filter(({ key }) => key.startsWith('busy'))).toEqual([]);
  await service.clearFaults();
  await expectAllAccepted([...transfers, ...quotes]);
  const { operations } = await service.effects();
  expect(transfers.map((key) => operations['transfer-in'][key]?.effects)).toEqual([1, 1, 1]);
});

test('while our credentials are refused, commands of every kind wait and readiness says so', async () => {
  const processor = await stack().startProcessor();
  const { journal, service } = stack();
  const commands = await prepareAll('credentials');
  await service.addFaults({ kind: 'status', operation: 'any', httpStatus: 401 });
  await commands.publish();
  await reasonsOf(processor, /held.*401/);
  expect(journal.results().filter(({ key }) => commands.keys.includes(key))).toEqual([]);
  await service.clearFaults();
  await expectAllAccepted(commands.keys);
});

test('a 429 is waited out; the command is answered by the first call that is let through', async () => {
  await stack().service.addFaults(
    { kind: 'status', operation: 'list-transactions', httpStatus: 429, retryAfter: 1, count: 1 },
    { kind: 'status', operation: 'transfer-in', httpStatus: 429, retryAfter: 1, count: 2 },
  );
  await stack().startProcessor({ API_TIMEOUT_MS: '15000' });
  await stack().publisher.publish('transfer-in', 'told', transferInOf('told'));
  await expectAllAccepted(['told']);
  const { operations } = await stack().service.effects();
  expect(operations['transfer-in']['told']).toMatchObject({ calls: 3, effects: 1 });
});

test('while the registry cannot be asked, commands that need it wait; JSON ones go on', async () => {
  let isDown = false;
  const registry = await startHostileService(async ({ method, path, body, headers }) => {
    if (isDown) return { httpStatus: 503, body: 'the registry is away' };
    const response = await fetch(`${stack().settings.SCHEMA_REGISTRY_URL}${path}`, {
      method,
      headers: { 'content-type': headers['content-type'] ?? 'application/json' },
      ...(method === 'GET' ? {} : { body }),
    });
    return { httpStatus: response.status, body: await response.text() };
  });
  const base = registry.baseUrl.slice(0, registry.baseUrl.lastIndexOf('/'));
  const processor = await stack().startProcessor({ SCHEMA_REGISTRY_URL: base });
  isDown = true;
  const execution = await executionOf(stack(), 'registry-execute');
  await stack().publisher.publish('execute-quote', 'registry-execute', execution);
  await reasonsOf(processor, /registry/);
  await stack().publisher.publish('transfer-in', 'registry-json', transferInOf('registry-json'), {
    contentType: 'json',
  });
  await expectAllAccepted(['registry-json']);
  expect(stack().journal.results('registry-execute')).toEqual([]);
  isDown = false;
  await expectAllAccepted(['registry-execute']);
  await stack().endProcessors();
  await registry.close();
});
