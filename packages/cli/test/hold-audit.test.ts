/** What `holds` and `doctor` say is not released: what each lane has, by the order of its own records. */
import { expect, test } from 'vitest';
import { auditOf, inForceText } from '../src/hold-audit.ts';
import { othersEndedBy, wantedInWords } from '../src/hold-others.ts';

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
  ['holds for a shorter time', 'HOLD ada', 'HOLD bob 13', ['ada']],
  ['holds for a shorter time than another’s end', 'HOLD ada 14', 'HOLD bob 13', ['ada']],
  ['holds as long as another', 'HOLD ada 13', 'HOLD bob 13', []],
  ['ends one that its operator limited since', 'HOLD ada; HOLD ada 11; HOLD bob', 'RELEASE bob', []],
  ['holds what somebody else ended for another', 'HOLD ada; HOLD cleo 11', 'HOLD bob 13', []],
  ['holds for longer than is in force', 'HOLD ada; HOLD cleo 13', 'HOLD bob 14', []],
  ['holds what is held in one lane', 'HOLD ada - 1', 'HOLD bob 13', ['ada (only lane 1)']],
])('an order that %s', (_name, earlier, order, others) => {
  const ends: Readonly<Record<string, string>> = {
    '11': EARLY,
    '13': '2026-01-31T13:00:00Z',
    '14': '2026-01-31T14:00:00Z',
  };
  const ordered = (text: string) => {
    const [action = '', operator = '', end = '-', lane] = text.split(' ');
    const common = { at: EARLY, commandTypes: ['transfer-in'], operator, reason: 'x', until: ends[end] ?? null };
    return { order: { action: action as 'HOLD', ...common }, lanes: lane === undefined ? [0, 1] : [Number(lane)] };
  };
  const records = earlier.split('; ').flatMap((text, index) => {
    const { lanes, order: value } = ordered(text);
    const record = {
      offset: BigInt(index),
      key: Buffer.from(String(index)),
      value: Buffer.from(JSON.stringify(value)),
    };
    return lanes.map((partition) => ({ ...record, partition }));
  });
  const wanted = othersEndedBy(ordered(order).order, records, Date.parse(LATE));
  const said = wantedInWords(wanted, LANE_COUNT).map((text) =>
    text.replace(/ ordered a hold of transfer-in| at 2026.*/g, ''),
  );
  expect(said).toEqual(others);
});
