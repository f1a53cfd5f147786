/** Reads an answer to GET /transactions: a page, or why there is none. */
import { ID_LENGTH_MAX } from 'payment-processor-contract/quote-id';
import { int64ValueOf, isJsonObject } from 'payment-processor-contract/lossless-json';
import type { Transaction } from 'payment-processor-contract/types';
import { statusClass } from './http-status.ts';
import { parsedOrUndefined, redirectReason, retryAfterMsOf, UNAUTHORIZED } from './reading.ts';
import { readServiceError } from './service-error.ts';
import type { Answer, ListReading } from './types.ts';
import { readTransaction } from './wire.ts';

/** Further warnings about one page would say nothing new. */
const PAGE_WARNINGS_MAX = 20;

/** @param nowMs wall-clock time at which the answer came */
export function readTransactionPage(answer: Answer, nowMs: number): ListReading {
  switch (answer.kind) {
    case 'never-sent':
    case 'lost':
      return failed('unreachable', answer.reason);
    case 'response':
      return readResponse(answer, nowMs);
  }
}

/** The limit to ask with instead, if the page was too long; null: it was not, or no page is shorter. */
export function shorterLimit(reading: Extract<ListReading, { kind: 'failed' }>, limit: number): number | null {
  return reading.isTooLong === true && limit > 1 ? Math.floor(limit / 2) : null;
}

function readResponse(answer: Extract<Answer, { kind: 'response' }>, nowMs: number): ListReading {
  const { httpStatus } = answer;
  const reason = `HTTP ${httpStatus}`;
  switch (statusClass(httpStatus)) {
    case 'success':
      return readPage(answer);
    case 'redirect':
      return failed('redirected', redirectReason(answer), httpStatus);
    case 'says-nothing':
      return failed('unreachable', reason, httpStatus);
    case 'unauthorized':
      return failed('unauthorized', UNAUTHORIZED, httpStatus);
    case 'deferral':
      return failed('told-to-wait', reason, httpStatus, retryAfterMsOf(answer.retryAfter, nowMs));
    case 'not-here':
    case 'conflict':
    case 'refusal':
      return { ...failed('refused', reason, httpStatus), serviceSays: refusalOf(answer) };
  }
}

function readPage(answer: Extract<Answer, { kind: 'response' }>): ListReading {
  const { httpStatus, body, cut, isTooLong } = answer;
  if (isTooLong === true)
    return {
      ...failed('unreachable', `HTTP ${httpStatus}, but the page is too long: lower its limit`, httpStatus),
      isTooLong,
    };
  // The connection or the time ended, so it says nothing about the server at this address.
  if (cut) return failed('unreachable', `HTTP ${httpStatus}, but the body was cut off`, httpStatus);
  const page = parsedOrUndefined(body);
  const members = page !== undefined && isJsonObject(page) ? page['data'] : undefined;
  if (page === undefined || !isJsonObject(page) || !Array.isArray(members)) {
    return failed('not-understood', `HTTP ${httpStatus}, but the body is not a page of transactions`, httpStatus);
  }
  const gaps: string[] = [];
  const warnings: string[] = [];
  const data: Transaction[] = [];
  members.forEach((member, index) => {
    const read = readTransaction(member);
    const isUsable = read !== null && read.value.id.length <= ID_LENGTH_MAX;
    if (isUsable) data.push(read.value);
    else gaps.push(`data[${index}] has ${read === null ? 'no' : 'too long an'} id and is left out`);
    warnings.push(...(read?.warnings ?? []).map((warning) => `data[${index}].${warning}`));
  });
  const nextCursor = typeof page['nextCursor'] === 'string' && page['nextCursor'] !== '' ? page['nextCursor'] : null;
  if (typeof page['hasMore'] !== 'boolean') gaps.push('hasMore is not a boolean');
  const hasMore = typeof page['hasMore'] === 'boolean' ? page['hasMore'] : nextCursor !== null;
  if (hasMore && nextCursor === null) gaps.push('hasMore without a nextCursor');
  return {
    kind: 'page',
    data,
    hasMore,
    nextCursor,
    totalCount: int64ValueOf(page['totalCount']),
    isIncomplete: gaps.length > 0,
    warnings: [...gaps, ...warnings].slice(0, PAGE_WARNINGS_MAX),
  };
}

function failed(
  cause: Extract<ListReading, { kind: 'failed' }>['cause'],
  reason: string,
  httpStatus: number | null = null,
  retryAfterMs: number | null = null,
): Extract<ListReading, { kind: 'failed' }> {
  return { kind: 'failed', cause, reason, httpStatus, retryAfterMs, serviceSays: null };
}

function refusalOf({ body, cut, httpStatus }: Extract<Answer, { kind: 'response' }>): string {
  const { code, message } = readServiceError(httpStatus, body, parsedOrUndefined(body), cut);
  return code === null ? message : `${code}: ${message}`;
}
