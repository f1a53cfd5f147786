/**
 * An entry as it is written: a table of its fields. Fields that the table does not have are a newer release's, and are passed
 * over.
 */
import { z } from 'zod';
import { COMMAND_TYPES, OUTCOME_NAMES } from 'payment-processor-contract/commands';
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
  receivedMs: instantMs,
  sourceAccountId: nullableText,
  destinationAccountId: nullableText,
  receivingAmount: int64Text.nullable(),
  receivingCurrencyCode: nullableText,
});

const unexecuted = z.discriminatedUnion('by', [
  z.object({ by: z.literal('LOOK_UP'), attempts: count }),
  z.object({ by: z.literal('OPERATOR'), attempts: count, revision: count }),
]);

/**
 * A row for each field. One that a release adds has a default: nothing may follow from its absence that is not certain.
 */
const FIELDS: { readonly [Name in keyof Entry]: z.ZodType<Entry[Name]> } = {
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
  isExpiryUnreadable: z.boolean(),
  step: z.enum(['SINGLE', 'CREATE', 'EXECUTE']),
  immediate: z.boolean(),
  waits: count,
  attempts: count,
  turnedAway: count,
  firstSentMs: nullableMs,
  lastEndedMs: nullableMs,
  unexecuted: unexecuted.nullable(),
  quoted: quoted.nullable(),
  quotesRunOut: count,
  copies: z.array(z.object({ commandId: nullableText })),
  drops: count,
  audit: z.array(text),
  decisionId: nullableText,
  phase,
};

/** Which JSON is an entry: a record, without its format version. */
export const entryRecord: z.ZodType<Entry> = z.object(FIELDS);
