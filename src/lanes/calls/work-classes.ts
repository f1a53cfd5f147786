/**
 * Classes of work share the call slots and the rate. Each class has a guaranteed share; the others get what it
 * does not use.
 *
 *   execution           executes a quote before it expires, while somebody waits; or rejects an incoming payment
 *   transfer            pulls money in; comes in large numbers
 *   quote-to-execute    first half of a two-step quote: its execution must follow before the quote expires
 *   other               plain quotes, simulated payments
 */
import type { Entry } from '../../ledger/entry.ts';
import { operationOf } from '../../ledger/settlement.ts';

export type WorkClass = 'execution' | 'transfer' | 'quote-to-execute' | 'other';

/** Of ten. Executions get no less than the quotes that become executions. */
export const SHARES: Readonly<Record<WorkClass, number>> = {
  execution: 3,
  transfer: 3,
  'quote-to-execute': 2,
  other: 2,
};

/** The class of the entry's next or present call. */
export function workClassOf(entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>): WorkClass {
  const operation = operationOf(entry);
  switch (operation) {
    case 'execute-quote':
    case 'reject-transaction':
      return 'execution';
    case 'transfer-in':
      return 'transfer';
    case 'create-quote':
      if (entry.step === 'CREATE') return 'quote-to-execute';
      return entry.immediate ? 'execution' : 'other';
    case 'simulate-uma-receive':
      return 'other';
  }
}
