/**
 * JSON of private records that hold int64 as bigint: written as {"$int64": "<digits>"}, read back as bigint. A map of
 * others' names may have a member of that name: it is written with one `$` more, and read back with one less.
 *
 * The members are walked here and not by JSON's own hooks, which cost several times as much.
 */

const INT64_MEMBER = '$int64';
const INT64_NAMES = /^\$+int64$/;
const ESCAPED_NAMES = /^\$\$+int64$/;

export function encodePlain(record: object): Buffer {
  return Buffer.from(JSON.stringify(written(record)));
}

/** @throws SyntaxError for bytes that are not JSON */
export function decodePlain(bytes: Buffer): unknown {
  return read(JSON.parse(bytes.toString()));
}

function written(member: unknown): unknown {
  if (typeof member === 'bigint') return { [INT64_MEMBER]: member.toString() };
  return withMembers(member, written, INT64_NAMES, (name) => `$${name}`);
}

function read(member: unknown): unknown {
  return isInt64(member) ? BigInt(member.$int64) : withMembers(member, read, ESCAPED_NAMES, (name) => name.slice(1));
}

/** The same value where nothing in it changes, else a copy. */
function withMembers(
  member: unknown,
  changed: (part: unknown) => unknown,
  names: RegExp,
  renamed: (name: string) => string,
): unknown {
  if (typeof member !== 'object' || member === null) return member;
  if (Array.isArray(member)) {
    const parts = member.map(changed);
    return parts.every((part, index) => part === member[index]) ? member : parts;
  }
  let isChanged = false;
  const parts: [string, unknown][] = [];
  for (const name of Object.keys(member)) {
    const before = (member as Readonly<Record<string, unknown>>)[name];
    const part = changed(before);
    const isNamed = name.endsWith('int64') && names.test(name);
    isChanged ||= part !== before || isNamed;
    parts.push([isNamed ? renamed(name) : name, part]);
  }
  return isChanged ? Object.fromEntries(parts) : member;
}

function isInt64(member: unknown): member is { $int64: string } {
  if (typeof member !== 'object' || member === null || !Object.hasOwn(member, INT64_MEMBER)) return false;
  const [digits, ...others] = Object.values(member) as unknown[];
  return others.length === 0 && typeof digits === 'string' && /^-?\d{1,19}$/.test(digits);
}
