/** Instants as publishers and operators write them. */

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;

/** @returns milliseconds since 1970 of an ISO 8601 instant with a zone; null for any other text */
export function instantMs(text: string): number | null {
  const ms = INSTANT.test(text) && isDate(text.slice(0, 10)) ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? null : ms;
}

/** JavaScript reads February 30 as March 2. */
function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
