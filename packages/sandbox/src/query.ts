/** Query strings: each known parameter at most once, decoded strictly. */
import type { Problem } from './replies.ts';

export type ReadQuery = { ok: true; parameters: ReadonlyMap<string, string> } | { ok: false; problems: Problem[] };

/** Reads the text after `?`; an unknown, repeated, empty or wrongly encoded parameter is a problem. */
export function readQuery(text: string, known: readonly string[]): ReadQuery {
  const parameters = new Map<string, string>();
  const problems: Problem[] = [];
  for (const part of text.replaceAll('+', ' ').split('&')) {
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

/** Null if it is not valid percent-encoding. */
export function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
