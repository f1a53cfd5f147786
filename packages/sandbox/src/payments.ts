/**
 * How money moves over time: the plan of a payment, step by step, and its entries in the books.
 *
 *   outgoing  CREATED -> PENDING -> (execution) PROCESSING -> SENT -> COMPLETED | REJECTED | FAILED
 *             PROCESSING, PENDING (a timeout) -> FAILED; COMPLETED, FAILED -> REFUNDED
 *             CREATED, PENDING -> EXPIRED at the quote's expiresAt
 *   incoming  CREATED -> PENDING -> COMPLETED | REJECTED | FAILED; COMPLETED -> REFUNDED
 *
 * An executed or incoming payment first takes its amount into `transit`; from there it is delivered or returned.
 */
import { reversed } from './books.ts';
import { linesOf, takeLines, type Movement } from './payment-lines.ts';
import type { FailureReason } from './scenarios.ts';
import {
  nameOfParty,
  type Quote,
  type QuoteStatus,
  type Transaction,
  type TransactionStatus,
  type World,
} from './state.ts';

interface Step {
  status: TransactionStatus;
  /** After the previous step. */
  afterMs: number;
  failureReason?: FailureReason;
  movement?: Movement;
}

/** Share of the settling time before the cross-border settlement begins. */
const SHARE_BEFORE_SENT = 0.4;
/** In the slow scenario each status lasts this many times longer than usual. */
const SLOW_FACTOR = 6;
/** A payment that times out stays PENDING for this multiple of the usual time. */
const TIME_OUT_FACTOR = 3;

/** The fields in which new transactions differ. */
export type NewTransaction = Pick<
  Transaction,
  'type' | 'scenario' | 'source' | 'destination' | 'customerId' | 'platformCustomerId' | 'sent' | 'received'
> &
  Partial<Pick<Transaction, 'price' | 'quoteId' | 'description' | 'counterpartyInformation' | 'receiverIdentifiers'>>;

/** Records a new transaction: PENDING, or CREATED in the slow scenario. */
export function addTransaction(world: World, fields: NewTransaction, nowMs: number): Transaction {
  const id = world.identifiers.next('Transaction', nowMs);
  const status = fields.scenario.kind === 'slow' ? 'CREATED' : 'PENDING';
  const transaction: Transaction = {
    senderIdentifiers: [nameOfParty(fields.source)],
    receiverIdentifiers: [nameOfParty(fields.destination)],
    price: null,
    quoteId: null,
    description: null,
    counterpartyInformation: null,
    ...fields,
    id,
    position: world.timeline.length,
    status,
    history: [{ status, atMs: nowMs }],
    reference: `REF-${world.timeline.length.toString(36).toUpperCase().padStart(6, '0')}`,
    failureReason: null,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    settledAtMs: null,
    plan: 0,
  };
  world.transactions.set(id, transaction);
  world.timeline.push(transaction);
  return transaction;
}

/** For a new quote: its transaction becomes PENDING, and both expire unless executed first. */
export function awaitExecution(world: World, quote: Quote): void {
  const { createdAtMs, expiresAtMs, transaction } = quote;
  if (transaction.status === 'CREATED') {
    const afterMs = world.settings.settleMs * SLOW_FACTOR;
    follow(world, transaction, [{ status: 'PENDING', afterMs }], createdAtMs);
  }
  world.scheduler.at(expiresAtMs, (dueMs) => {
    if (quote.status === 'PENDING') abandonPlan(world, transaction, 'EXPIRED', dueMs);
  });
}

/** Executes a PENDING quote: takes the money and starts the transaction's plan. */
export function executeQuote(world: World, quote: Quote, nowMs: number): void {
  const { transaction } = quote;
  setQuoteStatus(quote, 'PROCESSING', nowMs);
  abandonPlan(world, transaction, transaction.scenario.kind === 'times-out' ? 'PENDING' : 'PROCESSING', nowMs);
  world.books.post(`the execution of ${quote.id}`, takeLines(transaction));
  follow(world, transaction, planOf(transaction, world.settings.settleMs, world.settings.settleMs), nowMs);
}

/**
 * A new incoming payment: takes the money from the sender, and completes after `waitMs` unless its scenario differs.
 */
export function receive(world: World, transaction: Transaction, waitMs: number): void {
  world.books.post(`the arrival of ${transaction.id}`, takeLines(transaction));
  follow(world, transaction, planOf(transaction, waitMs, world.settings.settleMs), transaction.createdAtMs);
}

