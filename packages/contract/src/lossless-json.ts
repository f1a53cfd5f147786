/**
 * JSON that keeps every digit (invariant I8).
 *
 * It parses numbers to raw-JSON objects that hold the text as received, so that `9007199254740993` and `1.10` survive a round
 * trip. `JSON.stringify` writes such objects back digit by digit.
 */
import { ambiguityOf } from './json-ambiguity.ts';

/** A JSON number as it was written: JavaScript's raw-JSON object. */
export interface RawNumber {
  readonly rawJSON: string;
}

export type JsonValue = null | boolean | string | RawNumber | JsonValue[] | JsonObject;
export interface JsonObject {
  [name: string]: JsonValue;
}

// Node has both since version 21; TypeScript's library does not declare them yet.
const platformJson = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
  parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
};

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
const INT64_DIGITS_MAX = 19;

/**
 * Finds a number that JavaScript might write differently. It spares integers of up to 15 digits, and decimals of up to
 * 9 digits before the point and 6 after it without a trailing zero. It also matches inside strings, which does no harm.
 */
const NUMBER_TO_KEEP =
  /(?:^|[[:,])\s*(?!(?:0|-?[1-9]\d{0,14}|-?(?:0|[1-9]\d{0,8})\.\d{0,5}[1-9])(?:[\s,}\]]|$))-?\d[\d.eE+-]*(?:[\s,}\]]|$)/;
/** Deeper than any answer. Deeper values are parsed again with a reviver, which has limits of its own. */
const WALKED_NESTING_MAX = 100;

/**
 * Parses JSON text without loss.
 * @throws SyntaxError for text that is not JSON, RangeError for nesting beyond the stack.
 */
export function parseLossless(text: string): JsonValue {
  // A reviver for every value costs several times the parsing itself.
  if (NUMBER_TO_KEEP.test(text)) return parseNumberByNumber(text);
  const holder = { value: JSON.parse(text) as unknown };
  return keepNumbers(holder, WALKED_NESTING_MAX) ? (holder.value as JsonValue) : parseNumberByNumber(text);
}

function parseNumberByNumber(text: string): JsonValue {
  return platformJson.parse(text, (_name, value, context) =>
    typeof value === 'number' && context.source !== undefined ? platformJson.rawJSON(context.source) : value,
  ) as JsonValue;
}

/** Replaces numbers by raw numbers of the same text; false if the value is nested too deeply. */
function keepNumbers(parent: object, nestingLeft: number): boolean {
  const members = parent as Record<string, unknown>;
  for (const name of Object.keys(members)) {
    const member = members[name];
    if (typeof member === 'number') members[name] = platformJson.rawJSON(String(member));
    else if (typeof member === 'object' && member !== null) {
      if (nestingLeft === 0 || !keepNumbers(member, nestingLeft - 1)) return false;
    }
  }
  return true;
}

/** The JSON is ambiguous or nested too deeply; the message says what and where. */
export class JsonMeaningError extends SyntaxError {}

/**
 * Parses JSON of others that must have exactly one meaning: commands and decisions.
 * @throws JsonMeaningError naming the duplicate member, or the place nested too deeply; SyntaxError for
 *   text that is not JSON
 */
export function parseUnambiguous(text: string): JsonValue {
  const ambiguity = ambiguityOf(text);
  if (ambiguity?.kind === 'too-deep') throw new JsonMeaningError(ambiguity.problem);
  const value = parseLossless(text);
  if (ambiguity !== null) throw new JsonMeaningError(ambiguity.problem);
  return value;
}

/** Writes a value as JSON text: raw numbers as they were received, bigints as integers. */
export function stringifyLossless(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'bigint' ? platformJson.rawJSON(member.toString()) : member,
  );
}

export function isRawNumber(value: unknown): value is RawNumber {
  return platformJson.isRawJSON(value);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** The int64 of a JSON number; null if it has a fraction, an exponent or too many digits. */
export function int64Of(value: unknown): bigint | null {
  if (!isRawNumber(value) || !/^-?\d{1,19}$/.test(value.rawJSON)) return null;
  const integer = BigInt(value.rawJSON);
  return integer >= INT64_MIN && integer <= INT64_MAX ? integer : null;
}

/** No amount is longer. */
const NUMBER_LENGTH_MAX = 100;

/** The int64 value of a JSON number in any notation, as JSON Schema reads integers: `1000.0` and `1e3` are 1000. */
export function int64ValueOf(value: unknown): bigint | null {
  if (!isRawNumber(value) || value.rawJSON.length > NUMBER_LENGTH_MAX) return null;
  const plain = int64Of(value);
  if (plain !== null) return plain;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(value.rawJSON) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '');
  if (digits === '') return whole === '' ? null : 0n;
  // Trailing zeros that were cut off still count as places of the number.
  const endingZeros = /0*$/.exec(`${whole}${fraction}`)?.[0].length ?? 0;
  const places = Number(exponent) - fraction.length + endingZeros;
  if (places < 0 || digits.length + places > INT64_DIGITS_MAX) return null;
  return int64Of(platformJson.rawJSON(`${sign}${digits}${'0'.repeat(places)}`));
}
