/** Results and status events, as a JSON document with all digits or as a line for an operator. */
import type { PaymentEvent } from 'payment-processor-client/internal/events';
import type { ClientNotice } from 'payment-processor-client/internal/notices';
import type { CommandResult, Quote, Transaction } from 'payment-processor-contract/types';
import { amountText, currencyAmountText } from './amount-text.ts';
import { maskedText } from './masking.ts';
import type { Output } from './output.ts';

/** The document of an event: its place, headers and value. */
export function eventDocument(event: PaymentEvent): object {
  const { topic, partition, offset, timestampMs, key, id, headers } = event;
  const envelope = { kind: event.kind, topic, partition, offset, timestamp: isoOf(timestampMs), key, id, headers };
  if (event.kind !== 'unreadable') return { ...envelope, value: event.value };
  return { ...envelope, problem: event.problem, valueBase64: event.bytes?.toString('base64') ?? null };
}

/** One line, with full identifiers, so that they can be copied. */
export function eventText(event: PaymentEvent): string {
  const at = isoOf(event.timestampMs);
  switch (event.kind) {
    case 'result': {
      const copy = event.headers['replayed'] === 'true' ? '  a copy' : '';
      return `${at}  ${resultText(event.value)}${copy}`;
    }
    case 'transaction-status':
    case 'quote-status':
      return `${at}  ${event.key}  ${statusChangeText(event)}`;
    case 'unreadable':
      return `${at}  ${unreadableText(event)}`;
  }
}

export function unreadableText(record: RecordPlace & { readonly problem: string }): string {
  return `cannot be read: ${record.problem}  (${placeText(record)})`;
}

interface RecordPlace {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

export function placeText({ offset, partition, topic }: RecordPlace): string {
  return `${topic}, partition ${partition}, offset ${offset}`;
}

/** Previous and new status, the reason, and the observer. */
export function statusChangeText(
  event: Extract<PaymentEvent, { kind: 'transaction-status' | 'quote-status' }>,
): string {
  const { previousStatus, status } = event.value;
  const change = `${previousStatus ?? '(new)'} -> ${status}`;
  if (event.kind === 'quote-status')
    return `${change}${event.value.derivedFromTransaction ? '  from its transaction' : ''}`;
  const { failureReason, observedBy } = event.value;
  return `${change}${failureReason === null ? '' : `  ${failureReason}`}  seen by ${observedBy}`;
}

/** A result on one line. */
export function resultText(result: CommandResult): string {
  const { commandKey, commandType, outcome, revision, settledBy, error, quote, transaction, warnings } = result;
  return [
    `${outcome.padEnd(8)}  ${commandType}  ${commandKey}  revision ${revision}, by ${settledBy}`,
    ...(quote === null ? [] : [quoteText(quote)]),
    ...(transaction === null ? [] : [transactionText(transaction)]),
    ...(error === null ? [] : [`${error.code}: ${maskedText(error.message)}`]),
    ...(warnings.length === 0 ? [] : [`${warnings.length} warnings`]),
  ].join('  ');
}

function quoteText({
  id,
  receivingCurrency,
  sendingCurrency,
  status,
  totalReceivingAmount,
  totalSendingAmount,
}: Quote): string {
  const sent = amountText(totalSendingAmount, sendingCurrency);
  const received = amountText(totalReceivingAmount, receivingCurrency);
  const amounts = [sent, received].filter((text) => text !== null).join(' -> ');
  return [id, status ?? '', amounts].filter((text) => text !== '').join(' ');
}

function transactionText({ id, receivedAmount, status }: Transaction): string {
  return [id, status ?? '', currencyAmountText(receivedAmount) ?? ''].filter((text) => text !== '').join(' ');
}

/** Reports a registry or brokers that do not answer: silence would look like no events. */
export function outageNotes(output: Output): (notice: ClientNotice) => void {
  return (notice) => {
    if (notice.kind === 'registry-outage') output.note(`waiting for the schema registry: ${notice.problem}`);
    if (notice.kind === 'kafka-outage') output.note(`waiting for Kafka: ${notice.problem}`);
  };
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
