/** Results and status events, as a JSON document with all digits or as a line for an operator. */
import type { PaymentEvent } from '../client/events.ts';
import type { CommandResult } from '../records/types.ts';

/** The document of an event: where it lies, its headers and its value. */
export function eventDocument(event: PaymentEvent): object {
  const { topic, partition, offset, timestampMs, key, id, headers } = event;
  const envelope = { kind: event.kind, topic, partition, offset, timestamp: isoOf(timestampMs), key, id, headers };
  if (event.kind !== 'unreadable') return { ...envelope, value: event.value };
  return { ...envelope, problem: event.problem, valueBase64: event.bytes?.toString('base64') ?? null };
}

/** One line; long identifiers as they are, so that they can be copied. */
export function eventText(event: PaymentEvent): string {
  const at = isoOf(event.timestampMs);
  switch (event.kind) {
    case 'result': {
      const copy = event.headers['replayed'] === 'true' ? '  a copy' : '';
      return `${at}  ${resultText(event.value)}${copy}`;
    }
    case 'transaction-status': {
      const { previousStatus, status, observedBy, failureReason } = event.value;
      const reason = failureReason === null ? '' : `  ${failureReason}`;
      return `${at}  ${event.key}  ${previousStatus ?? '(new)'} -> ${status}${reason}  seen by ${observedBy}`;
    }
    case 'quote-status': {
      const { previousStatus, status, derivedFromTransaction } = event.value;
      const derived = derivedFromTransaction ? '  from its transaction' : '';
      return `${at}  ${event.key}  ${previousStatus ?? '(new)'} -> ${status}${derived}`;
    }
    case 'unreadable':
      return `${at}  cannot be read: ${event.topic}, partition ${event.partition}, offset ${event.offset}: ${event.problem}`;
  }
}

/** What a result says, on one line. */
export function resultText(result: CommandResult): string {
  const { commandKey, commandType, outcome, revision, settledBy, error, quote, transaction, warnings } = result;
  return [
    `${outcome.padEnd(8)}  ${commandType}  ${commandKey}  revision ${revision}, by ${settledBy}`,
    ...(quote === null ? [] : [`${quote.id} ${quote.status ?? ''}`.trim()]),
    ...(transaction === null ? [] : [`${transaction.id} ${transaction.status ?? ''}`.trim()]),
    ...(error === null ? [] : [`${error.code}: ${error.message}`]),
    ...(warnings.length === 0 ? [] : [`${warnings.length} warnings`]),
  ].join('  ');
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
