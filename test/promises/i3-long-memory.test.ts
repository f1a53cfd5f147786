/** Invariant I3 over long times: a key stays known as long as promised, whatever clocks say and however old a store is. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { uniqueIdOf } from 'payment-processor-client/internal/events';
import { ENTRY_PREFIX } from '../../src/ledger/ledger-records.ts';
import type { TopicDefinition } from 'payment-processor-contract/topic-definitions';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import { transferInOf } from '../support/commands.ts';
import { writtenToTakeBack } from '../support/taken-back.ts';
import { eventually } from '../support/watch.ts';
import { stackTests, withStack, type TestStack } from '../support/with-stack.ts';

const DAY_MS = 24 * 3_600_000;

const { stack: open, test } = stackTests({ name: 'memory', lanes: 1 });

async function publish(stack: TestStack, key: string): Promise<void> {
  await stack.publisher.publish('transfer-in', key, transferInOf(key));
}

/** Changes the configuration of some of the stack's topics. */
const isLedger = ({ purpose }: TopicDefinition): boolean => purpose === 'ledger';

test('a process whose clock is eight days fast makes no key forgotten: a copy gets the same result', async () => {
  const stack = open();
  const first = await stack.startProcessor();
  await publish(stack, 'kept');
  const { value } = await stack.journal.result('kept');
  await first.stop();

  const fast = await stack.startProcessor({
    NODE_OPTIONS: `--import ${new URL('../support/wrong-clock.ts', import.meta.url).href}`,
    CLOCK_AHEAD_MS: String(8 * DAY_MS),
  });
  await publish(stack, 'meanwhile');
  await stack.journal.result('meanwhile');
  await fast.stop();
  const forgotten = (await stack.readLedger()).filter(
    ({ key, value }) => value === null && key?.toString().startsWith(ENTRY_PREFIX),
  );
  expect(forgotten).toEqual([]);

  await stack.startProcessor();
  await publish(stack, 'kept');
  const [, copy] = await stack.journal.resultsOf('kept', 2);
  expect(copy?.headers['replayed']).toBe('true');
  expect(copy?.value).toEqual(value);
});

test('a copy that was published in time is answered as one, however long it could not be read', async () => {
  const ages = COMMAND_TYPES.map((type) => `${type}=7s`).join(',');
  const settings = { LEDGER_RETENTION: '8s', API_IDEMPOTENCY_RETENTION: '8s', COMMAND_MAX_AGE: ages };
  await withStack({ name: 'waiting', lanes: 1, settings }, async (stack) => {
    const isCommands = ({ purpose }: TopicDefinition): boolean => purpose === 'command';
    // Looked at when a process starts; then they are kept long enough for this test.
    await stack.configureTopics({ 'retention.ms': '8000' }, isCommands);
    await stack.startProcessor();
    await stack.configureTopics({ 'retention.ms': String(DAY_MS) }, isCommands);
    await publish(stack, 'paid');
    await stack.journal.result('paid');
    // Readers get nothing behind a transaction that its publisher leaves open.
    const topic = stack.topics.commands['transfer-in'];
    const takeBack = await writtenToTakeBack(stack.kafka, `${stack.environment['TOPIC_PREFIX']}-publisher`, topic, [0]);
    await publish(stack, 'paid');
    // The lane goes on with other commands, so that it hears how late it is.
    for (let second = 0; second < 14; second += 1) {
      await stack.publisher.publish('reject-transaction', `other-${second}`, { transactionId: 'Transaction:none' });
      await stack.journal.result(`other-${second}`);
      await sleep(1_000);
    }
    await takeBack();
    const [, copy] = await stack.journal.resultsOf('paid', 2);
    expect(copy?.headers['replayed']).toBe('true');
    expect((await stack.service.effects()).operations['transfer-in']['paid']).toMatchObject({ calls: 1, effects: 1 });
    // In its own time it is forgotten.
    await eventually(
      async () => (await stack.readLedger()).filter(({ key, value }) => key?.toString() === 'c:paid' && value === null),
      (tombstones) => tombstones.length > 0,
      'the key to be forgotten',
    );
    // Then the key names a new command. Its result has the same ce_id; its unique id shows a longer memory that it is another.
    await sleep(1_000);
    await publish(stack, 'paid');
    const results = await stack.journal.resultsOf('paid', 3);
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    expect(new Set(results.map(({ headers }) => uniqueIdOf(headers))).size).toBe(2);
  });
});

test('a store that was away until the ledger forgot a key is read again: the key is not answered a second time', async () => {
  const stack = open();
  const key = 'answered-by-another';
  await stack.service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 30_000, at: 'before' });
  const away = await stack.startProcessor();
  await publish(stack, key);
  await eventually(
    () => stack.service.effects(),
    ({ operations }) => (operations['transfer-in'][key]?.calls ?? 0) > 0,
    'the call to be under way',
  );
  await away.kill9();
  await stack.service.clearFaults();
  const other = await stack.startProcessor({ STATE_DIR: `${stack.environment['STATE_DIR']}-other` });
  await stack.journal.result(key);
  await other.stop();

  // As if LEDGER_RETENTION and delete.retention.ms had passed since.
  await stack.forgetInLedger(ENTRY_PREFIX + key);
  await stack.configureTopics({ 'delete.retention.ms': '10000' }, isLedger);

  const back = await stack.startProcessor();
  const opened = await back.logged('lane-open');
  expect(opened).toMatchObject({ unfinished: 0 });
  expect((await back.logged('ledger-store-lane-rebuilt'))['reason']).toContain('has not read the ledger for');
  await publish(stack, 'after');
  await stack.journal.result('after');
  expect(stack.journal.results(key)).toHaveLength(1);
});

test('a process that was frozen until deletions may be gone ends rather than read on, and the next one reads again', async () => {
  const stack = open();
  await stack.configureTopics({ 'delete.retention.ms': '8000' }, isLedger);
  const frozen = await stack.startProcessor();
  frozen.freeze();
  await sleep(10_000);
  frozen.thaw();
  expect(await frozen.ended).toMatchObject({ code: 1 });
  expect(frozen.tail()).toMatch(/the ledger was not read for \d+ s/);
  await stack.startProcessor();
});
