/** Refusals that more than one operation gives. */
import { errorReply, type Reply } from '../replies.ts';
import type { Scenario } from '../scenarios.ts';
import { TRANSACTIONS_MAX, type World } from '../state.ts';

/** The answer to an account that the scenario table refuses at once; null for every other. */
export function refusedByScenario(scenario: Scenario): Reply | null {
  return scenario.kind === 'refused' ? errorReply(400, scenario.code, scenario.message) : null;
}

/** The answer when no further transaction fits; null while there is space. */
export function refusedForSpace(world: World): Reply | null {
  if (world.timeline.length < TRANSACTIONS_MAX) return null;
  return errorReply(503, 'SANDBOX_FULL', `the sandbox holds ${TRANSACTIONS_MAX} transactions; reset it`);
}
