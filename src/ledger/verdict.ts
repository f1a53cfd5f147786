/** What an answer means for its command, with and without an earlier call in doubt. Pure. */
import type { Reading } from '../api/types.ts';
import type { HeldRefusal } from './entry.ts';
import type { Settlement } from './operations.ts';

export type Verdict =
  | Extract<Reading, { kind: 'accepted' | 'refused' }>
  /** The call may have taken effect. */
  | { kind: 'doubt'; reason: string }
  /** This call counts as without effect; retry after `afterMs` or our own back-off, whichever is longer. */
  | { kind: 'wait'; reason: string; afterMs: number | null; sent: boolean }
  /** An earlier attempt is in doubt and this answer does not settle it: ask for the transaction's status. */
  | { kind: 'look-up'; reason: string; refusal: HeldRefusal }
  /** Only an operator can settle it. */
  | { kind: 'undecidable'; reason: string };

/** Never the first call's answer: a service checks rights, routes and locks before it looks at the key. */
const NOT_OF_THE_FIRST_CALL: ReadonlySet<number> = new Set([403, 405, 423]);

export interface Doubt {
  /** An earlier attempt of this step may have taken effect. */
  readonly inDoubt: boolean;
  /** Its settling time had not passed when this call began. */
  readonly mayBeUnderWay: boolean;
  /** A look-up can show whether it did. */
  readonly canBeLookedUp: boolean;
}

export function verdictOf(
  reading: Reading,
  settlement: Settlement,
  { inDoubt, mayBeUnderWay, canBeLookedUp }: Doubt,
): Verdict {
  switch (reading.kind) {
    case 'accepted':
    case 'doubt':
      return reading;
    case 'redirected':
    case 'unauthorized':
      return wait(reading.reason);
    case 'not-here':
      // It may be a proxy's page in place of the service's answer, after the service took the call.
      if (reading.error.code === null) return doubt(reading, 'without an error code');
      if (reading.serviceFails) return wait(`HTTP ${reading.httpStatus}, and GET /transactions fails too`);
      return inDoubt ? refusedInDoubt(reading, settlement, mayBeUnderWay) : refusal(reading);
    case 'told-to-wait':
      return wait(reading.reason, reading.retryAfterMs);
    case 'conflict':
      if (!inDoubt) return refusal(reading);
      // A conflict may mean that the service took the first call: even with the same key it is not that call's answer.
      if (canBeLookedUp) return lookUp(reading);
      return settlement === 'NONE' ? undecidable(reading) : doubt(reading, 'while an earlier call is in doubt');
    case 'refused':
      return inDoubt ? refusedInDoubt(reading, settlement, mayBeUnderWay) : refusal(reading);
    case 'never-sent':
      return { kind: 'wait', reason: reading.reason, afterMs: null, sent: false };
  }
}

/** A refusal of this call, while an earlier one is in doubt. */
function refusedInDoubt(reading: HeldRefusal, settlement: Settlement, mayBeUnderWay: boolean): Verdict {
  switch (settlement) {
    // The same key gets the first call's answer, if the service itself answers and that call is over.
    case 'SAME_KEY':
      if (mayBeUnderWay || reading.error.code === null || NOT_OF_THE_FIRST_CALL.has(reading.httpStatus))
        return wait(`HTTP ${reading.httpStatus}, which may not be the first call's answer`);
      return refusal(reading);
    // A plain quote moves nothing.
    case 'HARMLESS':
      return refusal(reading);
    case 'LOOK_UP':
      return lookUp(reading);
    case 'SANDBOX':
    case 'NONE':
      return undecidable(reading);
  }
}

function refusal({ httpStatus, error, rawResponse }: HeldRefusal): Verdict {
  return { kind: 'refused', httpStatus, error, rawResponse };
}

function lookUp({ httpStatus, error, rawResponse }: HeldRefusal): Verdict {
  return {
    kind: 'look-up',
    reason: `HTTP ${httpStatus} while an earlier call is in doubt`,
    refusal: { httpStatus, error, rawResponse },
  };
}

function doubt({ httpStatus }: HeldRefusal, why: string): Verdict {
  return { kind: 'doubt', reason: `HTTP ${httpStatus} ${why}` };
}

function wait(reason: string, afterMs: number | null = null): Verdict {
  return { kind: 'wait', reason, afterMs, sent: true };
}

function undecidable({ httpStatus }: HeldRefusal): Verdict {
  return { kind: 'undecidable', reason: `HTTP ${httpStatus} while an earlier call is in doubt` };
}
