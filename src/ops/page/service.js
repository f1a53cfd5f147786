/** The state of the payment service, as the members' calls show it. Pure. */
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
export function closedOperations(state) {
  return servedOperations(state).filter(({ closedAt }) => closedAt.length > 0);
}

/**
 * Which of the members that report; empty if all of them.
 * @param {GroupState} state
 * @param {readonly string[]} processes
 */
export function atWhom(state, processes) {
  const reporting = state.members.filter(({ isCounted }) => isCounted).length;
  return processes.length >= reporting ? '' : ` at ${processes.join(', ')}`;
}

/**
 * Whether some members hold the service and others call it.
 * @param {GroupState} state
 */
export function isHeldInPart(state) {
  const heldAt = state.service?.heldAt ?? [];
  return heldAt.length > 0 && atWhom(state, heldAt) !== '';
}

/**
 * A service is not "serving" while all its breakers are open, even if its last check succeeded.
 * @param {GroupState} state
 */
export function serviceInWords(state) {
  const closed = closedOperations(state);
  const name = state.service?.state ?? 'unchecked';
  if (isHeldInPart(state)) return `the service is held${atWhom(state, state.service?.heldAt ?? [])}: no calls there`;
  if (name !== 'serving' || closed.length === 0) return inWords(SERVICE, name);
  const isEverywhere = closed.every(({ closedAt }) => atWhom(state, closedAt) === '');
  if (closed.length === servedOperations(state).length && isEverywhere) {
    return 'the service is unreachable: every breaker is open';
  }
  const most = Math.max(...closed.map(({ closedAt }) => closedAt.length));
  const where = isEverywhere ? '' : `, at ${counted(most, 'member')}`;
  return `the breaker is open for ${closed.map(({ operation }) => operation).join(', ')}${where}`;
}
