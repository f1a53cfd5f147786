/**
 * Looks up the transaction that a decision names, before the decision is published: whether it exists, whether it matches the
 * command, and which other transactions match too.
 */
import type { PaymentApi } from '../../../src/api/payment-api.ts';
import { systemClock } from 'payment-processor-contract/clock';
import type { LookUpAnswer } from '../../../src/lanes/calls/look-up-questions.ts';
import { LookUps } from '../../../src/lanes/calls/look-ups.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import type { Entry } from '../../../src/ledger/entry.ts';
import { differencesFrom } from '../../../src/ledger/found-payment.ts';
import { executionFinding, mayHaveTakenEffect, OPERATIONS } from '../../../src/ledger/operations.ts';
import { operationOf } from '../../../src/ledger/settlement.ts';
import type { Transaction } from 'payment-processor-contract/types';
import { currencyAmountText } from './amount-text.ts';
import { isoOf } from './event-output.ts';
import { observedMs, type StatusEvent } from './status-history.ts';
import {
  CLOCK_DIFFERENCE_MS_MAX,
  compared,
  lastEndedMsOf,
  sentMsOf,
  type Comparison,
} from './transaction-comparison.ts';

type Lists = Pick<PaymentApi, 'listTransactions'>;

/** What a check found. */
export interface CheckResult {
  /** Why the decision may be wrong; null: nothing was found against it. */
  readonly doubt: string | null;
  /** The compared fields. */
  readonly notes: readonly string[];
}

export interface CheckedTransaction extends CheckResult {
  /** As the service shows it; null: not found. */
  readonly transaction: Transaction | null;
}

/** Published status changes of the command's transaction or quote. */
export interface PublishedChanges {
  readonly events: readonly StatusEvent[];
  /** Sentences about changes that could not be read. */
  readonly unread: readonly string[];
}

/** How long after its last call a command's transaction may be created; look-ups cover the same time. */
export const LATE_MS_MAX = 3_600_000;
const PAGE_LIMIT = 100;
/** Limit of pages: 10,000 transactions. */
const PAGES_MAX = 100;
const SHOWN_MAX = 10;

/**
 * Compares the transaction with the command. If it fits, but the command does not name it, looks for others that fit
 * too. The look-up covers the service's list from a week before the command's first call to an hour after its last.
 * @param api started
 */
export async function checkTransaction(api: Lists, transactionId: string, entry: Entry): Promise<CheckedTransaction> {
  const { outcome } = await lookUpInService(api, transactionId, entry);
  if (outcome.kind === 'failed') return uncheckedTransaction(transactionId, outcome.reason);
  if (outcome.kind === 'not-found') return unlistedTransaction(transactionId);
  const { transaction } = outcome;
  const comparison = compared(transaction, entry);
  const { agreeing, differing, isAlike, open } = comparison;
  const isNamed = agreeing.includes('id') || agreeing.includes('quote');
  // If the command names its transaction, or the transaction differs, no search for others is needed.
  const others =
    isNamed || differing.length > 0
      ? { doubts: [], notes: [] }
      : await otherMatches(api, transaction, comparison, entry);
  const another = `transaction ${transactionId} does not show what the command requested: ${differing.join('; ')}`;
  const nothing = `no field of transaction ${transactionId} can be compared with the command`;
  const doubts = [...(differing.length > 0 ? [another] : isAlike ? [] : [nothing]), ...others.doubts];
  const notes = [
    `transaction ${transactionId} exists; these fields match the command: ${agreeing.join(', ') || 'none'}`,
    ...(open.length === 0 ? [] : [`not compared: ${open.join(', ')}`]),
    ...others.notes,
  ];
  return { doubt: doubts.length === 0 ? null : doubts.join('; '), notes, transaction };
}

/**
 * For the decision NOT_EXECUTED on a command that names its transaction: checks whether the transaction proves it.
 */
export async function lookForEffect(api: Lists, transactionId: string, entry: Entry): Promise<CheckResult> {
  const { outcome } = await lookUpInService(api, transactionId, entry);
  switch (outcome.kind) {
    case 'failed':
      return uncheckedTransaction(transactionId, outcome.reason);
    case 'not-found':
      return unlistedTransaction(transactionId);
    case 'found': {
      const { transaction } = outcome;
      const differences = differencesFrom(entry, transaction).join(', ');
      if (differences !== '') {
        const another = `transaction ${transactionId} is of another payment: it differs in ${differences}`;
        return { doubt: `${another}, and proves nothing about the command`, notes: [] };
      }
      const { lookUp } = OPERATIONS[operationOf(entry)];
      const finding = lookUp?.finding(transaction);
      const seen = `transaction ${transactionId} is ${transaction.status ?? 'listed without a status'}`;
      if (finding === 'EXECUTED') return { doubt: `${seen}: this command, or another one, took effect`, notes: [] };
      // A quote that expired during its execution may leave its transaction PENDING.
      const isProof = finding === 'REFUSED' || (finding === 'NOT_YET' && lookUp?.type === 'INCOMING');
      if (!isProof) return { doubt: `${seen}: that does not prove that the command took no effect`, notes: [] };
      return { doubt: null, notes: [seen] };
    }
  }
}

