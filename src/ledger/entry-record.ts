/** An entry as it is written: which JSON is one, and what records of earlier releases lack. */
import { z } from 'zod';
import { COMMAND_TYPES, OUTCOME_NAMES } from '../records/commands.ts';
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
    result: z.object({ value: text, headers }),
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

/** Null, and absent in records of earlier releases, where `withWhatWasNotWritten` fills it. */
const record = z.object({
  key: text,
  commandType: z.enum(COMMAND_TYPES),
  revision: count,
  fingerprint: text,
  fieldsJson: nullableText,
  commandId: nullableText,
  origin: z.object({ topic: text, partition: count, offset: int64Text, timestampMs: instantMs }),
  carried: carriedRecord,
  deadlineMs: instantMs,
  expiresAtMs: nullableMs,
  isExpiryUnreadable: z.boolean().optional(),
  step: z.enum(['SINGLE', 'CREATE', 'EXECUTE']),
  immediate: z.boolean(),
  waits: count,
  attempts: count,
  turnedAway: count.default(0),
  firstSentMs: nullableMs,
  lastEndedMs: nullableMs.optional(),
  unexecuted: unexecuted.nullable().optional(),
  quoted: quoted.nullable(),
  quotesRunOut: count.default(0),
  copies: z.array(z.object({ commandId: nullableText })),
  drops: count,
  audit: z.array(text),
  phase,
});

type EntryRecord = z.infer<typeof record>;

/**
 * @param plain JSON of a record, without its format version
 * @throws z.ZodError for what is not an entry
 */
export function readEntryRecord(plain: unknown): Entry {
  const written = record.parse(plain);
  return {
    ...written,
    ...withWhatWasNotWritten(written),
    origin: { ...written.origin, offset: BigInt(written.origin.offset) },
    phase: phaseOf(written),
  };
}

function phaseOf({ phase: written }: EntryRecord): Entry['phase'] {
  if (written.state !== 'DONE') return written;
  const { headers: resultHeaders, value } = written.result;
  return { ...written, result: { headers: resultHeaders, value: Buffer.from(value, 'base64') } };
}

/** What a record of an earlier release does not say, so that nothing follows from it that is not certain. */
function withWhatWasNotWritten(
  written: EntryRecord,
): Pick<Entry, 'firstSentMs' | 'lastEndedMs' | 'unexecuted' | 'isExpiryUnreadable'> {
  const { attempts, audit, origin, revision } = written;
  const outcome = written.phase.state === 'DONE' ? written.phase.outcome : null;
  const isDecided = outcome === 'EXPIRED' && audit.at(-1)?.startsWith(`NOT_EXECUTED on revision ${revision - 1} `);
  // Nobody noted when a call without an answer was sent that could not be settled.
  const isInDoubt = written.firstSentMs !== null || outcome === 'UNKNOWN' || isDecided;
  const firstSentMs = isInDoubt ? (written.firstSentMs ?? origin.timestampMs) : null;
  const inferred = isDecided ? ({ by: 'OPERATOR', attempts, revision } as const) : null;
  return {
    firstSentMs,
    lastEndedMs: firstSentMs === null ? null : (written.lastEndedMs ?? latestEndOf(written.phase, firstSentMs)),
    unexecuted: written.unexecuted === undefined ? inferred : written.unexecuted,
    isExpiryUnreadable: written.isExpiryUnreadable ?? outcome === 'INVALID',
  };
}

/** No call ended after that. */
function latestEndOf(written: EntryRecord['phase'], firstSentMs: number): number {
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
