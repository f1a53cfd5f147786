/** The shapes of request bodies' fields, as strict as the interface: every problem is listed, nothing is converted. */
import { z } from 'zod';
import { int64ValueOf, isJsonObject } from 'payment-processor-contract/lossless-json';
import { isCurrencyCode } from './currencies.ts';
import type { Problem } from './replies.ts';

export type Checked<Value> = { ok: true; value: Value } | { ok: false; problems: Problem[] };

/** Checks a parsed body against its schema. */
export function check<Value>(schema: z.ZodType<Value>, body: unknown): Checked<Value> {
  if (!isJsonObject(body)) return { ok: false, problems: [{ path: '', message: 'the body must be a JSON object' }] };
  const result = schema.safeParse(body);
  if (result.success) return { ok: true, value: result.data };
  return {
    ok: false,
    problems: result.error.issues.map((issue) => ({
      path: issue.path.join('.'),
      message: issue.message.slice(0, MESSAGE_MAX_LENGTH),
    })),
  };
}

/** A message may repeat names of fields that the client sent. */
const MESSAGE_MAX_LENGTH = 200;
const ID_MAX_LENGTH = 200;

/** An int64 as JSON Schema reads integers: `1000.0` and `1e3` are 1000. */
const int64 = z.unknown().transform((value, context) => {
  const integer = int64ValueOf(value);
  if (integer !== null) return integer;
  context.addIssue({ code: 'custom', message: 'must be an integer that fits 64 bits' });
  return z.NEVER;
});

/** An amount in the smallest unit: a positive int64. */
export const amount = int64.refine((value) => value > 0n, 'must be greater than 0');

function identifier(...prefixes: string[]): z.ZodType<string> {
  const names = prefixes.map((prefix) => `${prefix}:<id>`).join(' or ');
  return z
    .string()
    .max(ID_MAX_LENGTH + 20, 'is too long')
    .refine((id) => {
      const colonAt = id.indexOf(':');
      return prefixes.includes(id.slice(0, colonAt)) && /^[^\s\p{Cc}\p{Cs}]+$/u.test(id.slice(colonAt + 1));
    }, `must be ${names}`);
}

export const accountId = identifier('InternalAccount', 'ExternalAccount');
export const internalAccountId = identifier('InternalAccount');
export const externalAccountId = identifier('ExternalAccount');
export const customerId = identifier('Customer');
export const lookupId = identifier('Lookup');

/** `$user@domain`. */
export const umaAddress = z
  .string()
  .max(ID_MAX_LENGTH, 'is too long')
  .regex(/^\$[A-Za-z0-9._+-]{1,64}@[A-Za-z0-9.-]+(:\d{1,5})?$/, 'must be a UMA address such as $user@example.com');

export const currencyCode = z.string().refine(isCurrencyCode, 'must be the code of a currency of this service');

/** Not z.record: to zod a raw JSON number is an object. */
export const stringMap = z
  .custom<Record<string, string>>(
    (value) => isJsonObject(value) && Object.values(value).every((member) => typeof member === 'string'),
    'must be an object of strings',
  )
  .transform((value) => ({ ...value }));
