/**
 * Observations: what an answer or a poll showed of a transaction or quote, on the observations topic, keyed by the
 * transaction's id (or the quote's, where no transaction is known), so that one lane sees all of a transaction.
 */
import type { Carried } from '../ledger/entry.ts';
import { decodePlain, encodePlain } from '../records/plain-json.ts';
import type { Quote, Transaction } from '../records/types.ts';

export interface Observation {
  readonly transaction: Transaction | null;
  readonly quote: Quote | null;
  /** The request that showed it, on this process's wall clock. */
  readonly requestBeganMs: number;
  readonly requestEndedMs: number;
  readonly observedBy: 'COMMAND' | 'POLL';
  readonly commandKey: string | null;
  readonly carried: Carried;
}

/** Key of the observation; null when there is nothing to observe. */
export function observationKey(seen: { transaction: Transaction | null; quote: Quote | null }): string | null {
  return seen.transaction?.id ?? seen.quote?.transactionId ?? seen.quote?.id ?? null;
}

export function encodeObservation(observation: Observation): Buffer {
  return encodePlain(observation);
}

/** @returns null for bytes that are not an observation of ours */
export function decodeObservation(bytes: Buffer | null): Observation | null {
  if (bytes === null) return null;
  try {
    const plain = decodePlain(bytes);
    return typeof plain === 'object' && plain !== null && 'requestBeganMs' in plain ? (plain as Observation) : null;
  } catch {
    return null;
  }
}
