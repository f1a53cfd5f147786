/**
 * Observations on the observations topic: what an answer or a poll showed about a transaction or quote. Their key is the
 * transaction's id, so that one lane sees everything about a transaction. A quote without a known transaction is not observed.
 */
import type { Effect } from '../ledger/effect.ts';
import { CARRIED_LENGTH_MAX, type Carried } from '../ledger/entry.ts';
import { InternalRecord, LedgerFormatError, UnknownSchemaError } from '../ledger/ledger-value.ts';
import { shortTexts } from '../ledger/short-texts.ts';
import { keyProblem } from 'payment-processor-contract/keys';
import { ID_LENGTH_MAX } from 'payment-processor-contract/quote-id';
import type { Quote, Transaction } from 'payment-processor-contract/types';

export interface Observation {
  readonly transaction: Transaction | null;
  readonly quote: Quote | null;
  /**
   * The service was in the state shown at some time between these two, by the observer's wall clock. If a call was sent more
   * than once, the first counts as the beginning: a service that knows the key repeats its first answer, which may be old.
   */
  readonly requestBeganMs: number;
  readonly requestEndedMs: number;
  /** EFFECT: polled, while a command in doubt may have caused it. It only says that the transaction shows an effect. */
  readonly observedBy: 'COMMAND' | 'POLL' | 'EFFECT';
  /** Process that made the request: times of one observer compare exactly, times of two only with a margin. */
  readonly observer: string;
  /** The command that had this effect; null: polled, or the command had none as far as we know. */
  readonly commandKey: string | null;
  /** Headers carried over from that command. */
  readonly carried: Carried;
}

/**
 * Key of the observation, its transaction's id; null if none is known, or it is too long. A quote that does not name
 * its transaction is reported under the transaction all the same: under two keys, its changes would count twice.
 * @param effect of the command, which may know the transaction that its answer does not show
 */
export function observationKey(
  seen: { transaction: Transaction | null; quote: Quote | null },
  effect: Effect | null = null,
): string | null {
  const id = seen.transaction?.id ?? seen.quote?.transactionId ?? effect?.transactionId ?? null;
  return id === null || id.length > ID_LENGTH_MAX ? null : id;
}

/** Up to this size, even with the longest key, the lane keeps the message whole. */
const OBSERVATION_BYTES_MAX = 1000 * 1024;
/** Fewer bytes cannot hold more values than the reader accepts: at most three values fit in a byte. */
const COUNTED_FROM_BYTES = 32 * 1024;

const records = new InternalRecord<Observation>('Observation', { isUntrusted: true });

/**
 * Reduces an observation that its lane would not accept to the fields that determine the status of transaction and
 * quote. Leaves out a quote whose id is too long.
 */
export function encodeObservation(whole: Observation): Buffer {
  const observation = isQuotePossible(whole) ? whole : { ...whole, quote: null };
  const encoded = records.encode(observation);
  if (encoded.length <= COUNTED_FROM_BYTES) return encoded;
  if (encoded.length <= OBSERVATION_BYTES_MAX && decodeObservation(encoded) !== null) return encoded;
  const { quote, transaction } = observation;
  return records.encode({
    ...observation,
    transaction: transaction === null ? null : shortTexts(transaction),
    quote: quote === null ? null : shortTexts(quote),
  });
}

/**
 * @returns null for bytes that are not an observation of ours
 * @throws UnknownSchemaError if this process has not read its schema yet: the observer wrote that into its own lane's ledger
 */
export function decodeObservation(value: Buffer | null): Observation | null {
  if (value === null) return null;
  try {
    const observation = records.decode(value);
    return isPossible(observation) ? observation : null;
  } catch (error) {
    if (!(error instanceof LedgerFormatError) || error instanceof UnknownSchemaError) throw error;
    return null;
  }
}

const OBSERVERS: readonly string[] = ['COMMAND', 'POLL', 'EFFECT'] satisfies Observation['observedBy'][];
const CARRIED_NAMES: readonly string[] = ['traceparent', 'tracestate', 'correlation-id'] satisfies (keyof Carried)[];

/** Times, key and headers are stored with the transaction, so they must be values that a request or command can have. */
function isPossible({ carried, commandKey, observedBy, quote, requestBeganMs, requestEndedMs }: Observation): boolean {
  return (
    OBSERVERS.includes(observedBy) &&
    Number.isFinite(requestBeganMs) &&
    Number.isFinite(requestEndedMs) &&
    isQuotePossible({ quote }) &&
    (commandKey === null || keyProblem(commandKey) === null) &&
    Object.entries(carried).every(
      ([name, text]: [string, string]) => CARRIED_NAMES.includes(name) && text.length <= CARRIED_LENGTH_MAX,
    )
  );
}

/** Each event of a quote has its id several times. */
function isQuotePossible({ quote }: Pick<Observation, 'quote'>): boolean {
  return quote === null || quote.id.length <= ID_LENGTH_MAX;
}
