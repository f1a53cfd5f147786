/** Commands and filters as HTTP requests: method, path below the base URL, body. */
import type { CommandType } from 'payment-processor-contract/commands';
import {
  isJsonObject,
  parseLossless,
  stringifyLossless,
  type JsonObject,
} from 'payment-processor-contract/lossless-json';
import type { QuoteRequestDestination, QuoteRequestSource } from 'payment-processor-contract/types';
import { FILTER_NAMES, type ChangeRequest, type TransactionFilter } from './types.ts';

export interface RequestParts {
  method: 'GET' | 'POST';
  path: string;
  body: string | null;
}

/**
 * The request of a change. Leaves out null fields, and an `immediatelyExecute` of false. int64 keeps every digit.
 * @throws SyntaxError if an `otherFieldsJson` is not one JSON object, RangeError if one is nested too deeply
 */
export function changeRequestParts(request: ChangeRequest): RequestParts {
  switch (request.operation) {
    case 'create-quote': {
      const { source, destination, immediatelyExecute, ...rest } = request.fields;
      return post('/quotes', {
        ...rest,
        source: withOtherFields(source),
        destination: withOtherFields(destination),
        immediatelyExecute: immediatelyExecute ? true : null,
      });
    }
    case 'execute-quote':
      return { method: 'POST', path: `/quotes/${pathSegment(request.fields.quoteId)}/execute`, body: null };
    case 'transfer-in':
      return post('/transfer-in', request.fields);
    case 'reject-transaction': {
      const { transactionId, ...rest } = request.fields;
      return post(`/transactions/${pathSegment(transactionId)}/reject`, rest);
    }
    case 'simulate-uma-receive':
      return post('/sandbox/uma/receive', request.fields);
  }
}

/** The path of a change without its ids: one of a few values, for the names of spans. */
export function routeOf(operation: CommandType): string {
  switch (operation) {
    case 'create-quote':
      return '/quotes';
    case 'execute-quote':
      return '/quotes/{quoteId}/execute';
    case 'transfer-in':
      return '/transfer-in';
    case 'reject-transaction':
      return '/transactions/{transactionId}/reject';
    case 'simulate-uma-receive':
      return '/sandbox/uma/receive';
  }
}

/** The request of GET /transactions; parameters that are not set are left out. */
export function listRequestParts(filter: TransactionFilter): RequestParts {
  const parameters = FILTER_NAMES.flatMap((name) => {
    const value = filter[name];
    return value === undefined ? [] : [`${name}=${percentEncoded(String(value))}`];
  });
  return {
    method: 'GET',
    path: `/transactions${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`,
    body: null,
  };
}

function post(path: string, body: object): RequestParts {
  return { method: 'POST', path, body: stringifyLossless(withoutNulls(body)) };
}

function withoutNulls(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

/** An account's named fields, with the fields of `otherFieldsJson` that no named field sets. */
function withOtherFields(account: QuoteRequestSource | QuoteRequestDestination): object {
  const { otherFieldsJson, ...named } = account;
  return { ...(otherFieldsJson === null ? {} : objectOf(otherFieldsJson)), ...withoutNulls(named) };
}

function objectOf(otherFieldsJson: string): JsonObject {
  const value = parseLossless(otherFieldsJson);
  if (!isJsonObject(value)) throw new SyntaxError('otherFieldsJson is not a JSON object');
  return value;
}

/** One path segment for any id. Encoding cannot save `.` and `..`, which URL parsers drop: commands with such ids are INVALID. */
function pathSegment(id: string): string {
  return /^\.+$/.test(id) ? '%2E'.repeat(id.length) : percentEncoded(id);
}

/** Lone surrogates have no UTF-8; they become U+FFFD instead of an error. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
