/** What `holds` and `doctor` say is not released: what each lane has, by the order of its own records. */
import { expect, test } from 'vitest';
import { auditOf, inForceText, othersEndedBy, wantedInWords, type LaneOrder } from '../src/hold-audit.ts';
import type { HoldOrder } from '../../../src/ledger/holds.ts';

const LANE_COUNT = 2;
const EARLY = '2026-01-31T12:00:00Z';
const LATE = '2026-01-31T12:05:00Z';
/** When holds end. */
const ENDS: Readonly<Record<string, string>> = {
  '11': EARLY,
  '13': '2026-01-31T13:00:00Z',
  '14': '2026-01-31T14:00:00Z',
};

/** Orders such as `HOLD ada 13 0,1 late`: an action, its operator, the hold's end, and to which lanes it was written, and when. */
function ordersIn(text: string): LaneOrder[] {
  return text.split('; ').flatMap((each, index) => {
    const [action = '', operator = '', end = '-', lanes = '0,1', at = 'early'] = each.split(' ');
    const common = { commandTypes: ['transfer-in'], operator, reason: 'x', until: ENDS[end] ?? null };
    const order: HoldOrder = { action: action as 'HOLD', ...common, at: at === 'early' ? EARLY : LATE };
    return lanes.split(',').map((lane) => ({ lane: Number(lane), offset: BigInt(index), id: 'one for all', order }));
  });
}

const ONE_LANE = 'transfer-in (only lane 1)';

test.each([
  ['a hold', 'HOLD ada', ['transfer-in']],
  ['a hold whose command was killed between two lanes', 'HOLD ada - 1', [ONE_LANE]],
  ['a release that was', 'HOLD ada; RELEASE ada - 0 late', [ONE_LANE, '']],
  ['a hold by a clock that is fast, then a release', 'HOLD ada - 0,1 late; RELEASE ada', ['', '']],
  ['a release by a clock that is fast, then a hold', 'RELEASE ada - 0,1 late; HOLD ada', ['transfer-in', '']],
  ['both at once, in another order in each lane', 'HOLD ada - 0; RELEASE ada - 0,1 late; HOLD ada - 1', [ONE_LANE, '']],
])('%s', (_name, orders, said) => {
  expect(auditOf(ordersIn(orders), LANE_COUNT, Date.parse(LATE)).map(inForceText)).toEqual(said);
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
])('an order that %s', (_name, earlier, ordered, others) => {
  const [{ order } = {}] = ordersIn(ordered);
  const wanted = order === undefined ? [] : othersEndedBy(order, ordersIn(earlier), Date.parse(LATE));
  const said = wantedInWords(wanted, LANE_COUNT).map((text) =>
    text.replace(/ ordered a hold of transfer-in| at 2026.*/g, ''),
  );
  expect(said).toEqual(others);
});
