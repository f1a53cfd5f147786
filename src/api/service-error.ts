/** The error in a body of any kind: JSON of any shape, a proxy's page, an empty or a truncated body. */
import { isJsonObject, stringifyLossless, type JsonValue } from 'payment-processor-contract/lossless-json';
import type { ServiceError } from './types.ts';

/** A sentence for people; the raw response has the rest. */
const MESSAGE_MAX_CHARACTERS = 1000;
/** Half a JSON text would be useless, so longer details are left out. */
const DETAILS_MAX_CHARACTERS = 16_384;
const CODE_MAX_CHARACTERS = 200;

/**
 * @param parsed the body as JSON; undefined if it is not JSON
 * @param cut the body is incomplete
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

/** The beginning of a text, at most this many UTF-16 units, without half a character at its end. */
export function bounded(text: string, maxCharacters: number): string {
  return text.slice(0, maxCharacters).toWellFormed();
}

/** The places where services put their message: beside `code`, in an object `error`, or as in RFC 9457. */
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
  if (/^\s*<(!doctype|html|\?xml)/i.test(body)) return 'an HTML or XML page instead of JSON';
  return 'a body that is not JSON';
}
