/** What is said of an order that Kafka did not take, or did not confirm, in every lane. Pure. */
import { expect, test } from 'vitest';
import { PublishError } from 'payment-processor-client/internal/kafka/record-publisher';
import { writeOrder } from '../src/operator-hold.ts';

const ORDER = { action: 'HOLD', commandTypes: [], operator: 'a', reason: 'x', until: null, at: '' } as const;
const LOST = new PublishError('NOT_CONFIRMED', 'publish it again', new Error('timed out'));
const REFUSED = new PublishError('NOT_WRITTEN', 'refused', new Error('not authorized'));

test.each([
  [[null, REFUSED, REFUSED], 'failed', 'not in lanes 1, 2, of 3 lanes (not authorized)'],
  [[null, LOST, null], 'noResult', 'perhaps in lane 1, of 3 lanes (timed out)'],
  [[REFUSED, null, LOST], 'noResult', 'not in lane 0, perhaps in lane 2, of 3 lanes (not authorized)'],
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
    message: `the order is not known to be in every lane: ${where}; lanes that have it carry it out. Repeat the command`,
  });
});
