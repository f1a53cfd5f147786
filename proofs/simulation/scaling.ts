/**
 * Members join and leave on a busy machine: one or two at a time, and often before the previous change is over. So lanes
 * move away from a process that is still taking them. No process is killed: each one that leaves shuts down in order.
 */
import type { Draws } from './draws.ts';
import type { Moment } from './scene-report.ts';
import type { SimulatedFleet } from './simulated-fleet.ts';
import type { Disturber } from './simulated-network.ts';
import type { CallTrouble, SimulatedService } from './simulated-service.ts';
import type { VirtualTime } from './virtual-time.ts';

const MEMBERS_MIN = 2;
/** How many members join or leave at a time. */
const TOGETHER_MAX = 2;
/** From one change to the next; half of them follow soon, while lanes are still being handed over. */
const SOON_MS = [100, 3_000] as const;
const LATER_MS = [3_000, 20_000] as const;
/** How often to check whether a process has ended. */
const LOOK_MS = 250;
/** A member that shuts down must release its lanes and wait for its calls. */
const ENDED_MS_MAX = 60_000;

/** Requests that a busy machine delays: less than a session in all. */
const SLOW_SHARE = 0.02;
const SLOW_MS_MAX = 1_500;
/** The share of transaction markers that come more than a second late. */
export const BUSY_LATE_MARKER_SHARE = 0.03;
/** Calls of the payment service: most are quick, some take nearly their timeout. */
const SLOW_CALL_SHARE = 0.05;
const CALL_MS = [50, 400] as const;
const SLOW_CALL_MS = [1_000, 9_500] as const;

export interface ScalingParts {
  readonly fleet: SimulatedFleet;
  readonly service: SimulatedService;
  readonly draws: Draws;
  readonly time: VirtualTime;
  /** Slots of the fleet. */
  readonly members: number;
  readonly changes: number;
  /** Lets virtual time pass. */
  readonly pass: (ms: number) => Promise<void>;
}

/**
 * Starts and ends with all members.
 * @returns when members were asked to shut down, and the lanes that they had then
 */
export async function scale({ changes, draws, fleet, members, pass, service, time }: ScalingParts): Promise<Moment[]> {
  const moments: Moment[] = [];
  const up = new Set(Array.from({ length: members }, (_, slot) => slot));
  const grow = async (): Promise<void> => {
    const down = Array.from({ length: members }, (_, slot) => slot).filter((slot) => !up.has(slot));
    const slot = draws.pick(down);
    up.add(slot);
    for (let waitedMs = 0; !fleet.isVacant(slot) && waitedMs < ENDED_MS_MAX; waitedMs += LOOK_MS) await pass(LOOK_MS);
    fleet.grow(slot, service);
  };
  const shrink = (): void => {
    const slot = draws.pick([...up].filter((candidate) => !fleet.isVacant(candidate)));
    up.delete(slot);
    moments.push({ atMs: time.nowMs, lanes: fleet.openLanesOf(slot) });
    fleet.shrink(slot);
  };
  for (let change = 0; change < changes; change += 1) {
    const isGrowing = up.size === MEMBERS_MIN || (up.size < members && draws.chance(0.5));
    const room = isGrowing ? members - up.size : up.size - MEMBERS_MIN;
    for (let count = Math.min(room, 1 + draws.below(TOGETHER_MAX)); count > 0; count -= 1)
      if (isGrowing) await grow();
      else shrink();
    const [leastMs, mostMs] = draws.chance(0.5) ? SOON_MS : LATER_MS;
    await pass(draws.between(leastMs, mostMs));
  }
  while (up.size < members) await grow();
  return moments;
}

/** Delays requests, and does nothing worse. */
export function busyMachine(draws: Draws, fleet: Disturber): Disturber {
  const slowMs = (): number => draws.between(0, SLOW_MS_MAX);
  return {
    troubleAt: () =>
      draws.chance(SLOW_SHARE) ? { kind: 'slow', thereMs: slowMs(), backMs: slowMs() } : { kind: 'none' },
    kill: (owner, point) => fleet.kill(owner, point),
    freeze: (owner, point) => fleet.freeze(owner, point),
  };
}

/** How long a call takes. */
export function busyCall(draws: Draws): CallTrouble {
  const [leastMs, mostMs] = draws.chance(SLOW_CALL_SHARE) ? SLOW_CALL_MS : CALL_MS;
  return { kind: 'slow', thereMs: draws.between(leastMs, mostMs) };
}
