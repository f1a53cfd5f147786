/** What is said of an order that Kafka did not take, or did not confirm, in every lane. Pure. */
import { expect, test } from 'vitest';
import { PublishError } from 'payment-processor-client/internal/kafka/record-publisher';
import { writeOrder } from '../src/operator-hold.ts';

const ORDER = { action: 'HOLD', commandTypes: [], operator: 'a', reason: 'x', until: null, at: '' } as const;
const LOST = new PublishError('NOT_CONFIRMED', 'publish it again', new Error('timed out'));
const REFUSED = new PublishError('NOT_WRITTEN', 'refused', new Error('not authorized'));

test.each([
  [[null, REFUSED, REFUSED], 'failed', '(not authorized): not written to lanes 1, 2'],
  [[null, LOST, null], 'noResult', '(timed out): perhaps written to lane 1'],
  [[REFUSED, null, LOST], 'noResult', '(not authorized): not written to lane 0; perhaps written to lane 2'],
] as const)('%s ends with the exit code of %s', async (lanes, reason, where) => {
  const publisher = {
    partitionCount: () => lanes.length,
    publish: async ({ partition = 0 }) => {
      const error = lanes[partition] ?? null;
      if (error !== null) throw error;
      return { partition, offset: 0n };
    },
  };
  await expect(writeOrder(publisher, 'holds', 'id', ORDER)).rejects.toMatchObject({
    reason,
    message: `Kafka did not confirm the order in all 3 lanes ${where}. The lanes that have it carry it out. Repeat the command`,
  });
});
