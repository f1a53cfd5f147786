/**
 * Reads the fields of a command, from Avro or JSON, and checks types, enumerations and conditional rules. It reports every
 * problem with its path. It also makes the canonical form, which distinguishes a copy of a command from another
 * command.
 */
import * as crypto from 'node:crypto';
import { z } from 'zod';
import { createQuote, illFormedOthers, isSenderInfoMisplaced } from './command-fields/create-quote.ts';
import {
  int64,
  optionalInt64,
  optionalId,
  optionalText,
  requiredId,
  requiredText,
} from './command-fields/field-shapes.ts';
import type { CommandType } from './commands.ts';
import { shownPath } from './json-ambiguity.ts';
import {
  isJsonObject,
  isRawNumber,
  parseLossless,
  parseUnambiguous,
  stringifyLossless,
  type JsonValue,
} from './lossless-json.ts';
import type { CreateQuote, ExecuteQuote, RejectTransaction, SimulateUmaReceive, TransferIn } from './types.ts';
import { illFormedPaths } from './well-formed.ts';

export interface CommandFields {
  'create-quote': CreateQuote;
  'execute-quote': ExecuteQuote;
  'transfer-in': TransferIn;
  'reject-transaction': RejectTransaction;
  'simulate-uma-receive': SimulateUmaReceive;
}

export interface FieldProblem {
  /** Dotted path, such as `source.accountId`; empty for the value as a whole. */
  path: string;
  message: string;
}

export type FieldsResult<Fields> =
  | { ok: true; value: Fields }
  /** The fields, if they can be read and only their content is wrong; else null. */
  | { ok: false; problems: FieldProblem[]; value: Fields | null };

/** Problems reported for one command; a hostile value could have any number. */
const PROBLEMS_MAX = 50;
/** Characters of one problem. Our longest text takes half of them; an expected value may be long. */
const PROBLEM_LENGTH_MAX = 400;

const transferInAccount = z.strictObject({ accountId: requiredText });

const FIELD_SCHEMAS: { [Type in CommandType]: z.ZodType<CommandFields[Type]> } = {
  'create-quote': createQuote,
  'execute-quote': z.strictObject({ quoteId: requiredId, transactionId: optionalId }),
  // The service decides whether an amount is acceptable.
  'transfer-in': z.strictObject({ source: transferInAccount, destination: transferInAccount, amount: optionalInt64 }),
  'reject-transaction': z.strictObject({ transactionId: requiredId, reason: optionalText }),
  'simulate-uma-receive': z
    .strictObject({
      senderUmaAddress: requiredText,
      receivingCurrencyCode: requiredText,
      receivingCurrencyAmount: int64,
      receiverUmaAddress: optionalText,
      customerId: optionalText,
    })
    .refine((command) => Boolean(command.receiverUmaAddress) || Boolean(command.customerId), {
      message: 'is required unless customerId is given',
      path: ['receiverUmaAddress'],
    }),
};

/**
 * Checks decoded fields.
 * @param value a record decoded from Avro, or JSON parsed by parseUnambiguous
 * @returns the fields with defaults applied, int64 as bigint; or every problem by path
 */
export function readCommandFields<Type extends CommandType>(
  type: Type,
  value: unknown,
): FieldsResult<CommandFields[Type]> {
  const read = FIELD_SCHEMAS[type].safeParse(value, { reportInput: true });
  if (!read.success) return { ok: false, problems: shownProblems(allProblems(read.error.issues)), value: null };
  const fields: CommandFields[CommandType] = read.data;
  const problems = 'lockedCurrencySide' in fields ? quoteProblems(fields) : illFormed(illFormedPaths(fields));
  if (problems.length === 0) return { ok: true, value: read.data };
  return { ok: false, problems: shownProblems(problems), value: read.data };
}

/**
 * Not in the zod schema: a rule added by a later release must not make the fields of older ledger entries unreadable,
 * because we recognize copies by those fields.
 */
