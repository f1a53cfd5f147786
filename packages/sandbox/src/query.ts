/** Query strings: each known parameter at most once, decoded strictly; and the forms of their values. */
import type { Problem } from './replies.ts';

export type ReadQuery = { ok: true; parameters: ReadonlyMap<string, string> } | { ok: false; problems: Problem[] };

/** Reads the text after `?`; an unknown, repeated, empty or wrongly encoded parameter is a problem. */
export function readQuery(text: string, known: readonly string[]): ReadQuery {
  const parameters = new Map<string, string>();
  const problems: Problem[] = [];
  for (const part of text.split('&')) {
    if (part === '') continue;
    const equalsAt = part.indexOf('=');
    const name = decoded(equalsAt === -1 ? part : part.slice(0, equalsAt));
    const value = decoded(equalsAt === -1 ? '' : part.slice(equalsAt + 1));
    if (name === null || value === null) problems.push({ path: name ?? '', message: 'is not valid percent-encoding' });
    else if (!known.includes(name))
      problems.push({ path: name.slice(0, 100), message: 'is not a parameter of this endpoint' });
    else if (parameters.has(name)) problems.push({ path: name, message: 'is given more than once' });
    else if (value === '') problems.push({ path: name, message: 'is empty' });
    else parameters.set(name, value);
  }
  return problems.length === 0 ? { ok: true, parameters } : { ok: false, problems };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}

const DATE_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:Z|([+-])(\d\d):(\d\d))$/i;

/** Milliseconds since 1970 of an ISO 8601 date-time and zone, with fractions of a millisecond; null for any other text. */
export function instantOf(text: string): number | null {
  const match = DATE_TIME.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const zoneHours = Number(match[9] ?? 0);
  const zoneMinutes = Number(match[10] ?? 0);
  const utc = new Date(0);
  utc.setUTCFullYear(year, month - 1, day);
  // JavaScript turns February 30 into March 2; here it is an error.
  if (utc.getUTCMonth() !== month - 1 || utc.getUTCDate() !== day) return null;
  if (hour > 23 || minute > 59 || second > 59 || zoneHours > 23 || zoneMinutes > 59) return null;
  const zoneMs = (match[8] === '-' ? -1 : 1) * (zoneHours * 60 + zoneMinutes) * 60_000;
  return utc.getTime() + ((hour * 60 + minute) * 60 + second) * 1000 + Number(match[7] ?? 0) * 1000 - zoneMs;
}
