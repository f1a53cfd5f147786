/** What a seed makes of a history: its size, the keys that the service honours, and how much goes wrong where. */
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { CHAOS_TYPES, type ChaosType } from '../chaos/chaos-commands.ts';
import { drawDisturbances, type Disturbance, type DisturbanceChoice } from './disturbances.ts';
import type { Draws } from './draws.ts';
import { LATE_MS_MAX } from './simulated-process.ts';
import type { CallTrouble } from './simulated-service.ts';
import type { Trouble } from './simulated-network.ts';

export interface Scenario {
  readonly laneCount: number;
  readonly processCount: number;
  readonly durationMs: number;
  readonly commandsPerSecond: number;
  /** Commands come together, this far apart; 0: evenly. */
  readonly burstMs: number;
  readonly honourKeys: readonly CommandType[];
  readonly apiTimeoutMs: number;
  /** Of the whole group; null: no limit. */
  readonly callsPerSecond: number | null;
  readonly breakerErrorPercent: number;
  readonly types: readonly ChaosType[];
  /** Requests between processes and brokers that meet trouble. */
  readonly troubleShare: number;
  /** Of those, how many end or freeze the process. */
  readonly crashShare: number;
  /** Calls whose process freezes when they are about to be sent. */
  readonly dialFreezeShare: number;
  /** Calls of the service that meet trouble. */
  readonly callTroubleShare: number;
  /** Mean time between disturbances of whole processes. */
  readonly disturbanceMs: number;
  /** Of these, each as likely as the others. */
  readonly disturbedBy: readonly ProcessDisturbance[];
  /** From a process's end to its successor's start, at most. */
  readonly restartMs: number;
  /** Calls that need a connection of their own. */
  readonly dialShare: number;
  readonly disturbed: ReadonlySet<Disturbance>;
}

export type ProcessDisturbance = 'kill' | 'freeze' | 'end' | 'set the clock';

/** Of heartbeats that are sent while a call is about to be: the process freezes, in histories where any does. */
const HEARTBEAT_FREEZE_SHARE = 0.3;
/** Of heartbeats, where clients leave their group: every ten seconds or so. */
const GIVEN_UP_SHARE = 0.1;
/** Pages of transactions that come late, where any does. */
const PAGE_TROUBLE_SHARE = 0.1;
const SLOW_PAGE_SHARE = 0.7;
/** Commands whose doubt is settled by a look-up, where keys are not honoured. */
const LOOKED_UP_TYPES: readonly ChaosType[] = ['execute-quote', 'reject-transaction', 'immediate-quote'];
/** Where look-ups overlap, calls are lost soon after they were sent. */
const SOON_MS_MAX = 300;
const SLOW_CALL_SHARE = 0.5;
/** Beyond the age of any command. */
const TOLD_TO_WAIT: CallTrouble = { kind: 'status', httpStatus: 429, takesEffect: false, retryAfterSeconds: 150 };
/** Calls have to be under way, or wait, when lanes are handed over and processes wake. */
const SLOWED = ['slow-service', 'heartbeats', 'handovers'] as const;
/** Transactions that a list leaves out, where any does. */
const LEFT_OUT_SHARE = 0.5;
const SLOW_MS_MAX = 14_000;
const DOWN_SHARE = 0.4;
const DOWN_MS_MAX = 15_000;
/** Most requests are heartbeats and fetches: trouble there is nothing new. */
const DULL_POINTS = new Set([
  'Heartbeat',
  'admin',
  'committed offsets',
  'connect',
  'find coordinator',
  'leave',
  'metadata',
]);
const DULL_SHARE = 0.15;
/** Of those that hit the process itself. */
const FREEZE_SHARE = 0.35;

export function scenarioOf(draws: Draws, added: Draws, choice: DisturbanceChoice): Scenario {
  const honourKeys = draws.pick<readonly CommandType[]>([
    ['transfer-in'],
    ['transfer-in'],
    COMMAND_TYPES,
    [],
    ['transfer-in', 'create-quote', 'execute-quote'],
  ]);
  const scenario = {
    laneCount: draws.pick([1, 1, 2, 3]),
    processCount: draws.pick([1, 2, 2, 2, 3]),
    durationMs: draws.between(8_000, 25_000),
    commandsPerSecond: draws.between(0.5, 2),
    burstMs: draws.pick([0, 2_000, 5_000]),
    honourKeys,
    troubleShare: draws.pick([0, 0.01, 0.03, 0.06]),
    crashShare: draws.pick([0, 0.2, 0.5]),
    dialFreezeShare: draws.pick([0, 0, 0.05]),
    callTroubleShare: draws.pick([0, 0.1, 0.3]),
    disturbanceMs: draws.pick([2_000, 5_000, 30_000]),
    apiTimeoutMs: 2_000,
    callsPerSecond: null,
    breakerErrorPercent: 50,
    types: CHAOS_TYPES,
  };
  const disturbed = drawDisturbances(draws, added, choice);
  const clocks = disturbed.has('clocks') ? ['set the clock' as const] : [];
  const others: Partial<Scenario> = {
    // Somebody else is to take the lanes over.
    ...(disturbed.has('heartbeats') ? { processCount: Math.max(2, scenario.processCount), dialShare: 0.5 } : {}),
    ...(disturbed.has('handovers')
      ? {
          laneCount: Math.max(2, scenario.laneCount),
          processCount: Math.max(2, scenario.processCount),
          disturbanceMs: 2_500,
          disturbedBy: ['end', 'end', 'end', 'kill', 'freeze', ...clocks],
          restartMs: 1_000,
        }
      : {}),
    ...(disturbed.has('handovers') || disturbed.has('look-ups')
      ? { types: LOOKED_UP_TYPES, honourKeys: draws.pick([['transfer-in'], []] as const) }
      : {}),
    // As in earnest: longer than a session and a handover.
    ...(disturbed.has('slow-service') || disturbed.has('handovers') ? { apiTimeoutMs: 8_000 } : {}),
    ...(disturbed.has('rate-limit') ? { callsPerSecond: added.pick([1, 2, 5]) } : {}),
    // One lane has them all, and time to call each once.
    ...(disturbed.has('masses')
      ? {
          laneCount: 1,
          processCount: 1,
          callsPerSecond: null,
          durationMs: 60_000,
          disturbanceMs: 3_600_000,
          troubleShare: 0,
          dialFreezeShare: 0,
        }
      : {}),
    // Doubt takes its time to be settled, and an open breaker would let none come up.
    ...(disturbed.has('look-ups') || disturbed.has('unfound')
      ? { durationMs: 30_000, disturbanceMs: 30_000, breakerErrorPercent: 100, troubleShare: 0.003 }
      : {}),
    // Nobody decides where all is clear.
    ...(disturbed.has('operators') || disturbed.has('look-ups') ? { callTroubleShare: draws.pick([0.4, 0.7]) } : {}),
  };
  const usual = {
    disturbedBy: ['kill', 'freeze', 'freeze', 'end', ...clocks] as const,
    restartMs: 4_000,
    dialShare: 0.05,
  };
  return { ...scenario, ...usual, ...others, disturbed };
}

