/** What operators held and released, from the topic of their orders, which keeps all of them. */
import { orderOf } from '../consumers/hold-intake.ts';
import { isInForce, NO_HOLDS, withOrder, type HoldOrder } from '../ledger/holds.ts';
import { topicNames } from '../records/topics.ts';
import type { KafkaSettings } from '../producers/kafka-client.ts';
import { readTopics } from './whole-topics.ts';

export interface AuditedOrder extends HoldOrder {
  readonly id: string;
  /** To which it was written. */
  readonly lanes: readonly number[];
  /** Types that it still holds. */
  readonly inForce: readonly string[];
}

/** Oldest first, by the operators' clocks. @throws the Kafka client's error */
export async function readOrders(
  settings: KafkaSettings & { readonly TOPIC_PREFIX: string },
  nowMs: number,
): Promise<AuditedOrder[]> {
  const orders = new Map<string, { order: HoldOrder; lanes: number[] }>();
  await readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).operatorHolds],
    onRecord: ({ key, offset, partition, value }) => {
      const order = orderOf(value);
      if (order === null) return;
      const id = key?.toString() ?? `${partition}/${offset}`;
      const known = orders.get(id) ?? { order, lanes: [] };
      known.lanes.push(partition);
      orders.set(id, known);
    },
  });
  const given = [...orders].map(([id, { lanes, order }]) => {
    return { id, lanes: lanes.sort((left, right) => left - right), ...order };
  });
  const inTime = given.sort((left, right) => Date.parse(left.at) - Date.parse(right.at));
  const { holds } = inTime.reduce((held, order, number) => withOrder(held, order, BigInt(number)), NO_HOLDS);
  const lasting = Object.entries(holds).filter(([, hold]) => isInForce(hold, nowMs));
  return inTime.map((order, number) => {
    const inForce = lasting.filter(([, { offset }]) => offset === String(number)).map(([commandType]) => commandType);
    return { ...order, inForce };
  });
}
