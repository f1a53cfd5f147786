/**
 * Invariant I1 in virtual time, where the broker takes an input away under a lane: it stops and says why, rather than take what is
 * published afterwards for redeliveries.
 */
import { expect } from 'vitest';
import { positionRecords, POSITION_KEY, type PositionRecord } from '../../src/ledger/ledger-records.ts';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { laneOf } from 'payment-processor-contract/keys';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { publishTransfers, transferInOf } from '../support/commands.ts';
import { writtenToTakeBack } from '../support/taken-back.ts';
import { eventually } from '../support/watch.ts';
import { stackTests, type TestProcessor, type TestStack } from '../support/with-stack.ts';

/** What may pass is waited out first. */
const STOPPED_MS_MAX = 60_000;

const { stack: open, test } = stackTests({ name: 'jump', lanes: 2 });

async function stoppedLanes(processor: TestProcessor, count = 2): Promise<string[]> {
  await processor.logged('lanes-assigned');
  const { reasons } = await eventually(
    () => processor.readiness(),
    ({ reasons: told }) => told.filter(saysStopped).length === count,
    `${count} stopped lanes`,
    STOPPED_MS_MAX,
  );
  return reasons.filter(saysStopped);
}
const saysStopped = (reason: string): boolean => reason.includes('is stopped');

/** By lane, the last in the ledger. */
async function positionsOf(stack: TestStack): Promise<Map<number, PositionRecord>> {
  const records = (await stack.readLedger()).flatMap(({ key, partition, value }) =>
    key?.toString() === POSITION_KEY && value !== null ? [[partition, positionRecords.decode(value)] as const] : [],
  );
  return new Map(records);
}

async function answeredBefore(stack: TestStack): Promise<void> {
  const processor = await stack.startProcessor();
  await stack.journal.resultsOfAll(await publishTransfers(stack, 'before', 20));
  await processor.stop();
}

test('a command topic that was made again between two runs stops its lanes, and the sentence says what is lost', async () => {
  const stack = open();
  await answeredBefore(stack);
  await stack.makeTopicAgain(stack.topics.commands['transfer-in']);
  await publishTransfers(stack, 'after', 4);
  const processor = await stack.spawnProcessor();
  for (const reason of await stoppedLanes(processor)) {
    expect(reason).toContain(stack.topics.commands['transfer-in']);
    expect(reason).toContain('deleted and recreated');
    expect(reason).toContain('PaymentsLaneStopped');
  }
});

test('a topic of observations that was made again between two runs stops the lanes as well', async () => {
  const stack = open();
  await answeredBefore(stack);
  await stack.makeTopicAgain(stack.topics.observations);
  const processor = await stack.spawnProcessor();
  for (const reason of await stoppedLanes(processor)) {
    expect(reason).toContain(stack.topics.observations);
    expect(reason).toContain('deleted and recreated');
  }
});

test('retention that overtakes an open lane stops it; the other lane goes on', async () => {
  const stack = open();
  // The service is held, and its lane full: what is fetched stays in memory until that is full, too, the rest in Kafka.
  await stack.service.addFaults({ kind: 'status', operation: 'any', httpStatus: 401 });
  const processor = await stack.startProcessor({ MAX_UNFINISHED_PER_LANE: '1' });
  const keys = Array.from({ length: 200 }, (_, index) => `long-${index}`).filter((key) => laneOf(key, 2) === 0);
  const json = stringifyLossless(transferInOf('long'));
  const messages = keys.slice(0, 60).map((key) => {
    return { key, value: json + ' '.repeat(60_000), partition: 0, headers: { 'content-type': 'application/json' } };
  });
  for (let sent = 0; sent < messages.length; sent += 10)
    await stack.publishRaw('transfer-in', ...messages.slice(sent, sent + 10));
  const topic = stack.topics.commands['transfer-in'];
  await withAdmin(stack.kafka, async (admin) => {
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '60' }] });
  });
  const [reason] = await stoppedLanes(processor, 1);
  expect(reason).toContain('lane 0 is stopped');
  expect(reason).toMatch(/records at offsets \d+ to 59 were deleted by retention before they were admitted/);
});

