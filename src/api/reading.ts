/**
 * Puts every answer to a POST into one class. Pure and total: there is a reading for whatever the service sends. An
 * unclear answer is never read as a success or a refusal (invariant I10).
 */
import { COMMAND_ANSWERS, type CommandType } from 'payment-processor-contract/commands';
import { parseLossless, type JsonValue } from 'payment-processor-contract/lossless-json';
import { statusClass } from './http-status.ts';
import { bounded, readServiceError } from './service-error.ts';
import type { Answer, Reading, ServiceError } from './types.ts';
import { readQuote, readTransaction } from './wire.ts';

/** Results carry this much of a body that was not understood or is an error. */
export const RAW_RESPONSE_MAX_CHARACTERS = 4096;
/** Longest wait, even if the service asks for more. */
export const RETRY_AFTER_MAX_MS = 15 * 60_000;
export const UNAUTHORIZED = 'HTTP 401: the service does not accept our credentials';

const MONTHS = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec';
/** The one date format that RFC 9110 lets senders use. */
const HTTP_DATE = new RegExp(`^[A-Z][a-z]{2}, \\d{2} (${MONTHS}) \\d{4} \\d{2}:\\d{2}:\\d{2} GMT$`);

type Response = Extract<Answer, { kind: 'response' }>;

/**
 * Reads the answer to a POST.
 * @param nowMs wall-clock time at which the answer came; for a Retry-After that is a date
 * @param quoteId the quote to execute; null: the answer may be about any quote
 */
export function readAnswer(
  operation: CommandType,
  answer: Answer,
  nowMs: number,
  quoteId: string | null = null,
): Reading {
  switch (answer.kind) {
    case 'never-sent':
      return { kind: 'never-sent', reason: answer.reason };
    case 'lost':
      return { kind: 'doubt', httpStatus: null, reason: answer.reason, rawResponse: null };
    case 'response':
      return readResponse(operation, answer, nowMs, quoteId);
  }
}

function readResponse(operation: CommandType, answer: Response, nowMs: number, quoteId: string | null): Reading {
  const { httpStatus, body, cut } = answer;
  const problem = (): { error: ServiceError; rawResponse: string } => ({
    error: readServiceError(httpStatus, body, cut ? undefined : parsedOrUndefined(body), cut),
    rawResponse: bounded(body, RAW_RESPONSE_MAX_CHARACTERS),
  });
  switch (statusClass(httpStatus)) {
    case 'success':
      return readSuccess(operation, answer, quoteId);
    case 'redirect':
      return { kind: 'redirected', httpStatus, reason: redirectReason(answer) };
    case 'says-nothing':
      return { kind: 'doubt', httpStatus, reason: `HTTP ${httpStatus}`, rawResponse: rawResponseOf(body) };
    case 'unauthorized':
      return { kind: 'unauthorized', httpStatus, reason: UNAUTHORIZED };
    case 'deferral': {
      const retryAfterMs = retryAfterMsOf(answer.retryAfter, nowMs);
      return { kind: 'told-to-wait', httpStatus, retryAfterMs, reason: `HTTP ${httpStatus}` };
    }
    case 'not-here':
      // Only another call can show whether the whole service fails: the caller makes it.
      return { kind: 'not-here', httpStatus, serviceFails: false, ...problem() };
    case 'conflict':
      return { kind: 'conflict', httpStatus, ...problem() };
    case 'refusal':
      return { kind: 'refused', httpStatus, ...problem() };
  }
}

function readSuccess(operation: CommandType, answer: Response, quoteId: string | null): Reading {
  const { httpStatus, body, cut } = answer;
  const doubt = (reason: string): Reading => ({ kind: 'doubt', httpStatus, reason, rawResponse: rawResponseOf(body) });
  if (cut) return doubt(`HTTP ${httpStatus}, answer cut off`);
  const parsed = parsedOrUndefined(body);
  if (parsed === undefined) return doubt(`HTTP ${httpStatus}, answer not JSON`);
  const isQuote = COMMAND_ANSWERS[operation] === 'quote';
  const quote = isQuote ? readQuote(parsed) : null;
  const transaction = isQuote ? null : readTransaction(parsed);
  const read = quote ?? transaction;
  if (read === null) return doubt(`HTTP ${httpStatus}, answer without an id`);
  // The state of another quote says nothing about the call.
  const isAbout = quoteId === null || quote?.value.id === quoteId;
  if (operation === 'execute-quote' && quote?.value.status === 'EXPIRED' && isAbout) {
    // The service sends the quote's state instead of a 409. At least this call did not execute the quote.
    const error = { code: 'QUOTE_EXPIRED', message: 'the answer shows the quote as EXPIRED', details: null };
    return { kind: 'conflict', httpStatus, error, rawResponse: bounded(body, RAW_RESPONSE_MAX_CHARACTERS) };
  }
  return {
    kind: 'accepted',
    httpStatus,
    quote: quote?.value ?? null,
    transaction: transaction?.value ?? null,
    rawResponse: read.warnings.length > 0 ? rawResponseOf(body) : null,
    warnings: read.warnings,
  };
}

/** Names only the origin of the redirect's target: its credentials, path and query may be secret. */
export function redirectReason(answer: Response): string {
  const target = answer.location === null || !URL.canParse(answer.location) ? null : new URL(answer.location);
  const where = target === null ? '' : ` to ${bounded(target.origin, 200)}`;
  return `HTTP ${answer.httpStatus}: redirected${where}; redirects are not followed`;
}

/**
 * Milliseconds that a Retry-After header asks for, at most RETRY_AFTER_MAX_MS; 0 for a date that has passed. Null if the
 * header is absent, or neither a number of seconds nor an HTTP date.
 */
export function retryAfterMsOf(header: string | null, nowMs: number): number | null {
  const value = header?.trim() ?? '';
  if (/^\d+$/.test(value)) return Math.min(Number(value) * 1000, RETRY_AFTER_MAX_MS);
  const instantMs = HTTP_DATE.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(instantMs) ? null : Math.min(Math.max(instantMs - nowMs, 0), RETRY_AFTER_MAX_MS);
}

/** The body as JSON; undefined if it is not JSON, or nested deeper than the parser allows. */
export function parsedOrUndefined(body: string): JsonValue | undefined {
  try {
    return parseLossless(body);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}

function rawResponseOf(body: string): string | null {
  return body === '' ? null : bounded(body, RAW_RESPONSE_MAX_CHARACTERS);
}
