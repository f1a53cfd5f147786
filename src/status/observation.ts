/**
 * Observations: what an answer or a poll showed of a transaction or quote, on the observations topic, keyed by the
 * transaction's id (or the quote's, where no transaction is known), so that one lane sees all of a transaction.
 */
import { z } from 'zod';
import type { Effect } from '../ledger/effect.ts';
import { carriedRecord } from '../ledger/entry-record.ts';
import { CARRIED_LENGTH_MAX, type Carried } from '../ledger/entry.ts';
import { keyProblem } from 'payment-processor-contract/keys';
import { decodePlain, encodePlain } from 'payment-processor-contract/plain-json';
import { loadType } from 'payment-processor-contract/schemas';
import type { Quote, Transaction } from 'payment-processor-contract/types';

export interface Observation {
  readonly transaction: Transaction | null;
  readonly quote: Quote | null;
  /**
   * When the service may have been in the state shown, on the observer's wall clock. For a change that was sent more than
   * once it begins with the first sending: a service that knows the key gives its first answer again, which may be old.
   */
  readonly requestBeganMs: number;
  readonly requestEndedMs: number;
  readonly observedBy: 'COMMAND' | 'POLL';
  /** Process that made the request: times of one observer can be compared exactly, those of two with a margin. */
  readonly observer: string;
  /** The command that had this effect; null: polled, or a look-up found that its command had none. */
  readonly commandKey: string | null;
  /** Of that command. */
  readonly carried: Carried;
}

/** Of a transaction or quote: longer ones are none, and could not be keys of the ledger. */
export const ID_LENGTH_MAX = 1024;

/**
 * Key of the observation, its transaction's id; null when there is nothing to observe. A quote that does not name its
 * transaction is told of with that one: known by two names, its changes would be counted twice.
 * @param effect of the command, which may know the transaction that its answer does not show
 */
export function observationKey(
  seen: { transaction: Transaction | null; quote: Quote | null },
  effect: Effect | null = null,
): string | null {
  const id = seen.transaction?.id ?? seen.quote?.transactionId ?? effect?.transactionId ?? null;
  return id === null || id === '' || id.length > ID_LENGTH_MAX ? null : id;
}

/** An observation that is larger is reduced to what the status of transaction and quote follows from. */
const OBSERVATION_BYTES_MAX = 1024 * 1024;
const REDUCED_TEXT_LENGTH_MAX = 1024;

export function encodeObservation(observation: Observation): Buffer {
  const encoded = encodePlain(observation);
  if (encoded.length <= OBSERVATION_BYTES_MAX) return encoded;
  const { quote, transaction } = observation;
  return encodePlain({
    ...observation,
    transaction: transaction === null ? null : shortTexts(transaction),
    quote: quote === null ? null : shortTexts(quote),
  });
}

/** The id and the texts that are short; null in the place of all else. */
function shortTexts<Resource extends { id: string }>(resource: Resource): Resource {
  const isShort = (value: unknown): boolean => typeof value === 'string' && value.length <= REDUCED_TEXT_LENGTH_MAX;
  const members = Object.entries(resource).map(([name, value]: [string, unknown]) => [
    name,
    isShort(value) ? value : null,
  ]);
  return { ...(Object.fromEntries(members) as Resource), id: resource.id };
}

const quoteType = loadType('Quote');
const transactionType = loadType('Transaction');

/** Fields that are not there get their defaults; what the schema does not take throws. */
function asRecord<Value>(type: typeof quoteType): z.ZodType<Value | null> {
  return z.unknown().transform((value) => (value == null ? null : (type.fromBuffer(type.toBuffer(value)) as Value)));
}

const observationRecord: z.ZodType<Observation> = z.object({
  transaction: asRecord<Transaction>(transactionType),
  quote: asRecord<Quote>(quoteType),
  requestBeganMs: z.number(),
  requestEndedMs: z.number(),
  observedBy: z.enum(['COMMAND', 'POLL']),
  observer: z.string(),
  // Both are kept with the transaction: what no command can have must not make that grow.
  commandKey: z
    .string()
    .refine((key) => keyProblem(key) === null)
    .nullable(),
  carried: carriedRecord.refine((headers) =>
    Object.values(headers).every((text: string) => text.length <= CARRIED_LENGTH_MAX),
  ),
});

/** @returns null for bytes that are not an observation of ours */
export function decodeObservation(bytes: Buffer | null): Observation | null {
  if (bytes === null) return null;
  try {
    return observationRecord.parse(decodePlain(bytes));
  } catch {
    return null;
  }
}
