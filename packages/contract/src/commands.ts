/** The command types of the contract, and their names in each place. */

export const COMMAND_TYPES = [
  'create-quote',
  'execute-quote',
  'transfer-in',
  'reject-transaction',
  'simulate-uma-receive',
] as const;
export type CommandType = (typeof COMMAND_TYPES)[number];

/** The Avro record of each command type. */
export const COMMAND_RECORDS = {
  'create-quote': 'CreateQuote',
  'execute-quote': 'ExecuteQuote',
  'transfer-in': 'TransferIn',
  'reject-transaction': 'RejectTransaction',
  'simulate-uma-receive': 'SimulateUmaReceive',
} as const satisfies Record<CommandType, string>;

/** What the service returns for each. */
export const COMMAND_ANSWERS: Readonly<Record<CommandType, 'quote' | 'transaction'>> = {
  'create-quote': 'quote',
  'execute-quote': 'quote',
  'transfer-in': 'transaction',
  'reject-transaction': 'transaction',
  'simulate-uma-receive': 'transaction',
};

interface OutcomeRow {
  /** An operator may retry the command, so its fields are kept. */
  readonly isRetriable: boolean;
  /** An operator should look at it. */
  readonly needsAttention: boolean;
}

/** How a command can end. */
export const OUTCOMES = {
  ACCEPTED: { isRetriable: false, needsAttention: false },
  REFUSED: { isRetriable: false, needsAttention: false },
  INVALID: { isRetriable: true, needsAttention: false },
  EXPIRED: { isRetriable: true, needsAttention: false },
  FAILED: { isRetriable: true, needsAttention: true },
  /** It concerns one message only; the key's entry stays as it is. */
  CONFLICT: { isRetriable: false, needsAttention: false },
  UNKNOWN: { isRetriable: true, needsAttention: true },
} as const satisfies Record<string, OutcomeRow>;
export type Outcome = keyof typeof OUTCOMES;
export const OUTCOME_NAMES = Object.keys(OUTCOMES) as Outcome[];

/** What decided a result. */
export const SETTLED_BY = ['ANSWER', 'LOOKUP', 'OPERATOR', 'PROCESSOR'] as const;
export type SettledBy = (typeof SETTLED_BY)[number];

/** The processor's own codes in a result's `error`, and the outcome of each; all others are the service's. */
export const PROCESSOR_ERROR_CODES = {
  INVALID_COMMAND: 'INVALID',
  UNREADABLE_COMMAND: 'INVALID',
  TOO_OLD: 'EXPIRED',
  SET_ASIDE: 'FAILED',
  KEY_REUSED: 'CONFLICT',
  UNDECIDABLE: 'UNKNOWN',
} as const satisfies Record<string, Outcome>;
export type ProcessorErrorCode = keyof typeof PROCESSOR_ERROR_CODES;

/** Largest value of a command in bytes: many times the need, and small enough for a ledger record. */
export const COMMAND_VALUE_BYTES_MAX = 64 * 1024;
/** Largest headers of a command in bytes, with their names: room for everything that tracing and routing add. */
export const COMMAND_HEADER_BYTES_MAX = 64 * 1024;

export function isCommandType(text: string): text is CommandType {
  return (COMMAND_TYPES as readonly string[]).includes(text);
}
