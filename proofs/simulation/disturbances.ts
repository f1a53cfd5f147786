/** The optional kinds of trouble in a history, and how often each is drawn. */
import type { Draws } from './draws.ts';

/** The share of histories that have each kind. */
const SHARES = {
  /** Processes freeze right after sending a heartbeat: its answer waits in their socket. */
  heartbeats: 0.25,
  /** Processes end in order and start again, one after the other: lanes are handed over while calls are under way. */
  handovers: 0.2,
  /** Calls take long to arrive. */
  'slow-service': 0.25,
  /** Lists of transactions omit some, so a look-up may not find what exists. */
  unfound: 0.2,
  /** Operators decide at any instant and on anything: rightly, too late, and sometimes wrongly. */
  operators: 0.4,
  /** Each process has its own wall clock, which is sometimes set, by up to a week. */
  clocks: 0.15,
  /** Pages of transactions arrive late, and copies of commands arrive while the commands are in doubt. */
  'look-ups': 0.4,
  /** The ledger is compacted, now and then. */
  compaction: 0.5,
  /** Processes start with old copies of a store. */
  'old-stores': 0.3,
  /** Twice, all processes are down for longer than keys are remembered: they return without stores, then with old ones. */
  absence: 0.1,
  /** A command topic is deleted and recreated. */
  'topics-again': 0.05,
  /** A command topic loses its oldest messages, admitted or not. */
  truncation: 0.05,
  /** Partitions get new leaders, which for a while report ends that are too low. */
  leaders: 0.2,
  /** A transaction coordinator is lost right after a commit: the markers come up to a minute later. */
  coordinator: 0.1,
  /** A hundred large parked commands fall due while no process runs, and are all too old. */
  masses: 0.01,
  /** `otherFieldsJson`, our own name for unknown fields, with a text that is not JSON. */
  'poison-others': 0.04,
  'poison-unknown-others': 0.04,
  /** Nested deeper than any stack: as a field, and as a text in `otherFieldsJson`. */
  'poison-deep': 0.04,
  'poison-deep-others': 0.04,
  'poison-many-fields': 0.04,
  /** A header without a value, on a message that is buried or moved. */
  'poison-null-header': 0.04,
  'poison-null-header-moved': 0.04,
  /** Headers with names that every object has. */
  'poison-object-header': 0.04,
  'poison-object-header-moved': 0.04,
  'poison-moved-partition': 0.04,
  'poison-large': 0.02,
  'poison-large-moved': 0.02,
  /** A JSON object with the same member twice. */
  'poison-twice': 0.04,
  /** Our own code fails when it reads the message. */
  'poison-bug': 0.04,
  /** Brokers refuse every record that has this content. */
  'poison-refused': 0.04,
  /** Operators hold commands, and release them. */
  holds: 0.2,
  /** The client gives up on a heartbeat: it leaves the group before its session timeout, and rejoins as a new member. */
  'left-groups': 0.1,
  /** The group may begin a few calls a second only. */
  'rate-limit': 0.15,
} as const;

/** They came after seeds were noted. */
const ADDED: ReadonlySet<string> = new Set<Disturbance>(['left-groups', 'rate-limit']);

export type Disturbance = keyof typeof SHARES;
export type PoisonKind = Extract<Disturbance, `poison-${string}`>;

export const DISTURBANCES = Object.keys(SHARES) as readonly Disturbance[];

export const POISON_KINDS = DISTURBANCES.filter((name): name is PoisonKind => name.startsWith('poison-'));

export type DisturbanceChoice =
  /** The seed decides, except that these are left out. */
  | { readonly kind: 'drawn'; readonly without: readonly Disturbance[] }
  /** These in every history. */
  | { readonly kind: 'fixed'; readonly disturbances: readonly Disturbance[] };

/**
 * Draws the same numbers whatever the choice, so that the rest of a history does not change.
 * @param added draws for disturbances that were added after seeds were noted, so that noted histories stay the same
 */
export function drawDisturbances(draws: Draws, added: Draws, choice: DisturbanceChoice): ReadonlySet<Disturbance> {
  const drawn = DISTURBANCES.filter((name) => (ADDED.has(name) ? added : draws).chance(SHARES[name]));
  return new Set(
    choice.kind === 'fixed'
      ? choice.disturbances
      : drawn.filter((disturbance) => !choice.without.includes(disturbance)),
  );
}
