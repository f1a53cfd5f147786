/**
 * JSON of private records that hold int64 as bigint: written as {"$int64": "<digits>"}, read back as bigint. A map of
 * others' names may have a member of that name: it is written with one `$` more, and read back with one less.
 */

const INT64_MEMBER = '$int64';
const INT64_NAMES = /^\$+int64$/;
const ESCAPED_NAMES = /^\$\$+int64$/;

export function encodePlain(record: object): Buffer {
  return Buffer.from(
    JSON.stringify(record, (_name, member: unknown) =>
      typeof member === 'bigint'
        ? { [INT64_MEMBER]: member.toString() }
        : withNames(member, INT64_NAMES, (name) => `$${name}`),
    ),
  );
}

/** @throws SyntaxError for bytes that are not JSON */
export function decodePlain(bytes: Buffer): unknown {
  return JSON.parse(bytes.toString(), (_name, member: unknown) =>
    isInt64(member) ? BigInt(member.$int64) : withNames(member, ESCAPED_NAMES, (name) => name.slice(1)),
  ) as unknown;
}

function isInt64(member: unknown): member is { $int64: string } {
  if (typeof member !== 'object' || member === null || !Object.hasOwn(member, INT64_MEMBER)) return false;
  const [digits, ...others] = Object.values(member) as unknown[];
  return others.length === 0 && typeof digits === 'string' && /^-?\d{1,19}$/.test(digits);
}

function withNames(member: unknown, names: RegExp, renamed: (name: string) => string): unknown {
  if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
  const isAnyNamed = Object.keys(member).some((name) => names.test(name));
  if (!isAnyNamed) return member;
  return Object.fromEntries(
    Object.entries(member).map(([name, value]: [string, unknown]) => [names.test(name) ? renamed(name) : name, value]),
  );
}
