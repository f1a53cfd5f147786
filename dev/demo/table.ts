/** The table of what is published and what arrives, one row at a time, and the shorter tables at the end. Pure text. */
import type { CommandResult, PaymentEvent } from '../../src/client/index.ts';
import type { TopicRecord } from '../../src/consumers/outside/topic-reader.ts';
import type { Currency } from '../../src/records/types.ts';
import { isOk, keyedEffects, type Check } from './expectations.ts';
import type { Arrival } from './journal.ts';
import type { ServiceBooks, ServiceEffects } from './sandbox-control.ts';

export interface Row {
  readonly kind: string;
  /** Key of the command, or shortened id. */
  readonly subject: string;
  readonly state: string;
  readonly note: string;
}

const WIDTHS = { time: 7, kind: 11, subject: 21, state: 24 };
const ID_DIGITS_SHOWN = 6;

export const TABLE_HEAD = line('time', {
  kind: 'what',
  subject: 'key or id',
  state: 'outcome or status',
  note: 'note',
});

/** @param sinceStartMs since the first command */
export function rowText(sinceStartMs: number, row: Row): string {
  return line(`${(sinceStartMs / 1000).toFixed(2)} s`, row);
}

function line(time: string, row: Row): string {
  return [
    time.padStart(WIDTHS.time),
    row.kind.padEnd(WIDTHS.kind),
    row.subject.padEnd(WIDTHS.subject),
    row.state.padEnd(WIDTHS.state),
    row.note,
  ]
    .join('  ')
    .trimEnd();
}

export function rowOf(arrival: Arrival): Row {
  switch (arrival.kind) {
    case 'result':
      return {
        kind: 'result',
        subject: arrival.key,
        state: arrival.value.outcome,
        note: arrival.headers['replayed'] === 'true' ? 'a copy: same event again' : resultNote(arrival.value),
      };
    case 'transaction-status':
      return {
        kind: 'transaction',
        subject: shortened(arrival.value.transactionId),
        state: change(arrival.value),
        note: withKey(arrival.value.commandKey, arrival.value.failureReason ?? ''),
      };
    case 'quote-status':
      return {
        kind: 'quote',
        subject: shortened(arrival.value.quoteId),
        state: change(arrival.value),
        note: withKey(arrival.value.commandKey, ''),
      };
    case 'dead-letter':
      return deadLetterRow(arrival.record);
    case 'unreadable':
      return unreadableRow(arrival);
  }
}

function resultNote(result: CommandResult): string {
  if (result.error !== null) return `${result.error.code}: ${result.error.message}`;
  const settled = result.settledBy === 'ANSWER' ? '' : `, settled by ${result.settledBy}`;
  const { quote, transaction } = result;
  if (quote !== null) {
    const sent = money(quote.totalSendingAmount, quote.sendingCurrency);
    const received = money(quote.totalReceivingAmount, quote.receivingCurrency);
    return `${shortened(quote.id)} ${quote.status ?? ''}: ${sent} for ${received}${settled}`;
  }
  if (transaction === null) return settled.slice(2);
  const amount = money(transaction.receivedAmount?.amount ?? null, transaction.receivedAmount?.currency ?? null);
  return `${shortened(transaction.id)} ${transaction.status ?? ''}: ${amount}${settled}`;
}

function deadLetterRow(record: TopicRecord): Row {
  return {
    kind: 'dead letter',
    subject: record.key?.toString() ?? '(no key)',
    state: record.headers['dlq-reason'] ?? '',
    note: record.headers['dlq-message'] ?? '',
  };
}

function unreadableRow(event: Extract<PaymentEvent, { kind: 'unreadable' }>): Row {
  return { kind: 'unreadable', subject: event.key, state: event.topic, note: event.problem };
}

function change({ previousStatus, status }: { previousStatus: string | null; status: string }): string {
  return `${previousStatus ?? 'new'} -> ${status}`;
}

function withKey(commandKey: string | null, note: string): string {
  return [note, commandKey === null ? 'seen by polling' : `by ${commandKey}`].filter((part) => part !== '').join(', ');
}

/** The type and the last digits: `Quote:…3fa9c1`. */
function shortened(id: string): string {
  const [type = '', local = ''] = id.split(':');
  return local.length > ID_DIGITS_SHOWN ? `${type}:…${local.slice(-ID_DIGITS_SHOWN)}` : id;
}

/** `250.00 USD` for 25000 of a currency with two decimals. */
function money(amount: bigint | null, currency: Currency | null): string {
  if (amount === null) return 'an open amount';
  const decimals = currency?.decimals ?? 0;
  const sign = amount < 0n ? '-' : '';
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const fraction = decimals === 0 ? '' : `.${digits.slice(-decimals)}`;
  return `${sign}${digits.slice(0, digits.length - decimals)}${fraction} ${currency?.code ?? ''}`.trimEnd();
}

/** Balances by currency, in the smallest unit. */
export function booksText(books: ServiceBooks): string[] {
  const byCurrency = books.balances.toSorted(
    (left, right) => left.currency.localeCompare(right.currency) || left.account.localeCompare(right.account),
  );
  const lines = byCurrency.map(
    ({ account, currency, balance }) => `  ${currency.padEnd(5)} ${account.padEnd(32)} ${balance.padStart(12)}`,
  );
  const totals = Object.entries(books.totals).map(
    ([currency, total]) => `  ${currency.padEnd(5)} ${'total'.padEnd(32)} ${total.padStart(12)}`,
  );
  return [...lines, ...totals.sort(), `  ${books.entries} entries, ${books.balanced ? 'balanced' : 'NOT BALANCED'}`];
}

export function effectsText(effects: ServiceEffects): string[] {
  return keyedEffects(effects).map(
    ({ operation, key, calls, effects: count }) =>
      `  ${operation.padEnd(21)} ${key.padEnd(21)} calls ${calls}, effects ${count}`,
  );
}

export function checkText(check: Check): string {
  if (isOk(check)) return `  ok      ${check.title}: ${check.seen}`;
  return `  NOT OK  ${check.title}: expected ${check.expected}; seen: ${check.seen}`;
}
