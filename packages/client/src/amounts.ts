/** Amounts as publishers may pass them: a bigint, or an exact number. */
import type { FieldProblem } from 'payment-processor-contract/command-fields';

/** Deeper than any command. */
const NESTING_MAX = 20;

/**
 * Replaces each number in plain objects by a bigint.
 * @returns the fields; or each number that is not a safe integer, by its path: its intended value is lost
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
      message: `is the number ${value}, which is not a whole number or not exact: pass a bigint, such as 125000n`,
    });
    return value;
  }
  // Leaves raw numbers of parseLossless, and everything else that is not a plain object, as it is.
  if (!isPlainObject(value) || path.length >= NESTING_MAX) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, convert(member, [...path, name], problems)]),
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
