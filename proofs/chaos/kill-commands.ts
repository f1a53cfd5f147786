/** The commands of a kill run, and the service as slow as kills need it. */
import { seededRandom } from '../../dev/sandbox/faults.ts';
import type { CommandType } from '../../src/records/commands.ts';
import { accountOf, createQuoteOf, executionOf, rejectionOf, transferInOf } from '../../test/support/commands.ts';
import type { Stack } from '../../test/support/stack.ts';

export type KillCommandType = Extract<CommandType, 'transfer-in' | 'execute-quote' | 'reject-transaction'>;

/** A command of the run, and what it moves if it is executed. */
export interface KillCommand {
  type: KillCommandType;
  key: string;
  fields: object;
  /** The quote or the incoming transaction that it is about; the key of a transfer-in. */
  subject: string;
  /** The account whose balance tells whether it took effect, and how often. */
  account: string;
  /** What one effect adds to that account; smallest unit. */
  effectAmount: bigint;
}

const TRANSFER_AMOUNT = 100n;
/** Half of the calls takes effect late, half answers late: kills hit calls on both sides of their effect. */
const CALL_DELAY_MS = 30;

export async function slowCalls(stack: Stack): Promise<void> {
  await stack.service.addFaults(
    { kind: 'delay', delayMs: CALL_DELAY_MS, at: 'before', share: 0.5 },
    { kind: 'delay', delayMs: CALL_DELAY_MS, at: 'after' },
  );
}

/** @param count of each kind: transfers in, executions, rejections */
export async function prepareCommands(stack: Stack, count: number): Promise<KillCommand[]> {
  const commands: KillCommand[] = [];
  for (let index = 0; index < count; index += 1) {
    const transferKey = `transfer-${index}`;
    commands.push({
      type: 'transfer-in',
      key: transferKey,
      fields: transferInOf(transferKey, TRANSFER_AMOUNT),
      subject: transferKey,
      account: accountOf(transferKey),
      effectAmount: TRANSFER_AMOUNT,
    });
    const executeKey = `execute-${index}`;
    const execution = await executionOf(stack, executeKey);
    commands.push({
      type: 'execute-quote',
      key: executeKey,
      fields: execution,
      subject: execution.quoteId,
      account: accountOf(executeKey),
      effectAmount: -BigInt(createQuoteOf(executeKey).lockedCurrencyAmount),
    });
    const rejectKey = `reject-${index}`;
    const rejection = await rejectionOf(stack, rejectKey);
    commands.push({
      type: 'reject-transaction',
      key: rejectKey,
      fields: rejection,
      subject: rejection.transactionId,
      account: '',
      effectAmount: 0n,
    });
  }
  return commands;
}

export function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const random = seededRandom(seed);
  return items
    .map((item) => ({ item, place: random() }))
    .sort((left, right) => left.place - right.place)
    .map(({ item }) => item);
}
