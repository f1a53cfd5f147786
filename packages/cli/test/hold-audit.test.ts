/** What `holds` and `doctor` say is not released: what each lane has, by the order of its own records. */
import { expect, test } from 'vitest';
import { auditOf, inForceText } from '../src/hold-audit.ts';
import type { HoldOrder } from '../../../src/ledger/holds.ts';

const LANE_COUNT = 2;
const EARLY = '2026-01-31T12:00:00Z';
const LATE = '2026-01-31T12:05:00Z';

/** What is not released after orders, each with the lanes that it was written to. */
function inForce(...orders: [HoldOrder['action'], string, number[]][]): string[] {
  const ends = new Map<number, bigint>();
  const records = orders.flatMap(([action, at, lanes]) =>
    lanes.map((partition) => {
      const offset = ends.get(partition) ?? 0n;
      ends.set(partition, offset + 1n);
      const order = { action, at, commandTypes: ['transfer-in'], operator: 'ada', reason: 'x', until: null };
      return { partition, offset, key: Buffer.from('one id for all'), value: Buffer.from(JSON.stringify(order)) };
    }),
  );
  return auditOf(records, LANE_COUNT, Date.parse(LATE)).map(inForceText);
}

test.each([
  ['a hold', [['HOLD', EARLY, [0, 1]]], ['transfer-in']],
  ['a hold whose command was killed between two lanes', [['HOLD', EARLY, [1]]], ['transfer-in (only lane 1)']],
  [
    'a release that was',
    [
      ['HOLD', EARLY, [0, 1]],
      ['RELEASE', LATE, [0]],
    ],
    ['transfer-in (only lane 1)', ''],
  ],
  [
    'a hold by a clock that is fast, then a release',
    [
      ['HOLD', LATE, [0, 1]],
      ['RELEASE', EARLY, [0, 1]],
    ],
    ['', ''],
  ],
  [
    'a release by a clock that is fast, then a hold',
    [
      ['RELEASE', LATE, [0, 1]],
      ['HOLD', EARLY, [0, 1]],
    ],
    ['transfer-in', ''],
  ],
  [
    'both at once, which lie in another order in each lane',
    [
      ['HOLD', EARLY, [0]],
      ['RELEASE', LATE, [0, 1]],
      ['HOLD', EARLY, [1]],
    ],
    ['transfer-in (only lane 1)', ''],
  ],
] satisfies [string, [HoldOrder['action'], string, number[]][], string[]][])('%s', (_name, orders, said) => {
  expect(inForce(...orders)).toEqual(said);
});
