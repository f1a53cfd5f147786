/** Shapes that several commands share. Each reads a decoded Avro value and lossless JSON alike. */
import { z } from 'zod';
import { int64Of, isJsonObject, parseLossless } from '../lossless-json.ts';

/** An int64: a bigint from Avro, or a JSON integer with all its digits. */
export const int64 = z.unknown().transform((value, context): bigint => {
  const integer = typeof value === 'bigint' ? value : int64Of(value);
  if (integer !== null) return integer;
  context.addIssue({
    code: 'custom',
    message: value === undefined ? 'is required: an int64 integer' : 'must be an integer within int64',
  });
  return z.NEVER;
});

const MAP_ENTRIES_MAX = 200;

export const requiredText = z.string().min(1, 'must not be empty');
/** An id that goes into a path; a dot segment would change the path, however it is encoded. */
export const requiredId = requiredText.refine((id) => id !== '.' && id !== '..', 'must not be a dot segment');
export const optionalText = z
  .string()
  .nullish()
  .transform((value) => value ?? null);

export const optionalInt64 = z
  .unknown()
  .optional()
  .transform((value, context): bigint | null => {
    if (value === undefined || value === null) return null;
    const read = int64.safeParse(value);
    if (read.success) return read.data;
    context.addIssue({ code: 'custom', message: 'must be an integer within int64, or null' });
    return z.NEVER;
  });

export const optionalTextMap = z
  .record(z.string(), z.string())
  .refine((map) => Object.keys(map).length <= MAP_ENTRIES_MAX, `must have at most ${MAP_ENTRIES_MAX} entries`)
  .nullish()
  .transform((value) => value ?? null);

/** Further fields of a variant that the interface does not show: one JSON object as text. */
export const otherFieldsJson = optionalText.refine(
  (text) => text === null || isJsonObject(parsed(text)),
  'must be the text of one JSON object',
);

export function otherField(text: string | null, name: string): unknown {
  const object = text === null ? null : parsed(text);
  return isJsonObject(object) ? object[name] : undefined;
}

function parsed(text: string): unknown {
  try {
    return parseLossless(text);
  } catch {
    return undefined;
  }
}

export function enumeration(values: readonly string[]): z.ZodType<string> {
  return z.string().refine((value) => values.includes(value), `must be one of ${values.join(', ')}`);
}
