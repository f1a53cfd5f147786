/** The order of requests to Kafka: records that arrive in between must not be misread. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TopicEnds, type OffsetSource } from '../../src/ops/topic-ends.ts';

test('ends are asked for last: a group that commits meanwhile is not beyond them', async () => {
  const committed = Promise.withResolvers<Map<number, bigint>>();
  const asked: string[] = [];
  const source: OffsetSource = {
    ends: async () => {
      asked.push('ends');
      return new Map([[0, { low: 0n, high: 5n }]]);
    },
    highWatermarks: async () => new Map(),
    committed: () => committed.promise,
    members: async () => [],
  };
  const clock = { nowMs: () => 0, monotonicMs: () => 0 };
  const topics = { published: ['commands'], internal: [], others: [], displayed: [] };
  const reading = new TopicEnds(source, topics, clock).latest();
  await turn();
  expect(asked).toEqual([]);
  committed.resolve(new Map([[0, 5n]]));
  expect((await reading).topics.get('commands')).toMatchObject({ committed: new Map([[0, 5n]]) });
});
