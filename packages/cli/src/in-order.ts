/** Sorts records of several topics by time. Pure. */

/**
 * Within a topic it keeps the offset order: the writer's clock sets each time, but a later offset was always written later.
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
