/** How the payment service does, as its calls show it. Pure. */
import { SERVICE } from './words.js';

/** @typedef {import('../processor-state.ts').ProcessorState} ProcessorState */

/**
 * Command types that have a topic here; all while no lane is.
 * @param {ProcessorState} state
 */
export function servedOperations(state) {
  const served = new Set(state.lanes.flatMap((lane) => lane.inputs.map((input) => input.command)));
  return state.operations.filter(({ operation }) => state.lanes.length === 0 || served.has(operation));
}

/**
 * Served operations of which no call is made for their breakers.
 * @param {ProcessorState} state
 */
export function closedOperations(state) {
  return servedOperations(state).filter(({ breaker }) => breaker === 'open' || breaker === 'checking');
}

/**
 * A service whose every breaker is open is not "serving", whatever its last check said.
 * @param {ProcessorState} state
 */
export function serviceInWords(state) {
  const closed = closedOperations(state);
  if (state.service.state !== 'serving' || closed.length === 0) return SERVICE[state.service.state];
  if (closed.length === servedOperations(state).length) return 'the service is unreachable: every breaker is open';
  return `the breaker is open for ${closed.map(({ operation }) => operation).join(', ')}`;
}