/** For NOT_EXECUTED: whether a published status of the transaction shows that the command took effect, whatever it shows today. */
export function lookForPublishedEffect(
  transactionId: string | null,
  entry: Entry,
  { events, unread }: PublishedChanges,
): CheckResult {
  const findingOf = OPERATIONS[operationOf(entry)].lookUp?.finding;
  const changes = events.flatMap((event) =>
    event.kind === 'transaction-status' && event.key === transactionId ? [event] : [],
  );
  const findings = changes.map(({ value }) => findingOf?.(value) ?? 'NOT_YET');
  const now = findings.includes('REFUSED') ? 'REFUSED' : 'NOT_YET';
  const shown = changes.find(
    ({ value }, place) =>
      executionFinding(value) === 'EXECUTED' && mayHaveTakenEffect(findings[place] ?? 'NOT_YET', now),
  );
  if (shown !== undefined) {
    const seen = `transaction ${shown.key} was ${shown.value.status} at ${isoOf(observedMs(shown))}`;
    return { doubt: `${seen}: the command may have taken effect`, notes: [] };
  }
  if (unread.length === 0) return { doubt: null, notes: [] };
  const whose = transactionId === null ? "the command's quote" : `transaction ${transactionId}`;
  return { doubt: `the status changes of ${whose} were not all read (${unread.join('; ')})`, notes: [] };
}

/** The transaction may be older than the search covers, so its absence proves nothing. */
function unlistedTransaction(transactionId: string): CheckedTransaction {
  const doubt = `the payment service does not list a transaction ${transactionId} between a week before the command's first call and an hour after its last`;
  return { doubt, notes: [], transaction: null };
}

export function uncheckedTransaction(transactionId: string, reason: string): CheckedTransaction & { doubt: string } {
  const doubt = `transaction ${transactionId} could not be checked in the payment service (${reason})`;
  return { doubt, notes: [], transaction: null };
}

/**
 * Any call may have made the transaction. A look-up covers an hour before and after its time, so the steps are two
 * hours.
 */
async function lookUpInService(api: Lists, transactionId: string, entry: Entry): Promise<LookUpAnswer> {
  const lookUps = new LookUps(api, systemClock);
  const firstMs = sentMsOf(entry);
  for (let aboutMs = firstMs; ; aboutMs += 2 * LATE_MS_MAX) {
    const answer = await lookUps.find({
      transactionId,
      quoteId: null,
      attempts: entry.attempts,
      createdMs: aboutMs,
      // An operator may have found a transaction older than the processor's search range.
      mayBeOlder: aboutMs === firstMs,
    });
    if (answer.outcome.kind !== 'not-found' || aboutMs >= lastEndedMsOf(entry)) return answer;
  }
}

/** The side whose customer the service lists: the payer of an outgoing transaction, the recipient of an incoming one. */
const CUSTOMERS_SIDE: Partial<Record<CommandType, string>> = {
  'create-quote': 'source',
  'transfer-in': 'destination',
  'simulate-uma-receive': 'customer',
};

interface Others {
  readonly doubts: readonly string[];
  readonly notes: readonly string[];
}

/** Other transactions from the time of the command's calls that fit the command: a field agrees and none differs. */
async function otherMatches(
  api: Lists,
  { customerId, id }: Transaction,
  { agreeing }: Comparison,
  entry: Entry,
): Promise<Others> {
  const sentMs = sentMsOf(entry);
  const isCustomers = customerId !== null && agreeing.includes(CUSTOMERS_SIDE[entry.commandType] ?? 'none');
  const filter = {
    startDate: new Date(Math.max(0, sentMs - CLOCK_DIFFERENCE_MS_MAX)).toISOString(),
    endDate: new Date(lastEndedMsOf(entry) + LATE_MS_MAX).toISOString(),
    ...(isCustomers ? { customerId } : {}),
    limit: PAGE_LIMIT,
  };
  const notKnown = (reason: string): Others => {
    return { doubts: [`it is not known whether other transactions match the command (${reason})`], notes: [] };
  };
  const seen = new Set([id]);
  const fitting: Transaction[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await api.listTransactions({ ...filter, ...(cursor === null ? {} : { cursor }) });
    if (page.kind === 'failed') return notKnown(page.reason);
    // An omitted or unreadable transaction may fit; without `hasMore` there may be another page.
    if (page.warnings.length > 0) return notKnown(`the service's list is incomplete: ${page.warnings.join('; ')}`);
    const others = page.data.filter((other) => !seen.has(other.id));
    for (const other of others) seen.add(other.id);
    fitting.push(...others.filter((other) => fits(compared(other, entry))));
    if (!page.hasMore) return othersInWords(fitting, seen.size - 1, isCustomers);
    cursor = page.nextCursor;
    if (cursor === null) return notKnown('the service gives no cursor for its next page');
  }
  return notKnown(`the service lists more than ${PAGES_MAX * PAGE_LIMIT} transactions`);
}

export function fits({ differing, isAlike }: Comparison): boolean {
  return differing.length === 0 && isAlike;
}

function othersInWords(fitting: readonly Transaction[], count: number, isCustomers: boolean): Others {
  const whose = isCustomers ? ' of its customer' : '';
  const notes = [
    `other transactions${whose} from the time of the command's calls: ${count}; ${fitting.length} of them match`,
  ];
  if (fitting.length === 0) return { doubts: [], notes };
  const more = fitting.length - SHOWN_MAX;
  const shown = [...fitting.slice(0, SHOWN_MAX).map(shownTransaction), ...(more > 0 ? [`${more} more`] : [])];
  return { doubts: [`other transactions match the command: ${shown.join(', ')}`], notes };
}

function shownTransaction({ createdAt, id, receivedAmount, status }: Transaction): string {
  const facts = [status, currencyAmountText(receivedAmount), createdAt].filter((fact) => fact !== null);
  return `${id} (${facts.join(', ')})`;
}
