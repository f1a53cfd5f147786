/** What a seed makes of a history: its size, the keys that the service honours, and how much goes wrong where. */
import { COMMAND_TYPES, type CommandType } from '../../src/records/commands.ts';
import type { Draws } from './draws.ts';
import { SETTLING_TIME_MS } from './simulated-process.ts';
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
}

/** Later than any look at the service that is made before the settling time is over. */
const LATE_MS_MAX = 0.9 * SETTLING_TIME_MS;
const SLOW_MS_MAX = 14_000;
/** Most requests are heartbeats and fetches: trouble there is nothing new. */
const DULL_POINTS = new Set(['Heartbeat', 'admin', 'connect', 'leave']);
const DULL_SHARE = 0.15;
/** Of those that hit the process itself. */
const FREEZE_SHARE = 0.35;

export function scenarioOf(draws: Draws): Scenario {
  const honourKeys = draws.pick<readonly CommandType[]>([
    ['transfer-in'],
    ['transfer-in'],
    COMMAND_TYPES,
    [],
    ['transfer-in', 'create-quote', 'execute-quote'],
  ]);
  return {
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
  };
}

export function troubleAt(scenario: Scenario, draws: Draws, point: string): Trouble {
  if (point === 'dial' && draws.chance(scenario.dialFreezeShare)) return { kind: 'freeze' };
  const share = scenario.troubleShare * (DULL_POINTS.has(point) ? DULL_SHARE : 1);
  if (!draws.chance(share)) return { kind: 'none' };
  if (draws.chance(scenario.crashShare)) {
    if (draws.chance(FREEZE_SHARE)) return { kind: 'freeze' };
    return { kind: 'crash', when: draws.pick(['before', 'after', 'on-answer']) };
  }
  switch (draws.below(3)) {
    case 0:
      return { kind: 'request-lost' };
    case 1:
      return { kind: 'answer-lost' };
    default: {
      const slowMs = (): number => (draws.chance(0.5) ? 0 : draws.between(0, SLOW_MS_MAX));
      return { kind: 'slow', thereMs: slowMs(), backMs: slowMs() };
    }
  }
}

export function callTrouble(scenario: Scenario, draws: Draws): CallTrouble {
  if (!draws.chance(scenario.callTroubleShare)) return { kind: 'none' };
  switch (draws.below(8)) {
    case 0:
      return { kind: 'never-sent' };
    case 1:
      return { kind: 'lost-before' };
    case 2:
    case 3:
      return { kind: 'lost-after' };
    case 4:
    case 5:
      return { kind: 'late', byMs: draws.between(0, LATE_MS_MAX) };
    default:
      return draws.chance(0.3)
        ? { kind: 'status', httpStatus: draws.pick([429, 429, 401]), takesEffect: false }
        : { kind: 'status', httpStatus: draws.pick([500, 502, 503]), takesEffect: draws.chance(0.5) };
  }
}
