/** A call that took effect, whose answer was lost, and whose outcome nothing can settle. */
import { expect } from 'vitest';
import { transferInOf } from './commands.ts';
import type { ResultEvent } from './journal.ts';
import type { TestStack } from './with-stack.ts';

/** @returns the result of the transfer-in, which is UNKNOWN */
export async function unknownTransfer(
  stack: Pick<TestStack, 'journal' | 'publisher' | 'service'>,
  key: string,
): Promise<ResultEvent> {
  await stack.service.addFaults({ kind: 'drop-after', operation: 'transfer-in', key, count: 1 });
  await stack.publisher.publish('transfer-in', key, transferInOf(key));
  const result = await stack.journal.result(key);
  expect(result.value).toMatchObject({ outcome: 'UNKNOWN', revision: 1, settledBy: 'PROCESSOR' });
  return result;
}
