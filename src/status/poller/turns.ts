/** Who is looked at first: windows that hold neighbours together, in three orders, each with its share of the calls. No I/O. */
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
const SHARES = [1, 1, 2];

type DueCluster = { fromMs: number; toMs: number; readonly ids: string[] } & Record<(typeof ORDERS)[number], number>;

/**
 * Where the budget is too small for all, half of it goes to those that have waited longest, so that nobody waits for more
 * than twice the time that all of them take; the rest to those that are the most overdue for their age, and since they were
 * touched, who are the likeliest to have changed: apart, so that a flood of the one does not keep the other waiting.
 */
export class PollTurns {
  /** Taken so far, by share; where one order takes a large cluster, the others catch up the next time. */
  #calls: number[] = ORDERS.map(() => 0);

  /**
   * @param mergeGapMs a gap in creation time that costs less to read through than a call of its own
   * @param callsMax about so many calls' worth is taken
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
      // Another order has taken it.
      if (taken.has(cluster)) continue;
      taken.add(cluster);
      const clusterCalls = callsOf(cluster, mergeGapMs);
      this.#calls[turn] = (this.#calls[turn] ?? 0) + clusterCalls / (SHARES[turn] ?? 1);
      calls += clusterCalls;
    }
    const least = Math.min(...this.#calls);
    // Nobody was left out: nobody is owed anything.
    this.#calls = this.#calls.map((calls) => (taken.size === clusters.length ? 0 : calls - least));
    return [...taken].map(({ fromMs, ids, toMs }) => ({ ids, window: { fromMs, toMs, status: null } }));
  }
}

/** The page shows what is between them as well: half of one within each gap that is read through. */
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
