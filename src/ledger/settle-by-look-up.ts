/** What becomes of an entry in doubt once its transaction was looked for. Pure. */
import { backOffMs } from './back-off.ts';
import type { Decision, LedgerEvent, Seen } from './decision.ts';
import type { Entry, HeldRefusal } from './entry.ts';
import { differencesFrom } from './found-payment.ts';
import { OPERATIONS } from './operations.ts';
import { quoteAgainOf } from './quote-again.ts';
import { foundExecutedResult, foundRefusedResult, refusedResult, unknownResult } from './result-record.ts';
import { operationOf } from './settlement.ts';
import { doubtful, finish, next, reasonOf } from './transitions.ts';

const HTTP_CONFLICT = 409;

export function lookedUp(entry: Entry, event: Extract<LedgerEvent, { kind: 'looked-up' }>): Decision {
  const { phase } = entry;
  // What was asked for before the latest attempt says nothing of that one.
  if (phase.state !== 'DOUBTFUL' || event.attempts !== entry.attempts) return { kind: 'unchanged' };
  const { finding, nowMs } = event;
  if (finding.kind === 'failed')
    return next(doubtful(entry, phase.reason, nowMs + backOffMs(entry.key, entry.waits), phase.refusal));
  if (finding.kind === 'not-found') {
    return finish(entry, unknownResult(entry, reasonOf(entry, 'its transaction was not found'), nowMs));
  }
  const { transaction } = finding;
  const differences = differencesFrom(entry, transaction);
  if (differences.length > 0) {
    const problem = `the transaction that was found is of another payment, for it differs in: ${differences.join(', ')}`;
    return finish(entry, unknownResult(entry, reasonOf(entry, problem), nowMs));
  }
  const seen: Seen = { quote: null, transaction };
  switch (OPERATIONS[operationOf(entry)].lookUp?.finding(transaction) ?? 'UNCLEAR') {
    case 'EXECUTED':
      return finish(entry, foundExecutedResult(entry, transaction, nowMs), seen);
    case 'REFUSED': {
      // Its quote ran out, and the command asks for another.
      const isAnother = entry.step === 'EXECUTE' && phase.refusal === null && quoteAgainOf(entry, nowMs) !== null;
      if (isAnother) return { kind: 'next', seen, entry: notTaken(entry, nowMs) };
      return finish(entry, foundRefusedResult(entry, transaction, nowMs), seen);
    }
    case 'NOT_YET':
      if (phase.refusal !== null) return refusedInDoubt(entry, phase.refusal, seen, nowMs);
      return { kind: 'next', seen, entry: notTaken(entry, nowMs) };
    case 'UNCLEAR':
      return finish(
        entry,
        unknownResult(entry, reasonOf(entry, `its transaction is ${transaction.status ?? 'without a status'}`), nowMs),
        seen,
      );
  }
}

function notTaken(entry: Entry, nowMs: number): Entry {
  return {
    ...entry,
    unexecuted: { by: 'LOOK_UP', attempts: entry.attempts },
    phase: { state: 'PARKED', untilMs: nowMs, reason: 'no call took effect so far' },
  };
}

/** The service refused a repeated call, and the transaction does not show that the first took effect. */
function refusedInDoubt(entry: Entry, refusal: HeldRefusal, seen: Seen, nowMs: number): Decision {
  if (refusal.httpStatus !== HTTP_CONFLICT) return finish(entry, refusedResult(entry, refusal, 'LOOKUP', nowMs), seen);
  // A conflict may say that the first call was taken, before the transaction's status shows it.
  if (nowMs >= entry.deadlineMs) {
    const reason = reasonOf(entry, `its transaction is still ${seen.transaction?.status ?? 'without a status'}`);
    return finish(entry, unknownResult(entry, reason, nowMs), seen);
  }
  const again = doubtful(entry, 'HTTP 409 after doubt', nowMs + backOffMs(entry.key, entry.waits), refusal);
  return { kind: 'next', entry: again, seen };
}
