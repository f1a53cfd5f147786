/** Somebody added partitions to a topic that operators write to. */
import { expect, test } from 'vitest';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { laneOf } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { freshPrefix, kafkaOf, LANES, prepare, settingsOf } from '../../client/test/fixtures.ts';
import { submitDecision } from '../src/operator-decision.ts';

test('a decision goes to the lane of its key, and to no partition that no lane reads', async () => {
  const prefix = freshPrefix('added-decisions');
  await prepare(prefix);
  const count = 2 * LANES;
  const topic = topicNames(prefix).operatorDecisions;
  await withAdmin(kafkaOf(prefix), (admin) => admin.createPartitions({ topicPartitions: [{ topic, count }] }));
  const key =
    Array.from({ length: 50 }, (_, index) => `key-${index}`).find((name) => laneOf(name, count) >= LANES) ?? '';
  const decision = { decision: 'RETRY', expectedRevision: 1, transactionId: null, operator: 'ann', reason: 'x' };
  const partitions: number[] = [];
  await submitDecision(settingsOf(prefix), key, decision, 100, ({ partition }) => partitions.push(partition));
  expect(partitions).toEqual([laneOf(key, LANES)]);
});
