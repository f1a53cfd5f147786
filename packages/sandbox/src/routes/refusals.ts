/** Refusals that more than one operation gives. */
import { errorReply, type Reply } from '../replies.ts';
import type { Scenario } from '../scenarios.ts';
import { TRANSACTIONS_MAX, type World } from '../state.ts';

/** The refusal if the scenario refuses the call at once, else null. */
export function refusedByScenario(scenario: Scenario): Reply | null {
  return scenario.kind === 'refused' ? errorReply(400, scenario.code, scenario.message) : null;
}

/** The refusal if the sandbox is full, else null. */
export function refusedForSpace(world: World): Reply | null {
  if (world.timeline.length < TRANSACTIONS_MAX) return null;
  return errorReply(503, 'SANDBOX_FULL', `the sandbox holds ${TRANSACTIONS_MAX} transactions; reset it`);
}
