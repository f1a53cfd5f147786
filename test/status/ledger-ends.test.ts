/** Where the ledger ends, for the poller: what a broker says is believed only if nobody can have read beyond it when it was asked. */
import { expect, test } from 'vitest';
import { ledgerEnds } from '../../src/lanes/poller-link.ts';

function askedWith(positions: bigint[], answer: () => Promise<Map<number, bigint>>): ReturnType<typeof ledgerEnds> {
  const reader = { position: (lane: number) => positions[lane] ?? 0n };
  return ledgerEnds({ offsets: { highWatermarks: answer }, reader, topic: 'ledger', laneCount: positions.length });
}

test('ends are as brokers say, though the ledger is written and read on while they answer', async () => {
  const positions = [7n, 3n];
  const answer = async (): Promise<Map<number, bigint>> => {
    const ends = new Map([
      [0, 7n],
      [1, 4n],
    ]);
    positions[0] = 9n;
    return ends;
  };
  expect(await askedWith(positions, answer)).toEqual(new Map([[0, 7n], [1, 4n]])); // prettier-ignore
});

test('an end that was read beyond before it was asked for is an error that names the lane', async () => {
  await expect(askedWith([7n, 3n], async () => new Map([[0, 8n], [1, 2n]]))).rejects.toThrow('lane 1'); // prettier-ignore
});

test('an error of the brokers is passed on', async () => {
  await expect(askedWith([0n], () => Promise.reject(new Error('away')))).rejects.toThrow('away');
});
