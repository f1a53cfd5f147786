/** A result as a test wants it. */
import type { CommandResult } from 'payment-processor-contract/types';

export function resultOf(key: string, given: Partial<CommandResult> = {}): CommandResult {
  return {
    commandKey: key,
    commandType: 'transfer-in',
    commandId: null,
    revision: 1,
    outcome: 'ACCEPTED',
    settledBy: 'ANSWER',
    httpStatus: 201,
    error: null,
    quote: null,
    transaction: null,
    rawResponse: null,
    warnings: [],
    attempts: 1,
    source: { topic: 'commands', partition: 0, offset: 9007199254740993n },
    commandTimestamp: 1_700_000_000_000n,
    completedAt: 1_700_000_000_100n,
    ...given,
  };
}
