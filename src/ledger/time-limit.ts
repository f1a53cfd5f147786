/** Names the time limit that ends a command. Pure. */
import type { UnphasedEntry } from './entry.ts';

/** @returns `expires-at 2026-01-31T12:00:00.000Z`, or the setting of the maximum age with its instant */
export function timeLimitInWords({
  commandType,
  deadlineMs,
  expiresAtMs,
}: Pick<UnphasedEntry, 'commandType' | 'deadlineMs' | 'expiresAtMs'>): string {
  if (expiresAtMs !== null && expiresAtMs <= deadlineMs) return `expires-at ${instantInWords(expiresAtMs)}`;
  return `COMMAND_MAX_AGE of ${commandType}, until ${instantInWords(deadlineMs)}`;
}

/** ISO 8601. Timestamps of publishers and of the service may be out of a date's range. */
export function instantInWords(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms since 1970` : date.toISOString();
}
