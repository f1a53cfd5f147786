/** Which dead letters are open, judged by their topic's records. packages/cli/test/dead-letters.test.ts tests it with brokers. */
import { setImmediate as turn } from 'node:timers/promises';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { TopicTail, type TailedRecord } from '../../src/consumers/topic-tail.ts';
import { DeadLetterWatch } from '../../src/ops/dead-letter-watch.ts';
import { HANDLED, NOTE_HEADERS } from '../../src/producers/dead-letter-notes.ts';

const AT_MS = Date.parse('2026-03-01T12:00:00Z');

afterEach(() => vi.restoreAllMocks());

function watch(ends = new Map<number, PartitionOffsets>()): DeadLetterWatch {
  return new DeadLetterWatch({
    ...{ settings: {} as never, groupId: 'g', clientId: 'c', topic: 't', partitionCount: 2, sessionTimeoutMs: 6_000 },
    ...{ ends: async () => ends, log: () => undefined, onProblem: () => undefined },
  });
}

function record(offset: number, headers: Record<string, string>): TailedRecord {
  const bytes = Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)]);
  const own = Object.fromEntries(bytes) as Record<string, unknown>;
  return {
    key: '',
    value: null,
    headers: own,
    offset: BigInt(offset),
    timestampMs: AT_MS + offset * 1_000,
    isBrokersTime: false,
  };
}

const letter = (offset: number, reason = 'UNREADABLE'): TailedRecord => record(offset, { 'dlq-reason': reason });
const note = (offset: number, of: number, reason: string): TailedRecord =>
  record(offset, { 'dlq-reason': reason, [NOTE_HEADERS.offset]: String(of) });
const fromBeginning = (): bigint => 0n;

describe('open dead letters', () => {
  test('are counted by reason, with the last of each; notes do not count', () => {
    const letters = watch();
    letters.apply(0, [letter(1), letter(3), letter(5, 'NO_KEY'), note(7, 9, HANDLED.redriven)], 9n);
    expect(letters.open(fromBeginning)).toEqual([
      { reason: 'UNREADABLE', count: 2, lastAt: '2026-03-01T12:00:03.000Z' },
      { reason: 'NO_KEY', count: 1, lastAt: '2026-03-01T12:00:05.000Z' },
    ]);
  });

  test.each(Object.values(HANDLED))('do not include those %s, which apply to their own partition only', (reason) => {
    const letters = watch();
    letters.apply(0, [letter(1), note(3, 1, reason)], 5n);
    letters.apply(1, [letter(1)], 2n);
    expect(letters.open(fromBeginning)).toMatchObject([{ reason: 'UNREADABLE', count: 1 }]);
  });

  test('include neither refused decisions nor what retention removed', () => {
    const letters = watch();
    letters.apply(0, [letter(1), letter(4), letter(5, 'REFUSED_DECISION')], 6n);
    expect(letters.open(() => 4n)).toMatchObject([{ reason: 'UNREADABLE', count: 1 }]);
  });

  test('are known once every partition is read to its end, and unknown again while reading fails', async () => {
    vi.spyOn(TopicTail.prototype, 'start').mockResolvedValueOnce().mockRejectedValueOnce(new Error('no right to read'));
    vi.spyOn(TopicTail.prototype, 'stop').mockResolvedValue();
    const letters = watch(
      new Map([
        [0, { low: 0n, high: 2n }],
        [1, { low: 7n, high: 7n }],
      ]),
    );
    expect(letters.isRead()).toBe(false);
    letters.start();
    await turn();
    letters.apply(0, [letter(0)], 1n);
    expect(letters.isRead()).toBe(false);
    letters.apply(0, [letter(1)], 2n);
    expect(letters.isRead()).toBe(true);
    letters.start();
    await turn();
    expect(letters.isRead()).toBe(false);
    await letters.stop();
  });
});
