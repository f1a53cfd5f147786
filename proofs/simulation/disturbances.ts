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
  /** Operators decide at any instant, rightly, too late, on anything, and now and then wrongly. */
  operators: 0.4,
  /** Each process has a wall clock of its own, which is set now and then; by up to a week. */
  clocks: 0.15,
  /** Pages of transactions come late, and copies of commands while those are in doubt. */
  'look-ups': 0.4,
  /** The ledger is compacted, now and then. */
  compaction: 0.5,
  /** Processes begin with copies of a store that are older than the store. */
  'old-stores': 0.3,
  /** All processes are away for longer than keys are remembered, twice, and come back with their old stores. */
  absence: 0.1,
  /** A command topic is deleted, and made again. */
  'topics-again': 0.05,
  /** A command topic loses its oldest messages, admitted or not. */
  truncation: 0.05,
  /** Partitions get new leaders, who say for a while that they end earlier than they do. */
  leaders: 0.2,
  /** A coordinator of transactions is lost right after one was committed: its markers come up to a minute later. */
  coordinator: 0.1,
  /** A hundred large commands that are parked fall due while no process is there, and are all too old. */
  masses: 0.01,
  /** `otherFieldsJson`, our own name for what we do not know, with a text that is no JSON. */
  'poison-others': 0.04,
  'poison-unknown-others': 0.04,
  /** Nested beyond any stack: as a field, and as such a text. */
  'poison-deep': 0.04,
  'poison-deep-others': 0.04,
  'poison-many-fields': 0.04,
  /** A header without a value, on a message that is buried or moved. */
  'poison-null-header': 0.04,
  'poison-null-header-moved': 0.04,
  /** Headers named as what every object has. */
  'poison-object-header': 0.04,
  'poison-object-header-moved': 0.04,
  'poison-moved-partition': 0.04,
  'poison-large': 0.02,
  'poison-large-moved': 0.02,
  /** A member of a JSON object that is there twice. */
  'poison-twice': 0.04,
  /** Our own code fails when it reads the message. */
  'poison-bug': 0.04,
  /** Brokers take no record that has what is in it. */
  'poison-refused': 0.04,
  /** Operators hold commands, and release them. */
  holds: 0.2,
  /** The client gives a heartbeat up: it leaves the group, its session not over, and comes back as a new member. */
  'left-groups': 0.1,
} as const;

export type Disturbance = keyof typeof SHARES;
export type PoisonKind = Extract<Disturbance, `poison-${string}`>;

export const DISTURBANCES = Object.keys(SHARES) as readonly Disturbance[];

export const POISON_KINDS = DISTURBANCES.filter((name): name is PoisonKind => name.startsWith('poison-'));

export type DisturbanceChoice =
  /** The seed decides, but for some. */
  | { readonly kind: 'drawn'; readonly without: readonly Disturbance[] }
  /** These in every history. */
  | { readonly kind: 'fixed'; readonly disturbances: readonly Disturbance[] };

/**
 * Takes the same draws whatever the choice, so that all else of a history stays as it was.
 * @param added for disturbances that were added since seeds were noted: those histories stay as they were, too
 */
export function drawDisturbances(draws: Draws, added: Draws, choice: DisturbanceChoice): ReadonlySet<Disturbance> {
  const drawn = DISTURBANCES.filter((name) => (name === 'left-groups' ? added : draws).chance(SHARES[name]));
  return new Set(
    choice.kind === 'fixed'
      ? choice.disturbances
      : drawn.filter((disturbance) => !choice.without.includes(disturbance)),
  );
}
