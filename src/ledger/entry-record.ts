/**
 * An entry as it is written: a table of its fields, and what stands for those that an earlier release did not write. Fields
 * that the table does not have are a newer release's, and are passed over.
 */
import { z } from 'zod';
import { COMMAND_TYPES, OUTCOME_NAMES, type Outcome } from '../records/commands.ts';
import type { Carried, Entry } from './entry.ts';

const text = z.string();
const nullableText = text.nullable();
/** By nobody's clock exact to the millisecond, and not always whole. */
const instantMs = z.number();
const nullableMs = instantMs.nullable();
const count = z.int().min(0);
const int64Text = text.regex(/^-?\d{1,19}$/);

const headers = z.record(text, text);
export const carriedRecord: z.ZodType<Carried> = z.object({
  traceparent: text.exactOptional(),
  tracestate: text.exactOptional(),
  'correlation-id': text.exactOptional(),
});
const refusal = z.object({
  httpStatus: z.int(),
  error: z.object({ code: nullableText, message: text, details: nullableText }),
  rawResponse: text,
});

const phase = z.discriminatedUnion('state', [
  z.object({
    state: z.literal('INTENT'),
    attemptId: text,
    processId: text,
    atMs: instantMs,
    timeoutMs: z.number().min(0),
  }),
  z.object({ state: z.literal('PARKED'), untilMs: instantMs, reason: text }),
  z.object({ state: z.literal('DOUBTFUL'), settleAtMs: instantMs, reason: text, refusal: refusal.nullable() }),
  z.object({ state: z.literal('QUOTED') }),
  z.object({
    state: z.literal('DONE'),
    outcome: z.enum(OUTCOME_NAMES),
    completedMs: instantMs,
    result: z.object({ value: text.transform((base64) => Buffer.from(base64, 'base64')), headers }),
  }),
]);

const quoted = z.object({
  quoteId: text,
  transactionId: text,
  customerId: nullableText,
  expiresAtMs: nullableMs,
  receivedMs: nullableMs.default(null),
  sourceAccountId: nullableText.default(null),
  destinationAccountId: nullableText.default(null),
  receivingAmount: int64Text.nullable().default(null),
  receivingCurrencyCode: nullableText.default(null),
});

const unexecuted = z.discriminatedUnion('by', [
  z.object({ by: z.literal('LOOK_UP'), attempts: count }),
  z.object({ by: z.literal('OPERATOR'), attempts: count, revision: count }),
]);

/** What every release has written. */
type Certain = Pick<Entry, 'attempts' | 'audit' | 'firstSentMs' | 'origin' | 'phase' | 'quoted' | 'revision'>;

/** A field whose value, where it was not written or cannot be, follows from others. */
interface Inferred<Value> {
  readonly type: z.ZodType<Value | undefined>;
  readonly from: (entry: Certain, written: Value | undefined) => Value;
}

function inferred<Value>(type: z.ZodType<Value | undefined>, from: Inferred<Value>['from']): Inferred<Value> {
  return { from, type };
}

/**
 * A row for each field. One that is new has a default, or is inferred: nothing may follow from its absence that is not
 * certain.
 */
const FIELDS: { readonly [Name in keyof Entry]: z.ZodType<Entry[Name]> | Inferred<Entry[Name]> } = {
  key: text,
  commandType: z.enum(COMMAND_TYPES),
  revision: count,
  fingerprint: text,
  fieldsJson: nullableText,
  commandId: nullableText,
  origin: z.object({ topic: text, partition: count, offset: int64Text.transform(BigInt), timestampMs: instantMs }),
  carried: carriedRecord,
  deadlineMs: instantMs,
  expiresAtMs: nullableMs,
  isExpiryUnreadable: inferred(
    z.boolean().optional(),
    (entry, isUnreadable) => isUnreadable ?? outcomeOf(entry) === 'INVALID',
  ),
  step: z.enum(['SINGLE', 'CREATE', 'EXECUTE']),
  immediate: z.boolean(),
  waits: count,
  attempts: count,
  turnedAway: inferred(count.optional(), (entry, turnedAway) => turnedAway ?? perhapsTurnedAway(entry)),
  firstSentMs: inferred(nullableMs, (entry) => firstSentMsOf(entry)),
  lastEndedMs: inferred(nullableMs.optional(), (entry, endedMs) => {
    const firstSentMs = firstSentMsOf(entry);
    return firstSentMs === null ? null : (endedMs ?? latestEndOf(entry.phase, firstSentMs));
  }),
  unexecuted: inferred(unexecuted.nullable().optional(), (entry, proof) =>
    proof === undefined ? proofByDecision(entry) : proof,
  ),
  quoted: quoted.nullable(),
  quotesRunOut: count.default(0),
  copies: z.array(z.object({ commandId: nullableText })),
  drops: count,
  audit: z.array(text),
  decisionId: nullableText.default(null),
  phase,
};

const ROWS = Object.entries(FIELDS as object) as [string, z.ZodType | Inferred<unknown>][];
/** Which JSON is an entry. */
export const entryRecord = z.object(
  Object.fromEntries(ROWS.map(([name, row]) => [name, row instanceof z.ZodType ? row : row.type])),
);
const INFERRED = ROWS.flatMap(([name, row]) => (row instanceof z.ZodType ? [] : [[name, row.from] as const]));

/**
 * @param plain JSON of a record, without its format version
 * @throws z.ZodError for what is not an entry
 */
export function readEntryRecord(plain: unknown): Entry {
  const written = entryRecord.parse(plain);
  const entry = { ...written };
  for (const [name, from] of INFERRED) entry[name] = from(written as unknown as Certain, written[name]);
  // The compiler holds each row of the table against the field of its name.
  return entry as unknown as Entry;
}

function outcomeOf({ phase: written }: Certain): Outcome | null {
  return written.state === 'DONE' ? written.outcome : null;
}

/** EXPIRED on an operator's word, of which an earlier release kept nothing but the note. */
function isDecidedUnexecuted(entry: Certain): boolean {
  const decision = `NOT_EXECUTED on revision ${entry.revision - 1} `;
  return outcomeOf(entry) === 'EXPIRED' && entry.audit.at(-1)?.startsWith(decision) === true;
}

/** An earlier release did not note when a call without an answer was sent that could not be settled. */
function firstSentMsOf(entry: Certain): number | null {
  const isInDoubt = outcomeOf(entry) === 'UNKNOWN' || isDecidedUnexecuted(entry);
  return entry.firstSentMs ?? (isInDoubt ? entry.origin.timestampMs : null);
}

/** Nobody counted: any attempt of the step may have been, but for the one that brought its quote. */
function perhapsTurnedAway({ attempts, phase: written, quoted: quote }: Certain): number {
  if (written.state === 'QUOTED') return 0;
  return Math.max(0, attempts - (quote === null ? 0 : 1));
}

function proofByDecision(entry: Certain): Entry['unexecuted'] {
  const { attempts, revision } = entry;
  return isDecidedUnexecuted(entry) ? { by: 'OPERATOR', attempts, revision } : null;
}

/** No call ended after that. */
function latestEndOf(written: Entry['phase'], firstSentMs: number): number {
  switch (written.state) {
    case 'INTENT':
      return written.atMs + written.timeoutMs;
    case 'PARKED':
      return written.untilMs;
    case 'DOUBTFUL':
      return written.settleAtMs;
    case 'QUOTED':
      return firstSentMs;
    case 'DONE':
      return written.completedMs;
  }
}
