/** Invariant I3 over long times: a key stays known as long as promised, whatever clocks say and however old a store is. */
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { expect, inject, test as base } from 'vitest';
import { readSomeSettings } from '../../src/config.ts';
import { ENTRY_PREFIX } from '../../src/ledger/ledger-records.ts';
import { withAdmin } from '../../src/producers/admin-session.ts';
import {
  TOPIC_SETTING_NAMES,
  topicConfiguration,
  topicDefinitions,
  type TopicDefinition,
} from '../../src/producers/topic-definitions.ts';
import { COMMAND_TYPES } from '../../src/records/commands.ts';
import { transferInOf } from '../support/commands.ts';
import { Stack } from '../support/stack.ts';
import { eventually } from '../support/watch.ts';

const DAY_MS = 24 * 3_600_000;
/** The log cleaner looks every 15 s, and takes a deletion away with its second pass. */
const CLEANED_MS_MAX = 120_000;

/** Each test has a stack of its own, for it changes how the ledger is kept. */
const test = base.extend<{ stack: Stack }>({
  stack: async ({ task }, use) => {
    const [kafkaBrokers, schemaRegistryUrl] = [inject('kafkaBrokers'), inject('schemaRegistryUrl')];
    const stack = await Stack.open({ name: 'memory', kafkaBrokers, schemaRegistryUrl, lanes: 1 });
    await use(stack);
    if (task.result?.state === 'fail') console.error(stack.logs());
    await stack.close();
  },
});

async function publish(stack: Stack, key: string): Promise<void> {
  await stack.publisher.publish('transfer-in', key, transferInOf(key));
}

/** Changes the configuration of some of the stack's topics. */
async function configure(
  stack: Stack,
  changes: Readonly<Record<string, string>>,
  isMeant: (definition: TopicDefinition) => boolean,
): Promise<void> {
  const read = readSomeSettings(stack.environment, TOPIC_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  const resources = topicDefinitions(read.config)
    .filter(isMeant)
    .map((definition) => {
      const configEntries = Object.entries({ ...topicConfiguration(definition, 1), ...changes });
      return {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: definition.topic,
        configEntries: configEntries.map(([name, value]) => ({ name, value })),
      };
    });
  await withAdmin(stack.kafka, (admin) => admin.alterConfigs({ validateOnly: false, resources }));
}
const isLedger = ({ purpose }: TopicDefinition): boolean => purpose === 'ledger';

test('a process whose clock is eight days fast makes no key forgotten: a copy gets the same result', async ({
  stack,
}) => {
  const first = await stack.startProcessor();
  await publish(stack, 'kept');
  const { value } = await stack.journal.result('kept');
  await first.stop();

  // As before Kafka 4.0, which refuses records of times to come.
  await configure(stack, { 'message.timestamp.after.max.ms': '9223372036854775807' }, () => true);
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
  await stack.journal.until(
    () => stack.journal.results('kept').length === 2,
    () => 'the answer to the copy',
  );
  const copy = stack.journal.results('kept')[1];
  expect(copy?.headers['replayed']).toBe('true');
  expect(copy?.value).toEqual(value);
});

test('a copy that was published in time is answered as one, however long it could not be read', async () => {
  const [kafkaBrokers, schemaRegistryUrl] = [inject('kafkaBrokers'), inject('schemaRegistryUrl')];
  const ages = COMMAND_TYPES.map((type) => `${type}=7s`).join(',');
  const settings = { LEDGER_RETENTION: '8s', API_IDEMPOTENCY_RETENTION: '8s', COMMAND_MAX_AGE: ages };
  const stack = await Stack.open({ name: 'waiting', kafkaBrokers, schemaRegistryUrl, lanes: 1, settings });
  const isCommands = ({ topic }: TopicDefinition): boolean => Object.values(stack.topics.commands).includes(topic);
  try {
    // Looked at when a process starts; then they are kept long enough for this test.
    await configure(stack, { 'retention.ms': '8000' }, isCommands);
    await stack.startProcessor();
    await configure(stack, { 'retention.ms': String(DAY_MS) }, isCommands);
    await publish(stack, 'paid');
    await stack.journal.result('paid');
    // Readers get nothing behind a transaction that its publisher leaves open.
    const publisher = stack.kafka.producer({ transactionalId: `${stack.settings.TOPIC_PREFIX}-publisher` });
    await publisher.connect();
    const transaction = await publisher.transaction();
    const topic = stack.topics.commands['transfer-in'];
    await transaction.send({ topic, messages: [{ key: 'taken-back', value: '{}', partition: 0 }] });
    await publish(stack, 'paid');
    // The lane goes on with other commands, so that it hears how late it is.
    for (let second = 0; second < 14; second += 1) {
      await stack.publisher.publish('reject-transaction', `other-${second}`, { transactionId: 'Transaction:none' });
      await stack.journal.result(`other-${second}`);
      await sleep(1_000);
    }
    await transaction.abort();
    await publisher.disconnect();
    await stack.journal.until(
      () => stack.journal.results('paid').length === 2,
      () => 'the answer to the copy',
    );
    expect(stack.journal.results('paid')[1]?.headers['replayed']).toBe('true');
    expect((await stack.service.effects()).operations['transfer-in']['paid']).toMatchObject({ calls: 1, effects: 1 });
    // In its own time it is forgotten.
    await eventually(
      async () => (await stack.readLedger()).filter(({ key, value }) => key?.toString() === 'c:paid' && value === null),
      (tombstones) => tombstones.length > 0,
      'the key to be forgotten',
    );
  } finally {
    await stack.close();
  }
});

test(
  'a store that was away until the ledger forgot a key is read again: the key is not answered a second time',
  { timeout: 240_000 },
  async ({ stack }) => {
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
    const kept = { 'segment.ms': '1000', 'max.compaction.lag.ms': '1000', 'delete.retention.ms': '100' };
    await configure(stack, { ...kept, 'min.cleanable.dirty.ratio': '0.01' }, isLedger);
    const producer = stack.kafka.producer();
    await producer.connect();
    const write = (ledgerKey: string, value: string | null) =>
      producer.send({ topic: stack.topics.ledger, messages: [{ key: ledgerKey, value, partition: 0 }] });
    await write(ENTRY_PREFIX + key, null);
    await eventually(
      async () => {
        await write('churn', 'closes the segment');
        return (await stack.readLedger()).map((record) => record.key?.toString());
      },
      (keys) => !keys.includes(ENTRY_PREFIX + key),
      'the log cleaner',
      CLEANED_MS_MAX,
    );
    await producer.disconnect();
    await configure(stack, { 'delete.retention.ms': '10000' }, isLedger);

    const back = await stack.startProcessor();
    const opened = await back.logged('lane-open');
    expect(opened).toMatchObject({ unfinished: 0 });
    expect((await back.logged('ledger-store-lane-rebuilt'))['reason']).toContain('not read on for');
    await publish(stack, 'after');
    await stack.journal.result('after');
    expect(stack.journal.results(key)).toHaveLength(1);
  },
);

test('a process that was frozen until deletions may be gone ends rather than read on, and the next one reads again', async ({
  stack,
}) => {
  await configure(stack, { 'delete.retention.ms': '8000' }, isLedger);
  const frozen = await stack.startProcessor();
  frozen.freeze();
  await new Promise((resolve) => setTimeout(resolve, 10_000));
  frozen.thaw();
  expect(await frozen.ended).toMatchObject({ code: 1 });
  expect(frozen.lines.join('\n')).toMatch(/the ledger was not read for \d+ ms/);
  await stack.startProcessor();
});