function quoteProblems(fields: CreateQuote): FieldProblem[] {
  const texts = illFormed([...illFormedPaths(fields), ...illFormedOthers(fields)]);
  if (!isSenderInfoMisplaced(fields)) return texts;
  return [...texts, { path: 'senderCustomerInfo', message: 'is for UMA destinations only: leave it out' }];
}

function illFormed(paths: readonly string[]): FieldProblem[] {
  const message = 'is not Unicode: it contains half of a surrogate pair';
  return paths.map((path) => ({ path, message }));
}

/** A number instead of an object is one problem: zod sees it as an object with a member. */
function allProblems(issues: readonly z.core.$ZodIssue[]): FieldProblem[] {
  const numbers = issues.filter(({ code, input }) => code === 'unrecognized_keys' && isRawNumber(input));
  const misplaced = numbers.map(({ path }) => path.map(String).join('.'));
  return [
    ...misplaced.map((path) => ({ path, message: 'must be an object' })),
    ...issues.flatMap(problemsOf).filter(({ path }) => !misplaced.some((of) => path.startsWith(`${of}.`))),
  ];
}

/** Zod's type names in plain words. */
const EXPECTED_IN_WORDS: Readonly<Partial<Record<string, string>>> = {
  object: 'an object',
  record: 'an object',
  string: 'text',
  boolean: 'true or false',
};

function problemsOf(issue: z.core.$ZodIssue): FieldProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => ({
      path: [...path, name].join('.'),
      message: 'is not a field of this command: leave it out, or correct its name',
    }));
  }
  if (issue.code === 'invalid_type') {
    const expected = EXPECTED_IN_WORDS[issue.expected] ?? issue.expected;
    const message = issue.input === undefined ? `is required: ${expected}` : `must be ${expected}`;
    return [{ path: path.join('.'), message }];
  }
  return [{ path: path.join('.'), message: issue.message }];
}

/** Limits the number and length of problems so that they fit into a result: one command can have thousands. */
function shownProblems(problems: readonly FieldProblem[]): FieldProblem[] {
  const shown = problems
    .slice(0, PROBLEMS_MAX)
    .map(({ path, message }) => ({ path: shownPath(path), message: message.slice(0, PROBLEM_LENGTH_MAX) }));
  const rest = problems.length - shown.length;
  return rest > 0 ? [...shown, { path: '', message: `has ${rest} more problems` }] : shown;
}

/**
 * The fields in canonical form: names sorted, nulls left out, int64 with all digits.
 * The text reads back through parseLossless and readCommandFields to the same fields.
 */
export function canonicalJson(fields: object): string {
  return stringifyLossless(canonical(fields));
}

/** Commands are the same if their fingerprints are: type and canonical content. Never throws for a canonical text. */
export function commandFingerprint(type: CommandType, canonicalText: string): string {
  const compared = type === 'create-quote' ? withParsedOthers(canonicalText) : canonicalText;
  return crypto.hash('sha256', `${type}\n${compared}`, 'base64url');
}

/** `otherFieldsJson` of source and destination is compared by its content, not by its spacing or order. */
function withParsedOthers(canonicalText: string): string {
  if (!canonicalText.includes('"otherFieldsJson"')) return canonicalText;
  const command = parseLossless(canonicalText);
  if (!isJsonObject(command)) return canonicalText;
  for (const side of ['source', 'destination']) {
    const account = command[side];
    if (!isJsonObject(account)) continue;
    const others = account['otherFieldsJson'];
    if (typeof others === 'string') account['otherFieldsJson'] = canonicalOthers(others);
  }
  return stringifyLossless(command);
}

/** The parsed object. If it cannot be parsed, the text itself: the command is INVALID anyway. */
function canonicalOthers(text: string): JsonValue {
  try {
    return canonical(parseUnambiguous(text)) as JsonValue;
  } catch {
    return text;
  }
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value;
  const members = Object.entries(value)
    .filter(([, member]) => member !== null && member !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, member]: [string, unknown]) => [name, canonical(member)]);
  return Object.fromEntries(members) as unknown;
}
