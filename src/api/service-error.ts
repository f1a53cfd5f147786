/** The error that a body carries, whatever the body is: JSON of any shape, a page of a proxy, nothing, half of it. */
import { isJsonObject, stringifyLossless, type JsonValue } from 'payment-processor-contract/lossless-json';
import type { ServiceError } from './types.ts';

/** A sentence for people; what is longer is in the raw response. */
const MESSAGE_MAX_CHARACTERS = 1000;
/** Half a JSON text would be of no use, so longer details are left out. */
const DETAILS_MAX_CHARACTERS = 16_384;
const CODE_MAX_CHARACTERS = 200;

/**
 * @param parsed the body as JSON, undefined where it is none
 * @param cut the body is not whole
 */
export function readServiceError(
  httpStatus: number,
  body: string,
  parsed: JsonValue | undefined,
  cut: boolean,
): ServiceError {
  if (parsed === undefined || !isJsonObject(parsed)) {
    return { code: null, message: `HTTP ${httpStatus} with ${bodyInWords(body, parsed, cut)}`, details: null };
  }
  const code = parsed['code'];
  return {
    code: typeof code === 'string' && code !== '' ? bounded(code, CODE_MAX_CHARACTERS) : null,
    message: bounded(messageOf(parsed) ?? `HTTP ${httpStatus} without a message`, MESSAGE_MAX_CHARACTERS),
    details: detailsOf(parsed['details']),
  };
}

/** Text of at most so many UTF-16 units, with no half of a character at its end. */
export function bounded(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text.toWellFormed() : text.slice(0, maxCharacters).toWellFormed();
}

/** Where services put their sentence: beside `code`, in an object `error`, or as RFC 9457 has it. */
function messageOf(parsed: { [name: string]: JsonValue }): string | null {
  const nested = parsed['error'] ?? null;
  const candidates = [
    parsed['message'],
    isJsonObject(nested) ? nested['message'] : nested,
    parsed['detail'],
    parsed['title'],
  ];
  return (
    (candidates.find((candidate) => typeof candidate === 'string' && candidate !== '') as string | undefined) ?? null
  );
}

function detailsOf(details: JsonValue | undefined): string | null {
  if (details === undefined || details === null) return null;
  try {
    const json = stringifyLossless(details);
    return json.length <= DETAILS_MAX_CHARACTERS ? json : null;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

function bodyInWords(body: string, parsed: JsonValue | undefined, cut: boolean): string {
  if (body.trim() === '') return 'an empty body';
  if (parsed !== undefined) return 'a JSON body that is not an object';
  if (cut) return 'a body that was cut off';
  if (/^\s*<(!doctype|html|\?xml)/i.test(body)) return 'a page instead of JSON';
  return 'a body that is not JSON';
}
