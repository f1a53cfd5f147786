/** Operators' holds and releases, from the topic that keeps all of their orders. */
import { lanesInWords } from 'payment-processor-contract/keys';
import { orderOf } from '../../../src/consumers/hold-intake.ts';
import { readBounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { isInForce, NO_HOLDS, withOrder, type HoldOrder, type HoldsRecord } from '../../../src/ledger/holds.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { cliKafka, type CliSettings } from './context.ts';
import { readTopics } from './topic-reading.ts';

export interface InForce {
  /**
   * Types not released since, in at least one lane. The topic does not show whether the lane's owner has confirmed the hold.
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

export type OrderRecord = Pick<TopicRecord, 'key' | 'offset' | 'partition' | 'value'>;

/** What the topic of orders shows. */
export interface ReadOrders {
  /** Of each lane in offset order, which alone decides what is in force there. */
  readonly records: readonly OrderRecord[];
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
  const records: TopicRecord[] = [];
  const hidden = await readTopics(settings, {
    topics,
    onRecord: (record) => {
      if (before === null || record.offset < (before.get(record.partition) ?? 0n)) records.push(record);
    },
  });
  const laneCount = (await readBounds(cliKafka(settings), topics)).length;
  return { records, laneCount, hidden };
}

/** What each lane holds after the orders. */
export function holdsByLane(records: readonly OrderRecord[]): Map<number, HoldsRecord> {
  const states = new Map<number, HoldsRecord>();
  for (const { offset, partition, value } of records) {
    const order = orderOf(value);
    if (order !== null) states.set(partition, withOrder(states.get(partition) ?? NO_HOLDS, order, offset));
  }
  return states;
}

/** @returns oldest first, by the operators' clocks */
export function auditOf(records: readonly OrderRecord[], laneCount: number, nowMs: number): AuditedOrder[] {
  const orders = new Map<string, { id: string; order: HoldOrder; offsets: Map<number, bigint> }>();
  const states = holdsByLane(records);
  for (const { key, offset, partition, value } of records) {
    const order = orderOf(value);
    if (order === null) continue;
    const id = key?.toString() ?? `${partition}/${offset}`;
    // Another's record may have the same id.
    const name = JSON.stringify([id, order]);
    const known = orders.get(name) ?? { id, order, offsets: new Map<number, bigint>() };
    known.offsets.set(partition, offset);
    orders.set(name, known);
  }
  const audited = [...orders.values()].map(({ id, offsets, order }): AuditedOrder => {
    const lanes = [...offsets.keys()].sort((left, right) => left - right);
    const held = lanes.flatMap((lane) => {
      const holds = Object.entries(states.get(lane)?.holds ?? {});
      const own = holds.filter(([, hold]) => hold.offset === String(offsets.get(lane)) && isInForce(hold, nowMs));
      return own.map(([type]) => ({ lane, type }));
    });
    return { id, lanes, ...order, ...inForceOf(held, laneCount) };
  });
  return audited.sort((left, right) => Date.parse(left.at) - Date.parse(right.at));
}

export function inForceOf(
  held: readonly { readonly lane: number; readonly type: string }[],
  laneCount: number,
): InForce {
  const lanesOf = [...Map.groupBy(held, ({ type }) => type)].map(
    ([type, places]) => [type, places.map(({ lane }) => lane)] as const,
  );
  const inSomeLanes = Object.fromEntries(lanesOf.filter(([, lanes]) => lanes.length < laneCount));
  return { inForce: lanesOf.map(([type]) => type), inSomeLanes };
}

/** The holds in force that a new order of these types replaces or ends, with the types concerned. None given: all types. */
export function replacedBy(commandTypes: readonly string[], orders: readonly AuditedOrder[]): AuditedOrder[] {
  const concerns = (type: string): boolean => commandTypes.length === 0 || commandTypes.includes(type);
  return orders
    .map((order) => ({ ...order, inForce: order.inForce.filter(concerns) }))
    .filter(({ inForce }) => inForce.length > 0);
}

/** Who ordered which hold, when and why. */
export function holdText(audited: HoldOrder & InForce): string {
  const { at, operator, reason, until } = audited;
  const ends = until === null ? '' : `, until ${until}`;
  return `${operator} ordered a hold of ${inForceText(audited)} at ${at}${ends} (${reason})`;
}

/** The types not released since, in words; empty: none. */
export function inForceText({ inForce, inSomeLanes }: InForce): string {
  const where = (type: string): string => {
    const lanes = inSomeLanes[type];
    return lanes === undefined ? '' : ` (only ${lanesInWords(lanes)})`;
  };
  return inForce.map((type) => `${type}${where(type)}`).join(', ');
}
