/** What a result holds of a transaction that a look-up found. */
import { expect, test } from 'vitest';
import { executedResult, foundRefusedResult } from '../../src/ledger/result-record.ts';
import { aTransaction, entryAt } from './entries.ts';

test('a listed transaction may be longer than any record: what its status needs is kept, and a warning says so', () => {
  const entry = entryAt('execute-quote');
  const warning = 'transaction: it has more than 524288 characters; only its short texts are kept';
  for (const description of ['x'.repeat(5_000_000), 'short']) {
    const transaction = aTransaction({ status: 'COMPLETED', description });
    const short = description.length > 10;
    const kept = short ? { id: transaction.id, status: 'COMPLETED', description: null } : transaction;
    for (const result of [executedResult(entry, transaction, 'LOOKUP', 0), foundRefusedResult(entry, transaction, 0)])
      expect(result).toMatchObject({ transaction: kept, warnings: short ? [warning] : [] });
  }
});

test('a status or failure reason, however long, is a short one in an error', () => {
  const transaction = aTransaction({ status: 'S'.repeat(5_000_000), failureReason: 'R'.repeat(5_000_000) });
  const { error } = foundRefusedResult(entryAt('execute-quote'), transaction, 0);
  expect(error?.code).toBe('R'.repeat(200));
  expect(error?.message.length).toBeLessThan(300);
});
