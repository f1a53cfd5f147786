/** Which of a command's time limits is the one that ends it, in words. Pure. */
import type { UnphasedEntry } from './entry.ts';

/** @returns `expires-at 2026-01-31T12:00:00.000Z`, or the maximum age by the name of its setting and its instant */
export function timeLimitInWords({
  commandType,
  deadlineMs,
  expiresAtMs,
}: Pick<UnphasedEntry, 'commandType' | 'deadlineMs' | 'expiresAtMs'>): string {
  if (expiresAtMs !== null && expiresAtMs <= deadlineMs) return `expires-at ${instantInWords(expiresAtMs)}`;
  return `COMMAND_MAX_AGE of ${commandType}, until ${instantInWords(deadlineMs)}`;
}

/** ISO 8601; a publisher's or a service's timestamp may be beyond what a date can say. */
export function instantInWords(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms since 1970` : date.toISOString();
}
