/** A lane counts and skips messages that it already had, however large a part of a fetch they are. */
import { expect, test } from 'vitest';
import type { KafkaMessage } from 'kafkajs';
import type { FetchedBatch } from '../../src/consumers/group-member.ts';
import { Inbox } from '../../src/consumers/inbox.ts';

function batch(firstOffset: number, lastOffset: number): FetchedBatch {
  const messages = Array.from({ length: lastOffset - firstOffset + 1 }, (_, index): KafkaMessage => {
    const offset = String(firstOffset + index);
    return { key: null, value: Buffer.from(offset), timestamp: '0', attributes: 0, offset, headers: {} };
  });
  return {
    ...{ topic: 'commands', lane: 0, messages, leaderEpoch: 0, highWatermark: 100n },
    ...{ fetchedOffset: BigInt(firstOffset), lastOffset: BigInt(lastOffset) },
  };
}

test('of a fetch that begins too early, the lane takes the part from its position; after one that ends too early it seeks again', () => {
  const redelivered: number[] = [];
  const sought: bigint[] = [];
  const inbox = new Inbox({
    topic: 'commands',
    lane: 0,
    read: () => ({ kind: 'read' }),
    seek: (offset) => sought.push(offset),
    resume: () => undefined,
    wake: () => undefined,
    onRedelivered: (messages) => redelivered.push(messages),
  });
  inbox.open(10n);
  expect(inbox.offer(batch(10, 19))).toBe('taken');
  expect(redelivered).toEqual([]);
  expect(inbox.offer(batch(15, 24))).toBe('taken');
  expect(redelivered).toEqual([5]);
  expect(inbox.status().held).toBe(15);
  expect(inbox.offer(batch(0, 9))).toBe('seeking');
  expect(redelivered).toEqual([5, 10]);
  // A gap is not a redelivery.
  expect(inbox.offer(batch(30, 39))).toBe('seeking');
  expect(redelivered).toEqual([5, 10]);
  expect(sought).toEqual([10n, 25n, 25n]);
});
