/** The quote that a transaction names. The interface does not have it, but services may show it. */
import { isJsonObject, parseLossless } from './lossless-json.ts';

/** Longest id of a transaction or quote: a longer one is not an id, and could not be a key of the ledger. */
export const ID_LENGTH_MAX = 1024;

/** @param otherFieldsJson of a transaction @returns the id at `quoteId`; null if there is none */
export function quoteIdAmong(otherFieldsJson: string | null): string | null {
  if (otherFieldsJson?.includes('"quoteId"') !== true) return null;
  const others = parsedOrNull(otherFieldsJson);
  const id = isJsonObject(others) ? others['quoteId'] : null;
  return typeof id === 'string' && id !== '' && id.length <= ID_LENGTH_MAX ? id : null;
}

/** It was parsed before, but perhaps on a shallower stack. */
function parsedOrNull(json: string): unknown {
  try {
    return parseLossless(json);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
