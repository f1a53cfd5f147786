/**
 * The calls and look-ups of one acquisition of a lane, and what became of them: events that wait for a transaction.
 *
 *   intent committed -> begin -> (gate) call -> event 'answered' or 'not-begun'
 *   doubt due        -> lookUp -> scan       -> event 'looked-up'
 *   intent found     -> takeUp -> adopted, or event 'not-begun' or 'orphaned'
 *
 * `Calls` owns what is under way and outlives the lane; this owns the events. Once the acquisition is over, nothing
 * passes the gate and no event is taken any more.
 */
import { callOf } from '../ledger/call-of.ts';
import type { Entry } from '../ledger/entry.ts';
import { TRANSACTION_PREFIX } from '../ledger/ledger-records.ts';
import { isKeyLost, type LookUpQuery } from '../ledger/plan.ts';
import { aheadMsOf } from 'payment-processor-contract/clock';
import { laneOf } from 'payment-processor-contract/keys';
import { recordEffectStatus } from '../status/transaction-state.ts';
import type { EntryEvent } from './answers.ts';
import type { CallEnd, CallOwner } from './calls.ts';
import { byClockOfNow } from './clock-set.ts';
import type { LaneParts } from './parts.ts';

export interface Acquisition {
  /** The lane has not been lost or given away since. */
  isCurrent: () => boolean;
  /** Current, and not being released: calls may start. */
  isOpen: () => boolean;
  /** An operator's hold forbids calls of the entry. */
  isHeld: (entry: Entry) => boolean;
  /** There is an event to take. */
  wake: () => void;
}

export class Attempts {
  readonly #parts: LaneParts;
  readonly #acquisition: Acquisition;
  /** With how far the wall clock was ahead when they happened: a commit that stalls keeps them waiting. */
  readonly #events: { readonly happened: EntryEvent; readonly aheadMs: number }[] = [];
  /** Attempts of intents that were found in the ledger and have no call here: their events say what becomes of them. */
  readonly #withoutCall = new Set<string>();

  constructor(parts: LaneParts, acquisition: Acquisition) {
    this.#parts = parts;
    this.#acquisition = acquisition;
  }

  get waitingEvents(): number {
    return this.#events.length;
  }

  takeEvent(): EntryEvent | undefined {
    const first = this.#events.shift();
    return first && byClockOfNow(first.happened, aheadMsOf(this.#parts.clock) - first.aheadMs);
  }

  /**
   * An entry with an intent, found in the ledger: its call is ours and goes on, was never begun, or is in doubt. None is
   * begun here: a process that was frozen while it took the lane may have been fenced since, and learns so by its first commit.
   */
  takeUp(entry: Entry): void {
    const { calls, clock, processId, sessionTimeoutMs } = this.#parts;
    const { phase } = entry;
    if (phase.state !== 'INTENT') return;
    const adoption = phase.processId === processId ? calls.adopt(phase.attemptId, this.#ownerOf(entry)) : 'unknown';
    if (adoption === 'adopted') return;
    this.#withoutCall.add(phase.attemptId);
    if (adoption === 'never-begun') {
      const reason = 'the lane was lost before its call began';
      const event = { kind: 'not-begun' as const, attemptId: phase.attemptId, nowMs: clock.nowMs(), reason };
      this.#put({ key: entry.key, event, call: null });
      return;
    }
    // The former owner may still begin a call until its heartbeat is too old; that call ends within its deadline.
    const endedMs = clock.nowMs() + sessionTimeoutMs + phase.timeoutMs;
    this.#put({ key: entry.key, event: { kind: 'orphaned', endedMs }, call: null });
  }

  /** The call of an intent that is committed. */
  begin(entry: Entry): void {
    if (entry.phase.state !== 'INTENT') return;
    const { attemptId } = entry.phase;
    // Committed again to note a copy, before its event was taken.
    if (this.#withoutCall.has(attemptId)) return;
    const order = { attemptId, ...callOf(entry), command: entry, attempt: entry.attempts + 1 };
    this.#parts.calls.begin(order, this.#ownerOf(entry));
  }

  /** The entry stays in doubt, without a timer, until the scan has ended. */
  async lookUp(key: string, query: LookUpQuery): Promise<void> {
    const { clock, lookUps } = this.#parts;
    const { outcome, beganMs, endedMs } = await lookUps.find(query);
    // The lane may be over meanwhile, and the store closed.
    if (!this.#acquisition.isCurrent()) return;
    const { attempts } = query;
    const effectStatus = outcome.kind === 'found' ? this.#effectStatusOf(outcome.transaction.id) : null;
    const event = { kind: 'looked-up' as const, attempts, finding: outcome, effectStatus, nowMs: clock.nowMs() };
    this.#happened({ key, event, call: { beganMs, endedMs } });
  }

  /** By what any lane has reduced so far. */
  #effectStatusOf(id: string): string | null {
    const { index, laneCount } = this.#parts;
    const state = index.value(laneOf(id, laneCount), TRANSACTION_PREFIX + id);
    return state === undefined ? null : recordEffectStatus(state);
  }

  #ownerOf(entry: Entry): CallOwner {
    const { clock, isConfirmed, policy } = this.#parts;
    return {
      gate: () => {
        if (!this.#acquisition.isOpen()) return 'the lane is not open any more';
        if (!isConfirmed()) return 'the last confirmed heartbeat is too old';
        if (this.#acquisition.isHeld(entry)) return 'an operator holds such commands';
        if (isKeyLost(entry, clock.nowMs(), policy)) return 'the service may soon forget its key';
        return clock.nowMs() >= entry.deadlineMs ? 'the time limit of the command passed' : null;
      },
      ended: (attemptId, end) => {
        const event = eventOf(attemptId, end, clock.nowMs());
        this.#happened({ key: entry.key, event, call: end.kind === 'answered' ? end : null });
      },
    };
  }

  #happened(event: EntryEvent): void {
    if (!this.#acquisition.isCurrent()) return;
    this.#put(event);
    this.#acquisition.wake();
  }

  #put(happened: EntryEvent): void {
    this.#events.push({ happened, aheadMs: aheadMsOf(this.#parts.clock) });
  }
}

function eventOf(attemptId: string, end: CallEnd, nowMs: number): EntryEvent['event'] {
  return end.kind === 'answered'
    ? { kind: 'answered', attemptId, reading: end.reading, beganMs: end.beganMs, nowMs }
    : { kind: 'not-begun', attemptId, nowMs, reason: end.reason };
}
