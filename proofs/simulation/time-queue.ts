/** Items by due time, for virtual clocks: earliest first, ties in the order of insertion. A binary heap. */
interface Placed<Item> {
  readonly atMs: number;
  readonly sequence: number;
  readonly item: Item;
}

export class TimeQueue<Item> {
  readonly #heap: Placed<Item>[] = [];
  #sequence = 0;

  put(atMs: number, item: Item): void {
    const placed = { atMs, sequence: (this.#sequence += 1), item };
    const heap = this.#heap;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (isBefore(heap[parent]!, placed)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = placed;
  }

  /** @returns the first, if it is due by the instant */
  take(untilMs: number): { readonly atMs: number; readonly item: Item } | null {
    const heap = this.#heap;
    const first = heap[0];
    if (first === undefined || first.atMs > untilMs) return null;
    const last = heap.pop()!;
    if (heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      if (left >= heap.length) break;
      const child = left + 1 < heap.length && isBefore(heap[left + 1]!, heap[left]!) ? left + 1 : left;
      if (isBefore(last, heap[child]!)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(left: Placed<unknown>, right: Placed<unknown>): boolean {
  return left.atMs < right.atMs || (left.atMs === right.atMs && left.sequence < right.sequence);
}
