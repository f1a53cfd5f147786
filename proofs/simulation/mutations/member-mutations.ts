/** Of members that the payment service does not serve: when they give lanes up, to whom, and when they come back. */
import type { Mutation } from '../mutations.ts';

export const MEMBER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a member that the service refuses keeps its lanes',
    find: 'return clock.monotonicMs() - sinceMs >= LASTING_MS;',
    replace: 'return false;',
    toldBy: 'test/lanes/standing-aside',
  },
  {
    name: 'a member that a broker does not answer keeps its lanes',
    find: 'if (this.#lanes.length > 0 && this.#isCutOffFor(LASTING_MS)) return true;',
    toldBy: 'test/lanes/standing-aside',
  },
  {
    name: 'members that a broker does not answer each announce it only when they rejoin',
    find: 'this.#isCutOffFor(OUTAGE_MS_MIN)',
    replace: 'this.#isCutOffFor(LASTING_MS)',
    toldBy: 'test/lanes/standing-aside',
  },
  {
    name: 'a member that is served again does not join anew',
    find: 'if (this.#lanes.length === 0) return true;',
    replace: 'if (this.#lanes.length === 0) return false;',
    toldBy: 'test/lanes/standing-aside',
  },
  {
    name: 'a member that was never served is given lanes like the others',
    find: 'staying.filter(({ isUnserved }) => !isUnserved)',
    replace: 'staying',
    toldBy: 'test/consumers/assigner',
  },
  {
    name: 'members that the service does not serve give up lanes all at once',
    find: '[served, staying].find((some) => some.length > 0) ?? members',
    replace: 'served',
    toldBy: 'test/consumers/assigner',
  },
];
