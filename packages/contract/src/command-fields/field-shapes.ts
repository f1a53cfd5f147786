/** Field shapes that several commands share. Each reads decoded Avro values and lossless JSON. */
import { z } from 'zod';
import {
  int64Of,
  isJsonObject,
  isRawNumber,
  JsonMeaningError,
  parseUnambiguous,
  type JsonObject,
} from '../lossless-json.ts';
import { illFormedPaths } from '../well-formed.ts';

const INT64 = 'an integer within int64, written only in digits (no fraction, exponent or quotes)';

/** An int64: a bigint from Avro, or a JSON integer with all its digits. */
export const int64 = z.unknown().transform((value, context): bigint => {
  const isInt64 = typeof value === 'bigint' && BigInt.asIntN(64, value) === value;
  const integer = isInt64 ? value : int64Of(value);
  if (integer !== null) return integer;
  context.addIssue({
    code: 'custom',
    message: value === undefined ? `is required: ${INT64}` : `must be ${INT64}`,
  });
  return z.NEVER;
});

const MAP_ENTRIES_MAX = 200;

export const requiredText = z.string().min(1, 'must not be empty');
/** An id that goes into a URL path. A dot segment would change the path, even percent-encoded. */
export const requiredId = requiredText.refine((id) => id !== '.' && id !== '..', 'must not be a dot segment');
/** An empty id would be looked up, and never found. */
export const optionalId = orNull(requiredText);
export const optionalText = orNull(z.string());

export const optionalInt64 = z
  .unknown()
  .optional()
  .transform((value, context): bigint | null => {
    if (value === undefined || value === null) return null;
    const read = int64.safeParse(value);
    if (read.success) return read.data;
    context.addIssue({ code: 'custom', message: `must be ${INT64}, or null` });
    return z.NEVER;
  });

/** zod's records silently drop a member of this name. */
const LOST_NAME = '__proto__';

const textMap = orNull(
  z
    .record(z.string(), z.string())
    .refine((map) => Object.keys(map).length <= MAP_ENTRIES_MAX, `must have at most ${MAP_ENTRIES_MAX} entries`),
);

export const optionalTextMap = z
  .unknown()
  .optional()
  .superRefine((value, context) => {
    // zod sees a raw number as an object with a member.
    if (isRawNumber(value)) context.addIssue({ code: 'custom', message: 'must be an object' });
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, LOST_NAME)) return;
    context.addIssue({ code: 'custom', path: [LOST_NAME], message: 'is a name that cannot be sent to the service' });
  })
  .pipe(textMap);

/** Fields of a variant that the interface does not document: one JSON object as text. */
export const otherFieldsJson = optionalText.superRefine((text, context) => {
  if (text === null) return;
  const others = objectOf(text);
  if (!others.ok) context.addIssue({ code: 'custom', message: others.problem });
});

/** @param text of one JSON object */
export function isIllFormedJson(text: string): boolean {
  const others = objectOf(text);
  return others.ok && illFormedPaths(others.object).length > 0;
}

export function otherField(text: string | null, name: string): unknown {
  const others = text === null ? null : objectOf(text);
  return others?.ok === true ? others.object[name] : undefined;
}

function objectOf(text: string): { ok: true; object: JsonObject } | { ok: false; problem: string } {
  const required = 'must be the text of one JSON object';
  try {
    const object = parseUnambiguous(text);
    return isJsonObject(object) ? { ok: true, object } : { ok: false, problem: required };
  } catch (error) {
    return { ok: false, problem: error instanceof JsonMeaningError ? `${required}: ${error.message}` : required };
  }
}

/** A field that is absent or null is null. */
function orNull<Shape extends z.ZodType>(shape: Shape) {
  return shape.nullish().transform((value) => value ?? null);
}

export function enumeration(values: readonly string[]): z.ZodType<string> {
  return z.string().refine((value) => values.includes(value), `must be one of ${values.join(', ')}`);
}
