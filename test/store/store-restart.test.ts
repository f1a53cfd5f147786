/** A processor goes on from its local store, and without it comes to the same (design: losing the store loses nothing). */
import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { transferInOf } from '../support/commands.ts';
import { useStack } from '../support/test-stack.ts';

const stack = useStack({ name: 'store' });
afterEach(() => stack().endProcessors());

async function publishAgain(key: string): Promise<void> {
  const { journal, publisher } = stack();
  const before = journal.results(key).length;
  await publisher.publish('transfer-in', key, transferInOf(key));
  const answers = await journal.resultsOf(key, before + 1);
  expect(answers.at(-1)).toMatchObject({ headers: { replayed: 'true' }, id: answers[0]?.id, value: answers[0]?.value });
}

test('copies get their result after a restart, a kill, a loss of the store and a store of something else', async () => {
  const key = `kept-${randomUUID()}`;
  const state = stack().environment['STATE_DIR'] ?? '';
  const first = await stack().startProcessor();
  await stack().publisher.publish('transfer-in', key, transferInOf(key));
  await stack().journal.resultsOfAll([key]);
  await publishAgain(key);
  expect(await first.stop()).toEqual({ code: 0, signal: null });

  const second = await stack().startProcessor();
  expect(await second.logged('ledger-store-open')).toMatchObject({ folder: join(state, '0'), keys: 1 });
  await publishAgain(key);
  await second.kill9();

  const third = await stack().startProcessor();
  expect(await third.logged('ledger-store-open')).toMatchObject({ folder: join(state, '0'), keys: 1 });
  await publishAgain(key);
  await third.stop();

  await rm(state, { recursive: true });
  const fourth = await stack().startProcessor();
  expect(await fourth.logged('ledger-store-open')).toMatchObject({ keys: 0 });
  await publishAgain(key);
  await fourth.stop();

  await writeFile(join(state, '0', 'data.mdb'), 'something else');
  const fifth = await stack().startProcessor();
  expect(await fifth.logged('ledger-store-rebuilt')).toMatchObject({ folder: join(state, '0') });
  await publishAgain(key);
  const { operations } = await stack().service.effects();
  expect(operations['transfer-in'][key]).toMatchObject({ calls: 1, effects: 1 });
});

test('a state directory that cannot be used ends the process at its start and says why', async () => {
  const processor = await stack().spawnProcessor({ STATE_DIR: '/dev/null/state' });
  expect(await processor.ended).toMatchObject({ code: 1 });
  expect(JSON.stringify(await processor.logged('start-failed'))).toContain('STATE_DIR /dev/null/state cannot be used');
});
