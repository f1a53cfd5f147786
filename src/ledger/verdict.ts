/** What an answer means for its command (the design's second table): the reading of the answer, with and without doubt. */
import type { Reading, ServiceError } from '../api/types.ts';
import type { Quote, Transaction } from '../records/types.ts';
import type { HeldRefusal } from './entry.ts';
import type { Settlement } from './settlement.ts';

export type Verdict =
  | {
      kind: 'accepted';
      httpStatus: number;
      quote: Quote | null;
      transaction: Transaction | null;
      rawResponse: string | null;
      warnings: string[];
    }
  | { kind: 'refused'; httpStatus: number; error: ServiceError; rawResponse: string }
  /** It may have taken effect. */
  | { kind: 'doubt'; reason: string; httpStatus: number | null; rawResponse: string | null }
  /** This call took no effect; try again after `afterMs`, or after our own back-off. */
  | { kind: 'wait'; reason: string; afterMs: number | null; sent: boolean }
  /** An earlier attempt is in doubt and this answer does not settle it: ask for the transaction's status. */
  | { kind: 'look-up'; reason: string; refusal: HeldRefusal }
  /** Nothing can settle it. */
  | { kind: 'undecidable'; reason: string };

/**
 * @param inDoubt whether an earlier attempt of this step may have taken effect
 */
export function verdictOf(reading: Reading, settlement: Settlement, inDoubt: boolean): Verdict {
  switch (reading.kind) {
    case 'accepted':
      return reading;
    case 'doubt':
      return {
        kind: 'doubt',
        reason: reading.reason,
        httpStatus: reading.httpStatus,
        rawResponse: reading.rawResponse,
      };
    case 'redirected':
    case 'unauthorized':
      return { kind: 'wait', reason: reading.reason, afterMs: null, sent: true };
    case 'not-here':
      if (reading.serviceFails)
        return { kind: 'wait', reason: `HTTP ${reading.httpStatus}, and GET fails too`, afterMs: null, sent: true };
      if (inDoubt && settlement === 'LOOK_UP') return refusedInDoubt(reading);
      // Without a code of the service's own, a proxy or a wrong route may have answered.
      if (reading.error.code === null)
        return { kind: 'wait', reason: `HTTP ${reading.httpStatus} without an error code`, afterMs: null, sent: true };
      return refusal(reading);
    case 'told-to-wait':
      return { kind: 'wait', reason: reading.reason, afterMs: reading.retryAfterMs, sent: true };
    case 'conflict':
      if (!inDoubt) return refusal(reading);
      if (settlement === 'LOOK_UP') return refusedInDoubt(reading);
      return { kind: 'wait', reason: 'HTTP 409 after doubt', afterMs: null, sent: true };
    case 'refused':
      if (!inDoubt || settlement === 'SAME_KEY' || settlement === 'HARMLESS') return refusal(reading);
      if (settlement === 'LOOK_UP') return refusedInDoubt(reading);
      return { kind: 'undecidable', reason: `HTTP ${reading.httpStatus} after doubt` };
    case 'never-sent':
      return { kind: 'wait', reason: reading.reason, afterMs: null, sent: false };
  }
}

interface RefusalReading {
  httpStatus: number;
  error: ServiceError;
  rawResponse: string;
}

function refusal({ httpStatus, error, rawResponse }: RefusalReading): Verdict {
  return { kind: 'refused', httpStatus, error, rawResponse };
}

function refusedInDoubt({ httpStatus, error, rawResponse }: RefusalReading): Verdict {
  return { kind: 'look-up', reason: `HTTP ${httpStatus} after doubt`, refusal: { httpStatus, error, rawResponse } };
}
