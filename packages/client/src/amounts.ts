/** Amounts as a publisher may write them: bigint, or a number that is exact. */
import type { FieldProblem } from 'payment-processor-contract/command-fields';

/** Deeper than any command. */
const NESTING_MAX = 20;

/**
 * Puts a bigint in the place of every number.
 * @returns the fields; or each number that is no safe integer, by its path: what it was meant to be is not known any more
 */
export function withBigints(
  fields: unknown,
): { ok: true; fields: unknown } | { ok: false; problems: readonly FieldProblem[] } {
  const problems: FieldProblem[] = [];
  const converted = convert(fields, [], problems);
  return problems.length > 0 ? { ok: false, problems } : { ok: true, fields: converted };
}

function convert(value: unknown, path: readonly string[], problems: FieldProblem[]): unknown {
  if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) return BigInt(value);
    problems.push({
      path: path.join('.'),
      message: `is the number ${value}, which is no whole number or not exact: give a bigint, such as 125000n`,
    });
    return value;
  }
  // Raw numbers of parseLossless and whatever else is no plain object are left as they are.
  if (!isPlainObject(value) || path.length >= NESTING_MAX) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, convert(member, [...path, name], problems)]),
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
