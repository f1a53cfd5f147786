/**
 * Checks invariant I4 against the service's own history, and measures how late each event was. Per transaction and per
 * quote, events report real changes only, numbered without a gap, up to the final status. That each comes once and in order:
 * status-judgement.ts.
 */
import { eventId, eventIdNames } from 'payment-processor-contract/cloud-events';
import type { QuoteEvent, TransactionEvent } from '../../test/support/journal.ts';
import type { StatusChange } from '../../test/support/sandbox-control.ts';
import type { LivesEvidence } from './lives.ts';

export interface StatusEvidence extends Pick<LivesEvidence, 'topicPrefix' | 'histories'> {
  readonly transactionEvents: readonly TransactionEvent[];
  readonly quoteEvents: readonly QuoteEvent[];
}

/** One change at the service that an event reported. */
export interface ToldChange {
  transactionId: string;
  status: string;
  /** At the service, on its clock. */
  atMs: number;
  /** From the change until its event was written. */
  delayMs: number;
  observedBy: string;
  /** Whether it is the first reported change of the transaction. */
  isFirst: boolean;
}

export interface StatusJudgement {
  /** Problems, in words. */
  wrong: string[];
  told: ToldChange[];
  /** How long statuses without an event lasted: the next status came before they were seen. */
  skippedLastedMs: number[];
  changes: number;
  quoteChanges: number;
  quoteSkipped: number;
  /** Transactions by every status and failure reason that occurred. */
  statuses: Record<string, number>;
  failureReasons: Record<string, number>;
}

interface TellingEvent {
  readonly key: string;
  readonly id: string | null;
  readonly timestampMs: number;
  readonly status: string;
  /** The service's time of the change, if the event has it. */
  readonly changedMs: number | null;
  readonly observedBy: string;
}

export function judgeStatusHistory(evidence: StatusEvidence): StatusJudgement {
  const { histories, quoteEvents, topicPrefix, transactionEvents } = evidence;
  const judgement: StatusJudgement = {
    wrong: [],
    told: [],
    skippedLastedMs: [],
    changes: 0,
    quoteChanges: 0,
    quoteSkipped: 0,
    statuses: {},
    failureReasons: {},
  };
  const ofTransactions = Map.groupBy(transactionEvents.map(tellingTransaction), ({ key }) => key);
  const ofQuotes = Map.groupBy(quoteEvents.map(tellingQuote), ({ key }) => key);
  for (const { failureReason, history, id, quote } of histories) {
    const nameOf = (change: number): string => eventIdNames.transactionStatus(topicPrefix, id, change);
    const compared = compare(id, history, ofTransactions.get(id) ?? [], nameOf, judgement);
    ofTransactions.delete(id);
    judgement.told.push(...compared.told.map((told) => ({ ...told, transactionId: id })));
    judgement.skippedLastedMs.push(...compared.skippedLastedMs);
    judgement.changes += history.length;
    for (const { status } of history) count(judgement.statuses, status);
    if (failureReason !== null) count(judgement.failureReasons, failureReason);
    if (quote === null) continue;
    const quoteNameOf = (change: number): string => eventIdNames.quoteStatus(topicPrefix, quote.id, change);
    const comparedQuote = compare(quote.id, quote.history, ofQuotes.get(quote.id) ?? [], quoteNameOf, judgement);
    ofQuotes.delete(quote.id);
    judgement.quoteChanges += quote.history.length;
    judgement.quoteSkipped += comparedQuote.skippedLastedMs.length;
  }
  for (const key of [...ofTransactions.keys(), ...ofQuotes.keys()]) {
    judgement.wrong.push(`${key}: events of what the service does not have`);
  }
  return judgement;
}

function compare(
  key: string,
  history: readonly StatusChange[],
  events: readonly TellingEvent[],
  nameOf: (change: number) => string,
  judgement: StatusJudgement,
): { told: Omit<ToldChange, 'transactionId'>[]; skippedLastedMs: number[] } {
  const told: Omit<ToldChange, 'transactionId'>[] = [];
  const skippedLastedMs: number[] = [];
  let next = 0;
  for (const [index, { changedMs, id, observedBy, status, timestampMs }] of events.entries()) {
    if (id !== eventId(nameOf(index + 1)))
      judgement.wrong.push(`${key}: event ${index + 1} (${status}) has the id of another change`);
    const place = history.findIndex((change, at) => at >= next && change.status === status);
    const change = history[place];
    if (change === undefined) {
      judgement.wrong.push(`${key}: ${status} is told as change ${index + 1}; really ${wordsOf(history)}`);
      continue;
    }
    const endedMs = history[place + 1]?.atMs ?? Infinity;
    if (changedMs !== null && (changedMs < change.atMs || changedMs > endedMs))
      judgement.wrong.push(`${key}: ${status} is told with an instant at which it was not so`);
    for (let skipped = next; skipped < place; skipped += 1) skippedLastedMs.push(lastedMs(history, skipped));
    next = place + 1;
    told.push({ status, atMs: change.atMs, delayMs: timestampMs - change.atMs, observedBy, isFirst: index === 0 });
  }
  const last = events.at(-1)?.status ?? 'nothing';
  if (last !== history.at(-1)?.status) judgement.wrong.push(`${key}: ${last} is told last; really ${wordsOf(history)}`);
  return { told, skippedLastedMs };
}

function lastedMs(history: readonly StatusChange[], place: number): number {
  return (history[place + 1]?.atMs ?? Infinity) - (history[place]?.atMs ?? 0);
}

function wordsOf(history: readonly StatusChange[]): string {
  return history.map(({ status }) => status).join(', ');
}

function tellingTransaction({ id, key, timestampMs, value }: TransactionEvent): TellingEvent {
  const { changedAt, observedBy, status } = value;
  return { key, id, timestampMs, status, changedMs: changedAt === null ? null : Date.parse(changedAt), observedBy };
}

function tellingQuote({ id, key, timestampMs, value }: QuoteEvent): TellingEvent {
  // The event does not say who saw it.
  return { key, id, timestampMs, status: value.status, changedMs: null, observedBy: 'either' };
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
