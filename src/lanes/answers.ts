/** Applies events to the entries of a lane: answers, look-ups and expired timers (invariant I6). */
import { randomUUID } from 'node:crypto';
import { errorText } from '../consumers/message-failures.ts';
import { decide } from '../ledger/decide.ts';
import type { Decision, LedgerEvent } from '../ledger/decision.ts';
import type { Entry } from '../ledger/entry.ts';
import type { LookUpQuery } from '../ledger/plan.ts';
import { expiredQuoteOf } from '../ledger/quote-again.ts';
import type { CallTimes } from './calls/call-times.ts';
import { claimCall } from './entry-claim.ts';
import type { HandlerParts } from './outcomes.ts';
import type { LaneTransaction } from './commits/transaction.ts';

/** Something that happened to an entry. */
export interface EntryEvent {
  readonly key: string;
  readonly event: LedgerEvent;
  /** When the call or look-up ran; it dates what the answer shows. Null: there was none. */
  readonly call: CallTimes | null;
}

export type DueReply = { kind: 'handled' } | { kind: 'waits' } | { kind: 'look-up'; query: LookUpQuery };

export class Answers {
  readonly #parts: HandlerParts;

  constructor(parts: HandlerParts) {
    this.#parts = parts;
  }

  handleEvent(transaction: LaneTransaction, happened: EntryEvent): void {
    const { event } = happened;
    if (event.kind === 'answered' || event.kind === 'not-begun') transaction.settledAttempts.push(event.attemptId);
    const entry = this.#parts.memory.unfinished.get(happened.key);
    if (entry === undefined) return;
    this.#trace(transaction, entry, happened);
    try {
      this.#apply(transaction, entry, decide(entry, event, this.#parts.policy), shownBetween(entry, happened));
    } catch (error) {
      this.#drop(transaction, entry, error);
    }
  }

  /** @returns whether the entry was handled, must wait until a call may begin, or needs a look-up now */
  handleDue(transaction: LaneTransaction, entry: Entry): DueReply {
    const { calls, clock, laneClock, policy, processId } = this.#parts;
    const attemptId = randomUUID();
    const attempt = { attemptId, processId, notBeforeMs: laneClock.notBeforeMs() };
    try {
      const decision = decide(entry, { kind: 'due', nowMs: clock.nowMs(), attempt }, policy);
      if (decision.kind === 'next' && decision.entry.phase.state === 'INTENT') {
        const isQuoted = entry.phase.state === 'QUOTED';
        const claimed = { attemptId, commit: transaction.commit };
        if (claimCall(this.#parts, claimed, decision.entry, isQuoted) !== null) return { kind: 'waits' };
      }
      if (decision.kind === 'look-up') return decision;
      this.#apply(transaction, entry, decision, null);
    } catch (error) {
      calls.settle(attemptId);
      this.#drop(transaction, entry, error);
    }
    return { kind: 'handled' };
  }

  #apply(transaction: LaneTransaction, entry: Entry, decision: Decision, call: CallTimes | null): void {
    const { lane, outcomes, reports } = this.#parts;
    outcomes.apply(transaction, decision, call);
    if (decision.kind === 'unchanged' || decision.kind === 'look-up') return;
    const expiredQuote = expiredQuoteOf(entry, decision.entry);
    if (expiredQuote !== null) transaction.reports.push(() => reports.quoteExpired(lane, expiredQuote));
  }

  /** A call is traced where it ends. A look-up serves many commands, so it is traced here, once for each. */
  #trace(transaction: LaneTransaction, entry: Entry, { call, event }: EntryEvent): void {
    if (event.kind !== 'looked-up' || call === null) return;
    const { traces } = this.#parts;
    transaction.reports.push(() => traces.lookedUp(entry, call, event.finding.kind));
  }

  /**
   * Our own code failed on the entry. The event is lost: if it was an answer, its call is in doubt. Too many failures
   * set the entry aside.
   */
  #drop(transaction: LaneTransaction, entry: Entry, error: unknown): void {
    const { clock, lane, policy, reports } = this.#parts;
    reports.failed(lane, 'entry', error);
    const decision = decide(entry, { kind: 'failed', nowMs: clock.nowMs(), problem: errorText(error) }, policy);
    this.#parts.outcomes.apply(transaction, decision, null);
  }
}

/**
 * When the service may have been in the state that an answer shows. If the key was sent before, the service may repeat
 * its first answer, which may be old.
 */
function shownBetween(entry: Entry, { call, event }: EntryEvent): CallTimes | null {
  if (call === null || event.kind !== 'answered' || entry.firstSentMs === null) return call;
  return { beganMs: Math.min(call.beganMs, entry.firstSentMs), endedMs: call.endedMs };
}
