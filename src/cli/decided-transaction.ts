/**
 * The transaction that an operator decides a command by, looked at in the service before the decision is published: whether
 * it is there, and whether it is the payment that the command asked for, as far as both say.
 */
import type { PaymentApi } from '../api/payment-api.ts';
import { systemClock } from '../clock.ts';
import { LookUps } from '../lanes/look-ups.ts';
import type { Entry } from '../ledger/entry.ts';
import { keptFields } from '../ledger/kept-fields.ts';
import { quoteIdAmong } from '../records/quote-id.ts';
import type { Transaction } from '../records/types.ts';

/** By how much the service's clock may be behind ours. */
const CLOCK_DIFFERENCE_MS_MAX = 600_000;

export type LookedAt =
  | { kind: 'fits'; transaction: Transaction }
  | { kind: 'differs'; transaction: Transaction; differences: string[] }
  | { kind: 'not-found' }
  | { kind: 'not-looked-at'; reason: string };

/**
 * Pages through the service's list around the command's first call, and for what may be older through the week before.
 * @param api started
 */
export async function lookAtTransaction(
  api: Pick<PaymentApi, 'listTransactions'>,
  transactionId: string,
  entry: Entry,
): Promise<LookedAt> {
  const query = {
    transactionId,
    quoteId: null,
    attempts: entry.attempts,
    firstSentMs: sentMsOf(entry),
    // An operator may have found one that is older than what the processor looks for.
    mayBeOlder: true,
  };
  const { outcome } = await new LookUps(api, systemClock).find(query);
  switch (outcome.kind) {
    case 'not-found':
      return { kind: 'not-found' };
    case 'failed':
      return { kind: 'not-looked-at', reason: outcome.reason };
    case 'found': {
      const { transaction } = outcome;
      const differences = differencesOf(transaction, entry);
      return differences.length === 0 ? { kind: 'fits', transaction } : { kind: 'differs', transaction, differences };
    }
  }
}

/** Where the transaction is not what the command asked for; what either does not say is no difference. */
function differencesOf(transaction: Transaction, entry: Entry): string[] {
  const differences = expectationsOf(entry, transaction)
    .filter(([, asked, found]) => asked !== null && found !== null && asked !== found)
    .map(([what, asked, found]) => `its ${what} is ${String(found)}, and ${String(asked)} was asked for`);
  const isMadeByCall = ['create-quote', 'transfer-in', 'simulate-uma-receive'].includes(entry.commandType);
  const createdMs = Date.parse(transaction.createdAt ?? '');
  if (isMadeByCall && createdMs < sentMsOf(entry) - CLOCK_DIFFERENCE_MS_MAX) {
    differences.push(
      `it was created at ${transaction.createdAt ?? ''}, before the command's first call at ${new Date(sentMsOf(entry)).toISOString()}`,
    );
  }
  return differences;
}

function sentMsOf(entry: Entry): number {
  return entry.firstSentMs ?? entry.origin.timestampMs;
}

/** What is compared: its name, as the command or its quote says it, as the transaction says it. */
type Expectation = readonly [what: string, asked: string | bigint | null, found: string | bigint | null];

function expectationsOf(entry: Entry, transaction: Transaction): Expectation[] {
  const received = transaction.receivedAmount?.amount ?? null;
  const ofQuote: Expectation[] =
    entry.quoted === null
      ? []
      : [
          ['id', entry.quoted.transactionId, transaction.id],
          ['quote', entry.quoted.quoteId, quoteIdAmong(transaction.otherFieldsJson)],
        ];
  switch (entry.commandType) {
    case 'create-quote': {
      const fields = keptFields(entry.commandType, entry);
      if (fields === null) return ofQuote;
      const { source, destination, lockedCurrencySide, lockedCurrencyAmount } = fields;
      return [
        ...ofQuote,
        ...accountsOf(source.accountId, destination.accountId, transaction),
        ['received amount', lockedCurrencySide === 'RECEIVING' ? lockedCurrencyAmount : null, received],
      ];
    }
    case 'execute-quote': {
      const fields = keptFields(entry.commandType, entry);
      if (fields === null) return ofQuote;
      return [
        ['id', fields.transactionId, transaction.id],
        ['quote', fields.quoteId, quoteIdAmong(transaction.otherFieldsJson)],
      ];
    }
    case 'transfer-in': {
      const fields = keptFields(entry.commandType, entry);
      if (fields === null) return ofQuote;
      const { source, destination, amount } = fields;
      return [
        ...accountsOf(source.accountId, destination.accountId, transaction),
        ['received amount', amount, received],
      ];
    }
    case 'reject-transaction': {
      const fields = keptFields(entry.commandType, entry);
      if (fields === null) return ofQuote;
      return [
        ['id', fields.transactionId, transaction.id],
        ['status', 'REJECTED', transaction.status],
      ];
    }
    case 'simulate-uma-receive': {
      const fields = keptFields(entry.commandType, entry);
      if (fields === null) return ofQuote;
      const { receivingCurrencyAmount, customerId } = fields;
      return [
        ['customer', customerId, transaction.customerId],
        ['received amount', receivingCurrencyAmount, received],
      ];
    }
  }
}

function accountsOf(source: string | null, destination: string | null, transaction: Transaction): Expectation[] {
  return [
    ['source', source, transaction.source?.accountId ?? null],
    ['destination', destination, transaction.destination?.accountId ?? null],
  ];
}
