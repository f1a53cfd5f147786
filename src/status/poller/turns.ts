/** Who is looked at first: windows that hold neighbours together, in three orders, each with a third of the calls. Pure. */
import { PAGE_LIMIT, type Window } from './scan.ts';

/** Transactions that one pass over a window is to show. */
export interface Cluster {
  readonly window: Window;
  readonly ids: readonly string[];
}

/** A transaction that is to be looked at. */
export interface Due {
  readonly id: string;
  /** Where it is: creation time, milliseconds since 1970. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Intervals that have passed, by its age; less than 1 where it is due by its last touch alone. */
  readonly lateness: number;
  /** Intervals that have passed, by its last touch. */
  readonly touchLateness: number;
  readonly waitedMs: number;
}

/** Of one window: ten pages, with room for its neighbours at the edges, who would make an eleventh. */
const CLUSTER_MAX = 960;

/** By the most of any of its transactions. */
const ORDERS = ['lateness', 'touchLateness', 'waitedMs'] as const;

type DueCluster = { fromMs: number; toMs: number; readonly ids: string[] } & Record<(typeof ORDERS)[number], number>;

/**
 * Where the budget is too small for all, a third of it goes to those that are the most overdue for their age, who are the
 * likeliest to have changed, a third to those that are the most overdue since they were touched, and a third to those that
 * have waited longest: so a flood of one kind does not keep another waiting, and nobody waits for more than three times
 * the time that all of them take.
 * @param mergeGapMs a gap in creation time that costs less to read through than a call of its own
 * @param callsMax about so many calls' worth is taken
 */
export function inTurn(due: readonly Due[], mergeGapMs: number, callsMax: number): Cluster[] {
  const clusters = clustersOf(due, mergeGapMs);
  const orders = ORDERS.map((order) => ({
    calls: 0,
    left: clusters.toSorted((left, right) => right[order] - left[order]).values(),
  }));
  const taken = new Set<DueCluster>();
  for (let calls = 0; calls < callsMax && taken.size < clusters.length;) {
    const order = orders.reduce((least, other) => (other.calls < least.calls ? other : least));
    const { done, value: cluster } = order.left.next();
    // The others have taken the rest of it.
    if (done === true) order.calls = Infinity;
    else if (!taken.has(cluster)) {
      taken.add(cluster);
      const clusterCalls = Math.ceil(cluster.ids.length / PAGE_LIMIT);
      order.calls += clusterCalls;
      calls += clusterCalls;
    }
  }
  return [...taken].map(({ fromMs, ids, toMs }) => ({ ids, window: { fromMs, toMs, status: null } }));
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
