/** Invariant I5: while the service or the registry is away, commands wait; none is refused or buried. */
import { afterEach, expect, test } from 'vitest';
import { executionOf, transferInOf } from '../support/commands.ts';
import { startHostileService } from '../support/hostile-service.ts';
import { allAccepted, reasonsOf } from '../support/outage.ts';
import { LANES } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';
import { startSandbox } from 'payment-processor-sandbox/start';

const stack = useStack({ name: 'outage' });

afterEach(() => stack().endProcessors());

const expectAllAccepted = (keys: readonly string[]): Promise<void> => allAccepted(stack(), keys);

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
  await unserved.logged('stands-aside-ended');
  await unserved.logged('lane-open');
  await back.stop();
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
