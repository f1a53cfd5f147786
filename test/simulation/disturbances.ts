/** The kinds of trouble that a history can have besides the usual, each of which can be left out, and how often each is drawn. */
import type { Draws } from './draws.ts';

/** Shares of histories. */
const SHARES = {
  /** Processes freeze right after they sent a heartbeat: its answer waits in their socket. */
  heartbeats: 0.25,
  /** Processes end in order and start again, one after the other: lanes are handed over while calls are under way. */
  handovers: 0.2,
  /** Calls are long on their way. */
  'slow-service': 0.25,
  /** Lists of transactions leave some out: a look-up may not find what is there. */
  unfound: 0.2,
  /** Persons decide at any instant, rightly, too late, on anything, and now and then wrongly. */
  operators: 0.4,
  /** Each process has a wall clock of its own, which is set now and then; by up to a week. */
  clocks: 0.15,
  /** Pages of transactions come late, and copies of commands while those are in doubt. */
  'look-ups': 0.4,
  /** The ledger is compacted, now and then. */
  compaction: 0.5,
  /** Processes begin with copies of a store that are older than the store. */
  'old-stores': 0.3,
  /** All processes are away for longer than keys are remembered, twice, and come back with stores of before. */
  absence: 0.1,
} as const;

export type Disturbance = keyof typeof SHARES;

export const DISTURBANCES = Object.keys(SHARES) as readonly Disturbance[];

export type DisturbanceChoice =
  /** The seed decides, but for some. */
  | { readonly kind: 'drawn'; readonly without: readonly Disturbance[] }
  /** These in every history. */
  | { readonly kind: 'fixed'; readonly disturbances: readonly Disturbance[] };

/** Takes the same draws whatever the choice, so that all else of a history stays as it was. */
export function drawDisturbances(draws: Draws, choice: DisturbanceChoice): ReadonlySet<Disturbance> {
  const drawn = DISTURBANCES.filter((disturbance) => draws.chance(SHARES[disturbance]));
  return new Set(
    choice.kind === 'fixed'
      ? choice.disturbances
      : drawn.filter((disturbance) => !choice.without.includes(disturbance)),
  );
}
