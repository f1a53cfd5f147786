/** The quote that a transaction names. The interface does not have it, but services may show it. */
import { isJsonObject, parseLossless } from './lossless-json.ts';

/** @param otherFieldsJson of a transaction @returns the text at `quoteId`; null if there is none */
export function quoteIdAmong(otherFieldsJson: string | null): string | null {
  if (otherFieldsJson?.includes('"quoteId"') !== true) return null;
  const others = parseLossless(otherFieldsJson);
  return isJsonObject(others) && typeof others['quoteId'] === 'string' ? others['quoteId'] : null;
}
