/** The command types of the contract, and what each is called where. */

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

export type Outcome = 'ACCEPTED' | 'REFUSED' | 'INVALID' | 'EXPIRED' | 'FAILED' | 'CONFLICT' | 'UNKNOWN';
export type SettledBy = 'ANSWER' | 'LOOKUP' | 'OPERATOR' | 'PROCESSOR';

/** Largest value of a command, bytes: many times what one needs, and room for it in a ledger record. */
export const COMMAND_VALUE_BYTES_MAX = 64 * 1024;

export function isCommandType(text: string): text is CommandType {
  return (COMMAND_TYPES as readonly string[]).includes(text);
}
