/** Refusals that more than one operation gives. */
import { errorReply, type Reply } from '../replies.ts';
import type { Scenario } from '../scenarios.ts';
import { TRANSACTIONS_MAX, type World } from '../state.ts';

/** The refusal if the scenario refuses the call at once, or the sandbox is full; else null. */
export function refusedAtOnce(world: World, scenario: Scenario): Reply | null {
  if (scenario.kind === 'refused') return errorReply(400, scenario.code, scenario.message);
  if (world.timeline.length < TRANSACTIONS_MAX) return null;
  return errorReply(503, 'SANDBOX_FULL', `the sandbox holds ${TRANSACTIONS_MAX} transactions; reset it`);
}
