/**
 * Compares the transactions and quotes that look-ups and answers show with the entry that they should belong to. Pure.
 */
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import type { Quote, Transaction } from 'payment-processor-contract/types';
import type { Entry, Quoted } from './entry.ts';
import { keptFields } from './kept-fields.ts';
import { OPERATIONS } from './operations.ts';
import { operationOf } from './settlement.ts';

/** @returns names of the fields that differ; none: no field contradicts it */
export function differencesFrom(entry: Entry, transaction: Transaction): string[] {
  const lookUp = OPERATIONS[operationOf(entry)].lookUp;
  const { quoted } = entry;
  const { receivedAmount } = transaction;
  // No payment has the amount 0: it is not known yet.
  const shownAmount = receivedAmount?.amount === 0n ? null : (receivedAmount?.amount?.toString() ?? null);
  return differing([
    ['type', lookUp?.type, transaction.type],
    ['quote', quoted?.quoteId ?? lookUp?.subject(entry)?.quoteId, quoteIdAmong(transaction.otherFieldsJson)],
    ['source account', quoted?.sourceAccountId, transaction.source?.accountId],
    ['destination account', quoted?.destinationAccountId, transaction.destination?.accountId],
    ['received amount', quoted?.receivingAmount, shownAmount],
    ['received currency', quoted?.receivingCurrencyCode, receivedAmount?.currency?.code],
  ]);
}

/** @returns which id in the answer contradicts the subject of the call; null: none does */
export function mismatchedSubject(
  entry: Entry,
  { quote, transaction }: { quote: Quote | null; transaction: Transaction | null },
): 'quote' | 'transaction' | null {
  const lookUp = OPERATIONS[operationOf(entry)].lookUp;
  const asked = entry.quoted ?? lookUp?.subject(entry) ?? null;
  if (lookUp === null || asked === null) return null;
  if (quote !== null && asked.quoteId !== null && quote.id !== asked.quoteId) return 'quote';
  return transaction !== null && transaction.id !== asked.transactionId ? 'transaction' : null;
}

/** @returns warnings about fields that differ between the answer and the command */
export function mismatchWarnings(
  entry: Entry,
  { quote, transaction }: { quote: Quote | null; transaction: Transaction | null },
): string[] {
  const transfer = entry.commandType === 'transfer-in' ? keptFields('transfer-in', entry) : null;
  const fields = transfer ?? (entry.commandType === 'create-quote' ? keptFields('create-quote', entry) : null);
  const shown = transaction ?? quote;
  const asked = entry.quoted ?? OPERATIONS[operationOf(entry)].lookUp?.subject(entry);
  const differences = differing([
    ['source account', fields?.source.accountId, shown?.source?.accountId],
    ['destination account', fields?.destination.accountId, shown?.destination?.accountId],
    ['amount', transfer?.amount?.toString(), transaction?.receivedAmount?.amount?.toString()],
    ['transaction', asked?.transactionId, quote?.transactionId],
  ]);
  return differences.map((name) => `the answer's ${name} differs from the command's`);
}

type Shown = string | null | undefined;

/** An empty text shows nothing. */
function differing(pairs: readonly [name: string, expected: Shown, shown: Shown][]): string[] {
  return pairs
    .filter(([, expected, shown]) => expected != null && shown != null && shown !== '' && expected !== shown)
    .map(([name]) => name);
}

/** The data of a two-step quote that its execution and look-ups need. */
export function quotedOf(entry: Entry, quote: Quote & { transactionId: string }, nowMs: number): Quoted {
  const fields = keptFields('create-quote', entry);
  const lockedReceiving = fields?.lockedCurrencySide === 'RECEIVING' ? fields.lockedCurrencyAmount : null;
  const expiresAtMs = quote.expiresAt === null ? NaN : Date.parse(quote.expiresAt);
  return {
    quoteId: quote.id,
    transactionId: quote.transactionId,
    customerId: quote.source?.customerId ?? null,
    expiresAtMs: Number.isNaN(expiresAtMs) ? null : expiresAtMs,
    receivedMs: nowMs,
    sourceAccountId: quote.source?.accountId ?? fields?.source.accountId ?? null,
    destinationAccountId: quote.destination?.accountId ?? fields?.destination.accountId ?? null,
    receivingAmount: (quote.totalReceivingAmount ?? lockedReceiving)?.toString() ?? null,
    receivingCurrencyCode: quote.receivingCurrency?.code ?? null,
  };
}
