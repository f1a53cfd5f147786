/** Operators' decisions on results: each makes the next revision, or a dead letter that says why not. */
import type { DecisionIntake } from '../../consumers/decision-intake.ts';
import { decideByOperator } from '../../ledger/operator.ts';
import { sentEarlier } from '../../ledger/wrong-clocks.ts';
import type { HandlerParts } from '../outcomes.ts';
import type { InputHandler } from './taking.ts';

export function decisionHandler(parts: HandlerParts): InputHandler<DecisionIntake, never> {
  const { clock, lane, laneClock, memory, outcomes, policy, reports } = parts;
  return {
    name: 'decision',
    setAside: (...message) => outcomes.setAside(...message),
    handle: (transaction, item) => {
      switch (item.kind) {
        case 'misrouted':
          transaction.add(item.record);
          transaction.reports.push(() => reports.moved(lane));
          return null;
        case 'dead-letter':
          outcomes.deadLetter(transaction, item.letter);
          return null;
        case 'decision': {
          const known = memory.entry(item.key);
          // Somebody may have set the clock since the first call was sent.
          const entry = known === undefined ? undefined : sentEarlier(known, laneClock.behindMs(), policy);
          const reply = decideByOperator(entry, item.decision, clock.nowMs(), policy);
          const isCarriedOut = reply.kind === 'decided';
          if (isCarriedOut) outcomes.apply(transaction, reply.decision, null);
          else
            outcomes.deadLetter(transaction, { ...item.original, reason: 'REFUSED_DECISION', message: reply.reason });
          transaction.reports.push(() =>
            reports.decided(lane, item.key, item.decision, isCarriedOut, item.original.offset),
          );
          return null;
        }
      }
    },
  };
}
