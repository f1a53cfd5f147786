/** Records of several topics in the order of their times. Pure. */

/**
 * Within a topic they stay as they lie there: each time is of the clock of whoever wrote the record, and what lies later came
 * later.
 * @param items of each topic in its order
 */
export function inOrder<Item>(
  items: readonly Item[],
  topicOf: (item: Item) => string,
  msOf: (item: Item) => number,
): Item[] {
  const latest = new Map<string, number>();
  const timed = items.map((item) => {
    const topic = topicOf(item);
    const ms = Math.max(msOf(item), latest.get(topic) ?? -Infinity);
    latest.set(topic, ms);
    return { item, ms };
  });
  return timed.sort((left, right) => left.ms - right.ms).map(({ item }) => item);
}
