/** Chooses which transactions to look at first: in windows of neighbours, by three orders, each with its share of calls. No I/O. */
import { PAGE_LIMIT, type Window } from './scan.ts';

/** Transactions that one pass over a window should show. */
export interface Cluster {
  readonly window: Window;
  readonly ids: readonly string[];
}

/** A transaction that should be looked at. */
export interface Due {
  readonly id: string;
  /** The range that contains its creation time, milliseconds since 1970. */
  readonly fromMs: number;
  readonly toMs: number;
  /** How many of the intervals that follow from its age it has waited. Below 1: it is due only because of its last touch. */
  readonly lateness: number;
  /** The same, of the intervals that follow from the time since its last touch. */
  readonly touchLateness: number;
  readonly waitedMs: number;
}

/** Largest window: ten pages, with room for neighbours at the edges, which would make an eleventh. */
const CLUSTER_MAX = 960;

/** A cluster counts by its transaction with the highest value. */
const ORDERS = ['lateness', 'touchLateness', 'waitedMs'] as const;
const SHARES = [1, 1, 2];

type DueCluster = { fromMs: number; toMs: number; readonly ids: string[] } & Record<(typeof ORDERS)[number], number>;

/**
 * If the budget is too small for all, half of it goes to those that have waited longest. So none waits for more than twice the time
 * that all of them take. The rest goes to those most overdue for their age, and since their last touch, because they are the most
 * likely to have changed. These have separate shares, so that a flood of one kind does not delay the other.
 */
export class PollTurns {
  /** Calls taken so far, by share. If one order takes a large cluster, the others catch up next time. */
  #calls: number[] = ORDERS.map(() => 0);

  /**
   * @param mergeGapMs a gap in creation time that costs less to read through than an extra call
   * @param callsMax takes clusters for about this many calls
   */
  take(due: readonly Due[], mergeGapMs: number, callsMax: number): Cluster[] {
    const clusters = clustersOf(due, mergeGapMs);
    const sorted = ORDERS.map((order) => clusters.toSorted((left, right) => right[order] - left[order]));
    const places = ORDERS.map(() => 0);
    const taken = new Set<DueCluster>();
    for (let calls = 0; calls < callsMax && taken.size < clusters.length;) {
      const turn = this.#calls.indexOf(Math.min(...this.#calls));
      const place = (places[turn] ?? 0) + 1;
      const cluster = sorted[turn]?.[place - 1];
      if (cluster === undefined) break;
      places[turn] = place;
      // Another order has taken it already.
      if (taken.has(cluster)) continue;
      taken.add(cluster);
      const clusterCalls = callsOf(cluster, mergeGapMs);
      this.#calls[turn] = (this.#calls[turn] ?? 0) + clusterCalls / (SHARES[turn] ?? 1);
      calls += clusterCalls;
    }
    const least = Math.min(...this.#calls);
    // If all were taken, no order is behind.
    this.#calls = this.#calls.map((calls) => (taken.size === clusters.length ? 0 : calls - least));
    return [...taken].map(({ fromMs, ids, toMs }) => ({ ids, window: { fromMs, toMs, status: null } }));
  }
}

/** A pass also lists the transactions in between: about half a page for each `mergeGapMs` of the window. */
function callsOf({ fromMs, ids, toMs }: DueCluster, mergeGapMs: number): number {
  return Math.ceil(Math.max(ids.length / PAGE_LIMIT, (toMs - fromMs) / mergeGapMs / 2, 1));
}

function clustersOf(due: readonly Due[], mergeGapMs: number): DueCluster[] {
  const clusters: DueCluster[] = [];
  for (const { id, ...first } of due.toSorted((left, right) => left.fromMs - right.fromMs)) {
    const last = clusters.at(-1);
    if (last !== undefined && first.fromMs - last.toMs <= mergeGapMs && last.ids.length < CLUSTER_MAX) {
      last.toMs = Math.max(last.toMs, first.toMs);
      for (const order of ORDERS) last[order] = Math.max(last[order], first[order]);
      last.ids.push(id);
    } else clusters.push({ ...first, ids: [id] });
  }
  return clusters;
}
