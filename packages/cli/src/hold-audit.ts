/**
 * Operators' holds and releases, from the topic that keeps all of their orders: which holds are in force, and which
 * holds operators still want. All but the reading is pure.
 */
import { lanesInWords } from 'payment-processor-contract/keys';
import { orderOf } from '../../../src/consumers/hold-intake.ts';
import { readBounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import {
  covers,
  endMs,
  isInForce,
  NO_HOLDS,
  typesOf,
  withOrder,
  type HoldOrder,
  type HoldsRecord,
} from '../../../src/ledger/holds.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { cliKafka, type CliSettings } from './context.ts';
import { readTopics } from './topic-reading.ts';

/** An order's record in one lane. */
export interface LaneOrder {
  readonly lane: number;
  readonly offset: bigint;
  /** The same in each lane. */
  readonly id: string;
  readonly order: HoldOrder;
}

/** What the topic of orders shows. */
export interface ReadOrders {
  /** Each lane's orders in offset order, which alone decides what is in force there. */
  readonly orders: readonly LaneOrder[];
  readonly laneCount: number;
  /** Sentences about records that an open transaction hides. */
  readonly hidden: readonly string[];
}

/**
 * @param before only orders at earlier offsets, by lane; null: all
 * @throws the Kafka client's error
 */
export async function readOrders(
  settings: CliSettings,
  before: ReadonlyMap<number, bigint> | null = null,
): Promise<ReadOrders> {
  const topics = [topicNames(settings.TOPIC_PREFIX).operatorHolds];
  const orders: LaneOrder[] = [];
  const hidden = await readTopics(settings, {
    topics,
    onRecord: ({ key, offset, partition: lane, value }) => {
      const order = orderOf(value);
      if (order !== null && (before === null || offset < (before.get(lane) ?? 0n)))
        orders.push({ lane, offset, id: key?.toString() ?? `${lane}/${offset}`, order });
    },
  });
  const laneCount = (await readBounds(cliKafka(settings), topics)).length;
  return { orders, laneCount, hidden };
}

export interface InForce {
  /**
   * Types that the order still holds in at least one lane: it was not released or replaced there, and has not ended.
   * The topic does not show whether the lane's owner has confirmed the hold.
   */
  readonly inForce: readonly string[];
  /** Those of them that it does not hold in every lane, with the lanes where it does. */
  readonly inSomeLanes: Readonly<Record<string, readonly number[]>>;
}

export interface AuditedOrder extends HoldOrder, InForce {
  readonly id: string;
  /** The lanes to which the order was written. */
  readonly lanes: readonly number[];
}

/** @returns oldest first, by the operators' clocks */
export function auditOf(orders: readonly LaneOrder[], laneCount: number, nowMs: number): AuditedOrder[] {
  const states = holdsByLane(orders);
  // Another writer's order may have the same id.
  const same = Map.groupBy(orders, ({ id, order }) => JSON.stringify([id, order]));
  const audited = [...same.values()].flatMap((places): AuditedOrder[] => {
    const [{ id, order } = {}] = places;
    if (id === undefined || order === undefined) return [];
    const offsets = new Map(places.map(({ lane, offset }) => [lane, String(offset)]));
    const lanes = [...offsets.keys()].sort((left, right) => left - right);
    const held = lanes.flatMap((lane) => {
      const holds = Object.entries(states.get(lane)?.holds ?? {});
      const own = holds.filter(([, hold]) => hold.offset === offsets.get(lane) && isInForce(hold, nowMs));
      return own.map(([type]) => ({ lane, type }));
    });
    return [{ id, lanes, ...order, ...inForceOf(held, laneCount) }];
  });
  return audited.sort((left, right) => Date.parse(left.at) - Date.parse(right.at));
}

/** The holds of each lane after all its orders. */
function holdsByLane(orders: readonly LaneOrder[]): Map<number, HoldsRecord> {
  const states = new Map<number, HoldsRecord>();
  for (const { lane, offset, order } of orders)
    states.set(lane, withOrder(states.get(lane) ?? NO_HOLDS, order, offset));
  return states;
}

function inForceOf(held: readonly { readonly lane: number; readonly type: string }[], laneCount: number): InForce {
  const lanesOf = [...Map.groupBy(held, ({ type }) => type)].map(
    ([type, places]) => [type, places.map(({ lane }) => lane)] as const,
  );
  const inSomeLanes = Object.fromEntries(lanesOf.filter(([, lanes]) => lanes.length < laneCount));
  return { inForce: lanesOf.map(([type]) => type), inSomeLanes };
}

/** The holds in force that the order replaces or ends, with the types concerned. */
export function replacedBy(order: HoldOrder, audited: readonly AuditedOrder[]): AuditedOrder[] {
  return audited
    .map((one) => ({ ...one, inForce: one.inForce.filter((type) => covers(order, type)) }))
    .filter(({ inForce }) => inForce.length > 0);
}

/** A hold that its operator still wants: it was not released, but another operator's hold may have replaced it. */
export interface WantedHold {
  readonly order: HoldOrder;
  readonly type: string;
  readonly lane: number;
  /** When it ends: at its own end, or earlier at that of the hold in force. */
  readonly endsMs: number;
  /** Another operator's hold is in force in its place. */
  readonly isReplaced: boolean;
}

type Wanted = Pick<WantedHold, 'order' | 'type' | 'lane'>;

/**
 * Other operators' holds that the order would end earlier than they end without it. A hold that none in force covers
 * has ended already, so it is not among them.
 */
export function othersEndedBy(order: HoldOrder, orders: readonly LaneOrder[], nowMs: number): WantedHold[] {
  const orderEndMs = order.action === 'RELEASE' ? nowMs : endMs(order);
  return wantedHolds(orders, nowMs).filter(
    ({ endsMs, order: other, type }) => other.operator !== order.operator && covers(order, type) && endsMs > orderEndMs,
  );
}

/** The holds that their operators still want, where a hold is in force. */
export function wantedHolds(orders: readonly LaneOrder[], nowMs: number): WantedHold[] {
  const states = holdsByLane(orders);
  return notReleased(orders).flatMap(({ lane, order, type }) => {
    const held = states.get(lane)?.holds[type];
    const endsMs = held === undefined ? nowMs : Math.min(endMs(held), endMs(order));
    const isReplaced = held?.operator !== order.operator;
    return endsMs > nowMs ? [{ lane, order, type, endsMs, isReplaced }] : [];
  });
}

function notReleased(orders: readonly LaneOrder[]): Wanted[] {
  let wanted: Wanted[] = [];
  for (const { lane, order } of orders) {
    const isHold = order.action === 'HOLD';
    const added = isHold ? typesOf(order).map((type) => ({ order, type, lane })) : [];
    // A release ends the holds of all operators. A hold ends only its own operator's previous one.
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

/** Who ordered which hold, when and why. */
export function holdText(audited: HoldOrder & InForce): string {
  const { at, operator, reason, until } = audited;
  const ends = until === null ? '' : `, until ${until}`;
  return `${operator} ordered a hold of ${inForceText(audited)} at ${at}${ends} (${reason})`;
}

/** The types that the order still holds, in words; empty: none. */
export function inForceText({ inForce, inSomeLanes }: InForce): string {
  const where = (type: string): string => {
    const lanes = inSomeLanes[type];
    return lanes === undefined ? '' : ` (only ${lanesInWords(lanes)})`;
  };
  return inForce.map((type) => `${type}${where(type)}`).join(', ');
}
