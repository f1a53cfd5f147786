/** The state of the payment service, as seen by the members' calls. Pure. */
import { counted, inWords, SERVICE } from './words.js';

/** @typedef {import('../group/group-state.ts').GroupState} GroupState */

/**
 * The command types that the lanes read; all of them while there is no lane.
 * @param {GroupState} state
 */
export function servedOperations(state) {
  const served = new Set(state.lanes.flatMap((lane) => lane.inputs.map((input) => input.command)));
  return state.operations.filter(({ operation }) => state.lanes.length === 0 || served.has(operation));
}

/**
 * Served operations that some member does not call because its breaker is open.
 * @param {GroupState} state
 */
export function blockedOperations(state) {
  return servedOperations(state).filter(({ blockedAt }) => blockedAt.length > 0);
}

/**
 * The members where something applies, as ` at a, b`; empty if it applies at all members that report.
 * @param {GroupState} state
 * @param {readonly string[]} processes
 */
export function atMembers(state, processes) {
  const reporting = state.members.filter(({ isCounted }) => isCounted).length;
  return processes.length >= reporting ? '' : ` at ${processes.join(', ')}`;
}

/**
 * Whether some members hold the service and others call it.
 * @param {GroupState} state
 */
export function isHeldInPart(state) {
  const heldAt = state.service?.heldAt ?? [];
  return heldAt.length > 0 && atMembers(state, heldAt) !== '';
}

/**
 * While all its breakers are open, a service is not "serving", even if its last check succeeded.
 * @param {GroupState} state
 */
export function serviceInWords(state) {
  const blocked = blockedOperations(state);
  const name = state.service?.state ?? 'unchecked';
  if (isHeldInPart(state)) return `the service is held${atMembers(state, state.service?.heldAt ?? [])}: no calls there`;
  if (name !== 'serving' || blocked.length === 0) return inWords(SERVICE, name);
  const isEverywhere = blocked.every(({ blockedAt }) => atMembers(state, blockedAt) === '');
  if (blocked.length === servedOperations(state).length && isEverywhere) {
    return 'the service is unreachable: every breaker is open';
  }
  const most = Math.max(...blocked.map(({ blockedAt }) => blockedAt.length));
  const where = isEverywhere ? '' : `, at ${counted(most, 'member')}`;
  return `the breaker is open for ${blocked.map(({ operation }) => operation).join(', ')}${where}`;
}
