/** The table of what is published and what arrives, one row at a time. Pure text. */
import type { CommandResult } from 'payment-processor-client';
import { amountText, currencyAmountText } from 'payment-processor-cli/amount-text';
import { changeText } from './checks.ts';
import type { JournalEntry } from './journal.ts';

type Row = readonly [kind: string, subject: string, state: string, note: string];

const ID_DIGITS_SHOWN = 6;
const OPEN_AMOUNT = 'an open amount';

export const TABLE_HEAD = line('time', ['what', 'key or id', 'outcome or status', 'note']);

/** @param sinceStartMs since the story began */
export function rowText(sinceStartMs: number, entry: JournalEntry): string {
  return line(`${(sinceStartMs / 1000).toFixed(2)} s`, rowOf(entry));
}

function line(time: string, [kind, subject, state, note]: Row): string {
  return [time.padStart(7), kind.padEnd(11), subject.padEnd(21), state.padEnd(24), note].join('  ').trimEnd();
}

function rowOf(entry: JournalEntry): Row {
  switch (entry.kind) {
    case 'command':
      return ['command', entry.key, entry.type, entry.note];
    case 'result':
      return ['result', entry.key, entry.value.outcome, resultNote(entry.value, entry.headers['replayed'] === 'true')];
    case 'transaction-status':
      return ['transaction', shortened(entry.key), changeText(entry.value), changeNote(entry.value)];
    case 'quote-status':
      return ['quote', shortened(entry.key), changeText(entry.value), changeNote(entry.value)];
    case 'dead-letter':
      return ['dead letter', entry.key, entry.headers['dlq-reason'] ?? '', entry.headers['dlq-message'] ?? ''];
    case 'unreadable':
      return ['unreadable', entry.key, entry.topic, entry.problem];
  }
}

function resultNote({ error, quote, transaction, settledBy }: CommandResult, isCopy: boolean): string {
  if (isCopy) return 'a copy: same event again';
  if (error !== null) return `${error.code}: ${error.message}`;
  const notes: string[] = [];
  if (quote !== null) {
    const sent = amountText(quote.totalSendingAmount, quote.sendingCurrency) ?? OPEN_AMOUNT;
    const received = amountText(quote.totalReceivingAmount, quote.receivingCurrency) ?? OPEN_AMOUNT;
    notes.push(`${shortened(quote.id)} ${quote.status ?? ''}: ${sent} for ${received}`);
  } else if (transaction !== null) {
    const received = currencyAmountText(transaction.receivedAmount) ?? OPEN_AMOUNT;
    notes.push(`${shortened(transaction.id)} ${transaction.status ?? ''}: ${received}`);
  }
  if (settledBy !== 'ANSWER') notes.push(`settled by ${settledBy}`);
  return notes.join(', ');
}

function changeNote(change: { commandKey: string | null; failureReason?: string | null; observedBy?: string }): string {
  return [
    ...(change.failureReason == null ? [] : [change.failureReason]),
    ...(change.commandKey === null ? [] : [`by ${change.commandKey}`]),
    ...(change.observedBy === 'POLL' ? ['seen by polling'] : []),
  ].join(', ');
}

/** The type and the last digits: `Quote:…3fa9c1`. */
function shortened(id: string): string {
  const [type = '', local = ''] = id.split(':');
  return local.length > ID_DIGITS_SHOWN ? `${type}:…${local.slice(-ID_DIGITS_SHOWN)}` : id;
}