/** Rejects an incoming payment that is PENDING: the money goes back. */
export function rejectIncoming(world: World, transaction: Transaction, nowMs: number): void {
  abandonPlan(world, transaction, 'REJECTED', nowMs);
  world.books.post(`the rejection of ${transaction.id}`, reversed(takeLines(transaction)));
}

/** @param usualMs from the execution or the arrival to completion, if nothing goes wrong */
function planOf({ scenario, type }: Transaction, usualMs: number, settleMs: number): Step[] {
  const isOutgoing = type === 'OUTGOING';
  const untilSentMs = isOutgoing ? usualMs * SHARE_BEFORE_SENT : 0;
  const sent: Step[] = isOutgoing ? [{ status: 'SENT', afterMs: untilSentMs }] : [];
  const afterMs = usualMs - untilSentMs;
  const completed: Step = { status: 'COMPLETED', afterMs, movement: 'deliver' };
  switch (scenario.kind) {
    case 'succeeds':
      return [...sent, completed];
    case 'rejected':
      return [...sent, { status: 'REJECTED', afterMs, movement: 'return' }];
    case 'refunded-later':
      return [...sent, completed, { status: 'REFUNDED', afterMs: settleMs, movement: 'take-back' }];
    case 'times-out': {
      const failureReason = isOutgoing ? 'QUOTE_EXECUTION_FAILED' : 'PAYMENT_APPROVAL_TIMED_OUT';
      return [{ status: 'FAILED', afterMs: usualMs * TIME_OUT_FACTOR, failureReason, movement: 'return' }];
    }
    case 'slow':
      return [
        { status: isOutgoing ? 'SENT' : 'PENDING', afterMs: settleMs * SLOW_FACTOR },
        { ...completed, afterMs: usualMs * SLOW_FACTOR },
      ];
    case 'fails': {
      const { failureReason } = scenario;
      // Only an off-ramp fails after the money has left, so a refund follows. The others fail before it is sent.
      if (isOutgoing && failureReason === 'OFFRAMP_FAILED') {
        const refunded: Step = { status: 'REFUNDED', afterMs: settleMs, movement: 'return' };
        return [...sent, { status: 'FAILED', afterMs, failureReason }, refunded];
      }
      return [{ status: 'FAILED', afterMs: isOutgoing ? untilSentMs : usualMs, failureReason, movement: 'return' }];
    }
    case 'refused':
      throw new Error('BUG: planned a payment that the call should have refused');
  }
}

/** Schedules the first of the steps; each schedules the next. */
function follow(world: World, transaction: Transaction, steps: readonly Step[], fromMs: number): void {
  const [step, ...rest] = steps;
  if (step === undefined) return;
  const { plan } = transaction;
  world.scheduler.at(fromMs + step.afterMs, (dueMs) => {
    if (transaction.plan !== plan) return;
    if (step.failureReason !== undefined) transaction.failureReason = step.failureReason;
    changeStatus(world, transaction, step.status, dueMs);
    if (step.movement !== undefined) {
      world.books.post(`${transaction.id} becoming ${step.status}`, linesOf(step.movement, transaction));
    }
    follow(world, transaction, rest, dueMs);
  });
}

/** Drops the transaction's plan and sets a status that the plan does not contain. */
function abandonPlan(world: World, transaction: Transaction, status: TransactionStatus, atMs: number): void {
  transaction.plan += 1;
  changeStatus(world, transaction, status, atMs);
}

function changeStatus(world: World, transaction: Transaction, status: TransactionStatus, atMs: number): void {
  if (transaction.status !== status) transaction.history.push({ status, atMs });
  transaction.status = status;
  transaction.updatedAtMs = atMs;
  if (status === 'COMPLETED') transaction.settledAtMs = atMs;
  const quote = world.quotes.get(transaction.quoteId ?? '');
  // A payment that times out is PENDING although its quote was executed: a quote never goes back.
  if (quote !== undefined && status !== 'PENDING') setQuoteStatus(quote, QUOTE_STATUS[status], atMs);
}

function setQuoteStatus(quote: Quote, status: QuoteStatus, atMs: number): void {
  if (quote.status !== status) quote.history.push({ status, atMs });
  quote.status = status;
}

const QUOTE_STATUS: Readonly<Record<TransactionStatus, QuoteStatus>> = {
  CREATED: 'PENDING',
  PENDING: 'PENDING',
  PROCESSING: 'PROCESSING',
  SENT: 'PROCESSING',
  COMPLETED: 'COMPLETED',
  REJECTED: 'FAILED',
  FAILED: 'FAILED',
  REFUNDED: 'FAILED',
  EXPIRED: 'EXPIRED',
};
