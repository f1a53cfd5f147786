/** Which other operators want held what an order would let go. Pure. */
import { orderOf } from '../../../src/consumers/hold-intake.ts';
import { covers, endMs, typesOf, type HoldOrder } from '../../../src/ledger/holds.ts';
import { holdsByLane, holdText, inForceOf, type OrderRecord } from './hold-audit.ts';

/** A hold that its operator still wants: not released since, though another operator's hold may have replaced it. */
export interface WantedHold {
  readonly order: HoldOrder;
  readonly type: string;
  readonly lane: number;
  /** When it would end: its own end, or that of the hold in force. */
  readonly endsMs: number;
  /** Another operator's hold is in force in its place. */
  readonly isReplaced: boolean;
}

type Wanted = Pick<WantedHold, 'order' | 'type' | 'lane'>;

/**
 * What the order would let go, at once or before its wanted end. What no hold in force covers is not let go by an order, nor what
 * ends sooner without it.
 * @param records of each lane in offset order
 */
export function othersEndedBy(order: HoldOrder, records: readonly OrderRecord[], nowMs: number): WantedHold[] {
  const orderEndMs = order.action === 'RELEASE' ? nowMs : endMs(order);
  return wantedHolds(records, nowMs).filter(
    ({ endsMs, order: other, type }) => other.operator !== order.operator && covers(order, type) && endsMs > orderEndMs,
  );
}

/** The holds that their operators still want, where a hold is in force. */
export function wantedHolds(records: readonly OrderRecord[], nowMs: number): WantedHold[] {
  const states = holdsByLane(records);
  return notReleased(records).flatMap(({ lane, order, type }) => {
    const held = states.get(lane)?.holds[type];
    const endsMs = held === undefined ? nowMs : Math.min(endMs(held), endMs(order));
    const isReplaced = held?.operator !== order.operator;
    return endsMs > nowMs ? [{ lane, order, type, endsMs, isReplaced }] : [];
  });
}

function notReleased(records: readonly OrderRecord[]): Wanted[] {
  let wanted: Wanted[] = [];
  for (const { partition: lane, value } of records) {
    const order = orderOf(value);
    if (order === null) continue;
    const isHold = order.action === 'HOLD';
    const added = isHold ? typesOf(order).map((type) => ({ order, type, lane })) : [];
    // A release ends every wish; a hold, its operator's earlier one.
    const isOver = (one: Wanted): boolean =>
      one.lane === lane && covers(order, one.type) && !(isHold && one.order.operator !== order.operator);
    wanted = [...wanted.filter((one) => !isOver(one)), ...added];
  }
  return wanted;
}

/** Each order once, with the types and lanes concerned. */
export function wantedInWords(wanted: readonly WantedHold[], laneCount: number): string[] {
  return [...Map.groupBy(wanted, ({ order }) => JSON.stringify(order)).values()].flatMap((ones) => {
    const [one] = ones;
    return one === undefined ? [] : holdText({ ...one.order, ...inForceOf(ones, laneCount) });
  });
}
