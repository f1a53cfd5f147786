/**
 * Finds problems in JSON text that a parser ignores: a duplicate member, of which only the last would count, and nesting so
 * deep that recursive readers fail.
 *
 * One linear pass without recursion. Text that is not JSON is left to the parser, which refuses it.
 */

/** Levels of objects and lists. A command has three; its `otherFieldsJson` may have more. */
export const NESTING_MAX = 100;
/** Characters of a path that are shown. */
const PATH_LENGTH_MAX = 200;

export type Ambiguity = { kind: 'twice' | 'too-deep'; problem: string };

interface Opened {
  /** Member names of an object so far; null for a list. */
  readonly names: Set<string> | null;
  /** Name or index of the current member or item. */
  name: string;
  index: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The first problem in the text, or null. */
export function ambiguityOf(text: string): Ambiguity | null {
  const opened: Opened[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at];
    const top = opened.at(-1);
    if (character === '"') {
      const end = endOfText(text, at);
      if (top?.names && isFollowedByColon(text, end)) {
        top.name = textOf(text.slice(at, end));
        if (top.names.has(top.name)) {
          return { kind: 'twice', problem: `the member ${pathOf(opened)} appears twice: send it once` };
        }
        top.names.add(top.name);
      }
      at = end;
      continue;
    }
    if (character === '{' || character === '[') {
      opened.push({ names: character === '{' ? new Set() : null, name: '', index: 0 });
      if (opened.length > NESTING_MAX) {
        return { kind: 'too-deep', problem: `it is nested more than ${NESTING_MAX} deep` };
      }
    } else if (character === '}' || character === ']') {
      opened.pop();
    } else if (character === ',' && top !== undefined) {
      top.index += 1;
    }
    at += 1;
  }
  return null;
}

/** A path to show, cut if it is too long for a result. */
export function shownPath(path: string): string {
  return path.length <= PATH_LENGTH_MAX ? path : `${path.slice(0, PATH_LENGTH_MAX)}…`;
}

/** Offset after the closing quote, or the end of the text. */
function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

function isFollowedByColon(text: string, from: number): boolean {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text[at] ?? '')) at += 1;
  return text[at] === ':';
}

/** Decodes a quoted text: escapes make equal names look different. */
function textOf(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    // Not JSON; the parser will report it.
    return quoted;
  }
}

function pathOf(opened: readonly Opened[]): string {
  const parts = opened.map(({ names, name, index }) =>
    names === null ? `[${index}]` : `.${name === '' ? '""' : name}`,
  );
  return shownPath(parts.join('').replace(/^\./, ''));
}