test('a command topic that ends before what the lane has read stops it', async () => {
  const stack = open();
  await answeredBefore(stack);
  const topic = stack.topics.commands['transfer-in'];
  const producer = stack.kafka.producer();
  await producer.connect();
  for (const { key, partition, value } of await stack.readLedger()) {
    if (key?.toString() !== POSITION_KEY || value === null) continue;
    const position = positionRecords.decode(value);
    const ahead = positionRecords.encode({ ...position, next: { ...position.next, [topic]: 1_000n } });
    await producer.send({ topic: stack.topics.ledger, messages: [{ key: POSITION_KEY, value: ahead, partition }] });
  }
  await producer.disconnect();
  const processor = await stack.spawnProcessor();
  for (const reason of await stoppedLanes(processor)) {
    expect(reason).toMatch(/read up to offset 1000, but the topic ends at offset \d+: it was truncated/);
  }
});

test('what a publisher took back stops no lane, though retention deletes it behind idle lanes', async () => {
  const stack = open();
  const processor = await stack.startProcessor();
  await stack.journal.resultsOfAll(await publishTransfers(stack, 'before', 20));
  const topic = stack.topics.commands['reject-transaction'];
  const takeBack = await writtenToTakeBack(
    stack.kafka,
    `${stack.environment['TOPIC_PREFIX']}-publisher`,
    topic,
    [0, 1],
  );
  await takeBack();
  // The message, and Kafka's mark that it was taken back.
  await eventually(
    () => positionsOf(stack),
    (positions) => [0, 1].every((lane) => positions.get(lane)?.next[topic] === 2n),
    'lanes that say in the ledger what they have stepped over',
    STOPPED_MS_MAX,
  );
  await processor.stop();
  await withAdmin(stack.kafka, async (admin) => {
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [0, 1].map((partition) => ({ partition, offset: '2' })) });
  });
  const next = await stack.startProcessor();
  expect(next.openedLanes()).toEqual([0, 1]);
  await stack.journal.resultsOfAll(await publishTransfers(stack, 'after', 4));
});

test('positions that are bound to no topic, for brokers did not know its id, are gone on from and bound', async () => {
  const stack = open();
  await answeredBefore(stack);
  const before = (await positionsOf(stack)).get(0)!;
  const { topicIds, ...unbound } = before;
  const value = positionRecords.encode({ ...unbound, topicIds: {} });
  const producer = stack.kafka.producer();
  await producer.connect();
  await producer.send({ topic: stack.topics.ledger, messages: [{ key: POSITION_KEY, value, partition: 0 }] });
  await producer.disconnect();
  const processor = await stack.startProcessor();
  const after = await eventually(
    async () => (await positionsOf(stack)).get(0),
    (position) => position?.token !== before.token,
    'a position of the new owner',
  );
  const commands = stack.topics.commands['transfer-in'];
  expect(after?.next[commands]).toBe(before.next[commands]);
  expect(after?.topicIds).toEqual(topicIds);
  expect(Object.keys(topicIds).sort()).toEqual([...Object.keys(before.next), stack.topics.ledger].sort());
  expect(processor.openedLanes()).toEqual([0, 1]);
});

test('a ledger that was made again between two runs stops the lanes that have read commands', async () => {
  const stack = open();
  await answeredBefore(stack);
  await stack.makeTopicAgain(stack.topics.ledger);
  const processor = await stack.spawnProcessor();
  for (const reason of await stoppedLanes(processor)) expect(reason).toContain('the ledger topic was lost');
});

test('a ledger that was made again also stops lanes whose messages retention has deleted', async () => {
  const stack = open();
  await answeredBefore(stack);
  await withAdmin(stack.kafka, async (admin) => {
    const topic = stack.topics.commands['transfer-in'];
    const ends = await admin.fetchTopicOffsets(topic);
    const partitions = ends.map(({ high, partition }) => ({ partition, offset: high }));
    await admin.deleteTopicRecords({ topic, partitions });
  });
  await stack.makeTopicAgain(stack.topics.ledger);
  const processor = await stack.spawnProcessor();
  for (const reason of await stoppedLanes(processor)) expect(reason).toContain('the ledger topic was lost');
});

test('a ledger that is made again under a running process ends it, and the next one stops its lanes', async () => {
  const stack = open();
  const processor = await stack.startProcessor();
  await stack.journal.resultsOfAll(await publishTransfers(stack, 'before', 20));
  await stack.makeTopicAgain(stack.topics.ledger);
  // Committed by owners that do not know yet what happened.
  await publishTransfers(stack, 'meanwhile', 8);
  expect(await processor.ended).toMatchObject({ code: 1 });
  const { err } = await processor.logged('fatal');
  expect(String(err)).toMatch(/deleted and recreated.*see the runbook lost-internal-topic$/);
  const next = await stack.spawnProcessor();
  for (const reason of await stoppedLanes(next))
    expect(reason).toMatch(/the ledger topic was lost|The record of the keys already handled is lost/);
});
