/** A scene's size, duration and commands; nothing else goes wrong in it. */
import type { ChaosType } from '../chaos/chaos-commands.ts';
import type { Scenario } from './scenario.ts';

export const SCENES = ['rolling-restart', 'lost-zone', 'service-outage', 'scaling'] as const;
export type SceneName = (typeof SCENES)[number];

export interface SceneOptions {
  readonly scene: SceneName;
  readonly seed: number;
  readonly lanes: number;
  readonly members: number;
  readonly commandsPerSecond: number;
  /** The length of the service's outage; ignored by other scenes. */
  readonly outageMinutes: number;
  /** How often the number of members changes; ignored by other scenes. */
  readonly changes: number;
  readonly trace?: (line: string) => void;
}

/** From a process's end to its successor's start. */
const RESTART_MS = 4_000;
/** Time before the scene's event, for comparison. The two below: how long a zone is lost, and the time afterwards. */
export const QUIET_MS = 20_000;
export const ZONE_AWAY_MS = 120_000;
const AFTERWARDS_MS = 20_000;
export const MINUTE_MS = 60_000;

const TYPES: readonly ChaosType[] = [
  'transfer-in',
  'execute-quote',
  'reject-transaction',
  'create-quote',
  'immediate-quote',
];
/** The other types need a quote or payment, which would expire during an hour's outage. */
const OUTAGE_TYPES: readonly ChaosType[] = ['transfer-in', 'create-quote'];

export function durationMsOf({ changes, members, outageMinutes, scene }: SceneOptions): number {
  switch (scene) {
    case 'rolling-restart':
      // A restart takes some ten seconds.
      return QUIET_MS + members * 15_000 + AFTERWARDS_MS;
    case 'lost-zone':
      return QUIET_MS + ZONE_AWAY_MS + 60_000 + AFTERWARDS_MS;
    case 'service-outage':
      return QUIET_MS + outageMinutes * MINUTE_MS + 2 * MINUTE_MS;
    case 'scaling':
      // A change takes some seven seconds, and another second for each process that is waited for.
      return QUIET_MS + changes * 8_000 + AFTERWARDS_MS;
  }
}

/** A scenario without disturbances: only the scene's own event happens. */
export function scenarioOf({ commandsPerSecond, lanes, members, scene }: SceneOptions): Scenario {
  return {
    laneCount: lanes,
    processCount: members,
    // Unused: the scene has its own duration.
    durationMs: 0,
    commandsPerSecond,
    burstMs: 0,
    honourKeys: ['transfer-in'],
    apiTimeoutMs: 10_000,
    callsPerSecond: null,
    breakerErrorPercent: 50,
    types: scene === 'service-outage' ? OUTAGE_TYPES : TYPES,
    troubleShare: 0,
    crashShare: 0,
    dialFreezeShare: 0,
    callTroubleShare: 0,
    disturbanceMs: Infinity,
    disturbedBy: ['end'],
    restartMs: RESTART_MS,
    dialShare: 0.05,
    disturbed: new Set(),
  };
}