/** @param isDialling the process is about to send a call */
export function troubleAt(scenario: Scenario, draws: Draws, point: string, isDialling: boolean): Trouble {
  if (point === 'dial' && draws.chance(scenario.dialFreezeShare)) return { kind: 'freeze' };
  const mayGiveUp = point === 'Heartbeat' && scenario.disturbed.has('left-groups');
  if (mayGiveUp && draws.chance(GIVEN_UP_SHARE)) return { kind: 'given-up' };
  const isHeartbeats = point === 'Heartbeat' && isDialling && scenario.disturbed.has('heartbeats');
  if (isHeartbeats && draws.chance(HEARTBEAT_FREEZE_SHARE)) return { kind: 'freeze' };
  const share = scenario.troubleShare * (DULL_POINTS.has(point) ? DULL_SHARE : 1);
  if (!draws.chance(share)) return { kind: 'none' };
  if (draws.chance(scenario.crashShare)) {
    if (draws.chance(FREEZE_SHARE)) return { kind: 'freeze' };
    return { kind: 'crash', when: draws.pick(['before', 'after', 'on-answer']) };
  }
  switch (draws.below(3)) {
    case 0:
      return { kind: 'request-lost', downMs: downMs(draws) };
    case 1:
      return { kind: 'answer-lost', downMs: downMs(draws) };
    default: {
      const slowMs = (): number => (draws.chance(0.5) ? 0 : draws.between(0, SLOW_MS_MAX));
      return { kind: 'slow', thereMs: slowMs(), backMs: slowMs() };
    }
  }
}

/** Nearly half of the connections that break stay so for a while, some longer than a transaction may take. */
function downMs(draws: Draws): number {
  return draws.chance(DOWN_SHARE) ? draws.between(0, DOWN_MS_MAX) : 0;
}

export function isLeftOut(scenario: Scenario, draws: Draws): boolean {
  return scenario.disturbed.has('unfound') && draws.chance(LEFT_OUT_SHARE);
}

/** How late the answer with a page of transactions is. */
export function pageDelayMs(scenario: Scenario, draws: Draws): number {
  const isSlow = scenario.disturbed.has('look-ups') && draws.chance(SLOW_PAGE_SHARE);
  return isSlow ? draws.between(0, scenario.apiTimeoutMs) : 0;
}

/** A page of transactions that is asked for has troubles of its own. */
export function pageTrouble(scenario: Scenario, draws: Draws): CallTrouble {
  return draws.chance(Math.min(scenario.callTroubleShare, PAGE_TROUBLE_SHARE))
    ? { kind: 'lost-after' }
    : { kind: 'none' };
}

export function callTrouble(scenario: Scenario, draws: Draws): CallTrouble {
  if (scenario.disturbed.has('masses')) return TOLD_TO_WAIT;
  if (!draws.chance(scenario.callTroubleShare)) {
    const { disturbed } = scenario;
    const isSlow = SLOWED.some((slowed) => disturbed.has(slowed)) && draws.chance(SLOW_CALL_SHARE);
    return isSlow ? { kind: 'slow', thereMs: draws.between(0, scenario.apiTimeoutMs) } : { kind: 'none' };
  }
  if (scenario.disturbed.has('look-ups')) return doubtfulCall(draws);
  switch (draws.below(8)) {
    case 0:
      return { kind: 'never-sent' };
    case 1:
      return { kind: 'lost-before' };
    case 2:
    case 3:
      return { kind: 'lost-after' };
    case 4:
    case 5: {
      const lostMs = draws.between(1, scenario.apiTimeoutMs);
      return { kind: 'late', lostMs, byMs: lostMs + draws.between(-lostMs, LATE_MS_MAX) };
    }
    default:
      return draws.chance(0.3)
        ? { kind: 'status', httpStatus: draws.pick([429, 429, 401, 404]), takesEffect: false }
        : { kind: 'status', httpStatus: draws.pick([500, 502, 503]), takesEffect: draws.chance(0.5) };
  }
}

/** One that leaves its entry in doubt. */
function doubtfulCall(draws: Draws): CallTrouble {
  const lostMs = draws.between(1, SOON_MS_MAX);
  return draws.chance(0.5)
    ? { kind: 'lost-before' }
    : { kind: 'late', lostMs, byMs: draws.between(lostMs, LATE_MS_MAX) };
}
