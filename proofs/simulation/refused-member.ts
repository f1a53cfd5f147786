/**
 * What the group makes of members that the service refuses: one for a while, one from its start, then all of them. Those
 * that are served have the lanes meanwhile; where none is, each keeps its own. The same for members that brokers do not answer.
 */
import type { Disturber } from './simulated-network.ts';
import type { SimulatedFleet } from './simulated-fleet.ts';

export interface RefusedMemberScene {
  readonly members: number;
  /** The service answers 401 to the processes of these slots, and to no others. */
  refuse(slots: readonly number[]): void;
  /** Some broker answers the processes of these slots nothing, but their heartbeats are answered. */
  cutOff(slots: readonly number[]): void;
  /** Lanes that the slot's process works on. */
  openLanesOf(slot: number): readonly number[];
  areAllOpen(): boolean;
  /** How often lanes were taken so far. */
  owners(): number;
  /** The slot's process is gone at once, and none comes until `regain`. */
  lose(slot: number): void;
  regain(): void;
  until(isSo: () => boolean, timeoutMs: number): Promise<void>;
}

/** A minute, the hand-over, and a look of the member itself each second. */
const GIVEN_UP_MS_MAX = 80_000;
/** A check of the service every 15 s, and the hand-over. */
const BACK_MS_MAX = 40_000;
const TAKEN_OVER_MS_MAX = 60_000;
/** Longer than a member waits before it gives its lanes up. */
const WATCHED_MS = 120_000;

/** What the fleet's processes meet if some broker does not answer those of the given slots. */
export function cutOffMembers(fleet: SimulatedFleet, slots: () => readonly number[]): Disturber {
  return {
    troubleAt: (owner, point) => {
      const isCutOff = point === 'admin' && slots().includes(fleet.slotOf(owner));
      return isCutOff ? { kind: 'given-up' } : fleet.troubleAt(owner, point);
    },
    kill: (owner, point) => fleet.kill(owner, point),
    freeze: (owner, point) => fleet.freeze(owner, point),
  };
}

/** @returns the first fault, if any: nothing is waited for after it */
export async function refusedMember(scene: RefusedMemberScene): Promise<string[]> {
  const wrong: string[] = [];
  const comes = async (isSo: () => boolean, timeoutMs: number, else_: string): Promise<void> => {
    if (wrong.length > 0) return;
    await scene.until(isSo, timeoutMs);
    if (!isSo()) wrong.push(else_);
  };
  const neverComes = async (isSo: () => boolean, then: string): Promise<void> => {
    if (wrong.length > 0) return;
    await scene.until(isSo, WATCHED_MS);
    if (isSo()) wrong.push(then);
  };
  const hasLanes = (slot: number): boolean => scene.openLanesOf(slot).length > 0 && scene.areAllOpen();
  const isWithout = (slot: number): boolean => scene.openLanesOf(slot).length === 0 && scene.areAllOpen();

  scene.refuse([0]);
  await comes(
    () => isWithout(0),
    GIVEN_UP_MS_MAX,
    'a member that the service refuses keeps its lanes from those it serves',
  );
  scene.refuse([]);
  await comes(() => hasLanes(0), BACK_MS_MAX, 'a member that is served again is given no lanes');

  scene.lose(1);
  await comes(() => isWithout(1), TAKEN_OVER_MS_MAX, 'lanes of a process that is gone are not taken over');
  scene.refuse([1]);
  scene.regain();
  await neverComes(
    () => scene.openLanesOf(1).length > 0,
    'a member that was never served takes lanes from those that are',
  );
  scene.refuse([]);
  await comes(() => hasLanes(1), BACK_MS_MAX, 'a member that is served at last is given no lanes');

  scene.cutOff([0]);
  await comes(() => isWithout(0), GIVEN_UP_MS_MAX, 'a member that a broker does not answer keeps its lanes');
  scene.cutOff([]);
  await comes(() => hasLanes(0), TAKEN_OVER_MS_MAX, 'a member that brokers answer again is given no lanes');

  const all = Array.from({ length: scene.members }, (_, slot) => slot);
  const keepsAll = async (else_: string): Promise<void> => {
    const owners = scene.owners();
    await neverComes(() => scene.owners() > owners || !scene.areAllOpen(), else_);
  };
  scene.cutOff(all);
  await keepsAll('members give up lanes, and a broker answers no other');
  scene.cutOff([]);
  await keepsAll('members that brokers answer again all at once move lanes');
  scene.refuse(all);
  await keepsAll('members give up lanes, and no other is served');
  scene.refuse([]);
  return wrong;
}
