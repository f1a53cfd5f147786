/**
 * The calls and look-ups of one acquisition of a lane, and their outcomes: events that wait for a transaction.
 *
 *   intent committed -> begin -> (gate) call -> event 'answered' or 'not-begun'
 *   doubt due        -> lookUp -> scan       -> event 'looked-up'
 *   intent found     -> takeUp -> adopted, or event 'not-begun' or 'orphaned'
 *
 * `Calls` owns the calls under way and outlives the lane; this class owns the events. Once the acquisition is over, no call passes
 * the gate and no event is taken.
 */
import type { Entry } from '../../ledger/entry.ts';
import { TRANSACTION_PREFIX } from '../../ledger/ledger-records.ts';
import { planOf, type LookUpQuery } from '../../ledger/plan.ts';
import { wasCallerChanged } from '../../ledger/settlement.ts';
import { laneOf } from 'payment-processor-contract/keys';
import { readableState } from '../../status/transaction-state.ts';
import type { EntryEvent } from '../answers.ts';
import { timesOf } from './call-times.ts';
import type { CallEnd, CallOwner } from './calls.ts';
import type { LookUpAnswer } from './look-up-questions.ts';
import type { LaneParts } from '../parts.ts';

export interface Acquisition {
  /** The lane has not been lost or given away since it was acquired. */
  isCurrent: () => boolean;
  /** Current, and not being released: calls may start. */
  isOpen: () => boolean;
  /** An operator's hold forbids calls of the entry, or the lane has not read all holds yet. */
  isHeld: (entry: Entry) => boolean;
  /** There is an event to take. */
  wake: () => void;
  /** The entry as the lane has it now: if a clock was set since its intent was committed, its times have been corrected. */
  present: (committed: Entry) => Entry;
}

/** Gets its time only when the lane takes it: until then it may wait for a slow commit, and somebody may set the clock. */
type PendingEvent = { readonly key: string } & (
  | { readonly kind: 'ended'; readonly attemptId: string; readonly end: CallEnd }
  /** The call is another process's, or this one has forgotten it. It ends within this time. */
  | { readonly kind: 'orphaned'; readonly withinMs: number }
  | { readonly kind: 'looked-up'; readonly attempts: number; readonly answer: LookUpAnswer }
);

export class Attempts {
  readonly #parts: LaneParts;
  readonly #acquisition: Acquisition;
  readonly #pending: PendingEvent[] = [];
  /** Attempts that have no call here: their outcome comes as an event. */
  readonly #withoutCall = new Set<string>();

  constructor(parts: LaneParts, acquisition: Acquisition) {
    this.#parts = parts;
    this.#acquisition = acquisition;
  }

  get waitingEvents(): number {
    return this.#pending.length;
  }

  takeEvent(): EntryEvent | undefined {
    const pending = this.#pending.shift();
    return pending && this.#dated(pending);
  }

  /**
   * Handles an intent found in the ledger. If this process has its call, or the call's answer, the lane adopts it.
   * Otherwise the call never began, or is in doubt. This begins no call. A process that froze while it took the lane
   * may have been fenced, and learns that only from its first commit.
   */
  takeUp(entry: Entry): void {
    const { calls, processId, sessionTimeoutMs } = this.#parts;
    const { key, phase } = entry;
    if (phase.state !== 'INTENT') return;
    const { attemptId } = phase;
    const adoption = phase.processId === processId ? calls.adopt(attemptId, this.#ownerOf(entry)) : 'unknown';
    if (adoption === 'adopted') return;
    this.#withoutCall.add(attemptId);
    if (adoption === 'never-begun') {
      const reason = 'the lane was lost before its call began';
      this.#pending.push({ kind: 'ended', key, attemptId, end: { kind: 'not-begun', reason } });
      return;
    }
    // The previous owner may still begin a call until its heartbeat is too old; that call ends within its deadline.
    this.#pending.push({ kind: 'orphaned', key, withinMs: sessionTimeoutMs + phase.timeoutMs });
  }

  /** Begins the call of a committed intent. */
  begin(entry: Entry): void {
    if (entry.phase.state !== 'INTENT') return;
    const { attemptId } = entry.phase;
    // A copy made the lane commit the entry again before it took the attempt's event.
    if (this.#withoutCall.has(attemptId)) return;
    const order = { attemptId, command: entry, attempt: entry.attempts + 1 };
    this.#parts.calls.begin(order, this.#ownerOf(entry));
  }

  /** The entry stays in doubt until the scan has ended, without a timer. A copy that is noted meanwhile asks again. */
  async lookUp(key: string, query: LookUpQuery): Promise<void> {
    const answer = await this.#parts.lookUps.find(query);
    this.#put({ kind: 'looked-up', key, attempts: query.attempts, answer });
  }

  #dated(pending: PendingEvent): EntryEvent {
    const { clock } = this.#parts;
    const { key } = pending;
    const nowMs = clock.nowMs();
    switch (pending.kind) {
      case 'orphaned':
        return { key, event: { kind: 'orphaned', endedMs: nowMs + pending.withinMs }, call: null };
      case 'looked-up': {
        const { attempts, answer } = pending;
        const { outcome: finding } = answer;
        const effectStatus = finding.kind === 'found' ? this.#effectStatusOf(finding.transaction.id) : null;
        const event = { kind: 'looked-up', attempts, finding, effectStatus, nowMs } as const;
        return { key, event, call: timesOf(answer.span, clock) };
      }
      case 'ended': {
        const { attemptId, end } = pending;
        if (end.kind === 'not-begun') {
          return { key, event: { kind: 'not-begun', attemptId, nowMs, reason: end.reason }, call: null };
        }
        const call = timesOf(end.span, clock);
        const { reading } = end;
        return { key, event: { kind: 'answered', attemptId, reading, beganMs: call.beganMs, nowMs }, call };
      }
    }
  }

  /** The latest status that shows an effect, according to the index. */
  #effectStatusOf(id: string): string | null {
    const { index, laneCount } = this.#parts;
    const state = index.value(laneOf(id, laneCount), TRANSACTION_PREFIX + id);
    return state === undefined ? null : (readableState(state)?.effectStatus ?? null);
  }

  #ownerOf(committed: Entry): CallOwner {
    const { clock, isConfirmed, policy } = this.#parts;
    return {
      gate: () => {
        const entry = this.#acquisition.present(committed);
        if (!this.#acquisition.isOpen()) return 'the lane is not open any more';
        if (!isConfirmed()) return 'the last confirmed heartbeat is too old';
        if (this.#acquisition.isHeld(entry)) return 'held by an operator';
        // A mounted secret changed. The key prevents a second effect only for the caller that the intent names.
        if (wasCallerChanged(entry, policy)) return 'API_TOKEN_ID was changed since its intent was committed';
        // Since the intent was planned, the command, its quote or its idempotency key may have expired.
        const { kind } = planOf(entry, clock.nowMs(), policy);
        return kind === 'call' ? null : 'the command, its quote or its idempotency key expired first';
      },
      ended: (attemptId, end) => this.#put({ kind: 'ended', key: committed.key, attemptId, end }),
    };
  }

  /** Drops the event if the acquisition is over. */
  #put(pending: PendingEvent): void {
    if (!this.#acquisition.isCurrent()) return;
    this.#pending.push(pending);
    this.#acquisition.wake();
  }
}
