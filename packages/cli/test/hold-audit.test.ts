/** What `holds` and `doctor` say is not released: what each lane has, by the order of its own records. */
import { expect, test } from 'vitest';
import { auditOf, inForceText, othersEndedBy } from '../src/hold-audit.ts';

const LANE_COUNT = 2;
const EARLY = '2026-01-31T12:00:00Z';
const LATE = '2026-01-31T12:05:00Z';

/** What is not released after orders, such as `HOLD early 0,1`: an action, its instant, and the lanes that it was written to. */
function inForce(orders: string): string[] {
  const ends = new Map<number, bigint>();
  const records = orders.split('; ').flatMap((each) => {
    const [action = '', when = '', lanes = ''] = each.split(' ');
    return lanes.split(',').map((lane) => {
      const partition = Number(lane);
      const offset = ends.get(partition) ?? 0n;
      ends.set(partition, offset + 1n);
      const at = when === 'early' ? EARLY : LATE;
      const order = { action, at, commandTypes: ['transfer-in'], operator: 'ada', reason: 'x', until: null };
      return { partition, offset, key: Buffer.from('one id for all'), value: Buffer.from(JSON.stringify(order)) };
    });
  });
  return auditOf(records, LANE_COUNT, Date.parse(LATE)).map(inForceText);
}

const ONE_LANE = 'transfer-in (only lane 1)';

test.each([
  ['a hold', 'HOLD early 0,1', ['transfer-in']],
  ['a hold whose command was killed between two lanes', 'HOLD early 1', [ONE_LANE]],
  ['a release that was', 'HOLD early 0,1; RELEASE late 0', [ONE_LANE, '']],
  ['a hold by a clock that is fast, then a release', 'HOLD late 0,1; RELEASE early 0,1', ['', '']],
  ['a release by a clock that is fast, then a hold', 'RELEASE late 0,1; HOLD early 0,1', ['transfer-in', '']],
  ['both at once, in another order in each lane', 'HOLD early 0; RELEASE late 0,1; HOLD early 1', [ONE_LANE, '']],
])('%s', (_name, orders, said) => {
  expect(inForce(orders)).toEqual(said);
});

test.each([
  ['ends the hold of another', 'HOLD ada', 'RELEASE bob', ['ada']],
  ['ends his own', 'HOLD bob', 'RELEASE bob', []],
  ['ends one that his own replaced', 'HOLD ada; HOLD bob', 'RELEASE bob', ['ada']],
  ['ends what was released since', 'HOLD ada; RELEASE ada; HOLD bob', 'RELEASE bob', []],
  ['holds too, without an end', 'HOLD ada', 'HOLD bob', []],
  ['holds for a shorter time', 'HOLD ada', 'HOLD bob until', ['ada']],
  ['holds as long as another', 'HOLD ada until', 'HOLD bob until', []],
  ['ends one that its operator limited since', 'HOLD ada; HOLD ada passed; HOLD bob', 'RELEASE bob', []],
])('an order that %s', (_name, earlier, order, operators) => {
  const orderOf = (text: string) => {
    const [action = '', operator = '', end] = text.split(' ');
    const until = end === undefined ? null : end === 'passed' ? EARLY : '2026-01-31T13:00:00Z';
    return { action: action as 'HOLD', at: EARLY, commandTypes: [], operator, reason: 'x', until };
  };
  const records = earlier.split('; ').map((text, index) => {
    const value = Buffer.from(JSON.stringify(orderOf(text)));
    return { partition: 0, offset: BigInt(index), key: Buffer.from(String(index)), value };
  });
  const others = othersEndedBy(orderOf(order), auditOf(records, 1, Date.parse(LATE)));
  expect(others.map(({ operator }) => operator)).toEqual(operators);
});
