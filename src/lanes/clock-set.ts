/**
 * Somebody sets the wall clock forward: by the clock that was behind, calls in doubt may have ended later than is known of
 * them. Their settling time is counted anew, as by a new owner of the lane. What happened, and waits for a commit to end, is
 * told by the clock as it is once it is taken.
 */
import { aheadMsOf } from 'payment-processor-contract/clock';
import type { LedgerEvent } from '../ledger/decision.ts';
import type { Entry } from '../ledger/entry.ts';
import { takenUp } from '../ledger/wrong-clocks.ts';
import type { EntryEvent, EntryParts } from './answers.ts';

/** By less a clock is only kept right. */
const SET_MS_MIN = 1_000;

export class ClockSet {
  readonly #parts: Pick<EntryParts, 'clock' | 'policy'>;
  readonly #unfinished: Map<string, Entry>;
  /** How far the wall clock is ahead of the monotonic one: the least since it was set. */
  #aheadMs: number;

  constructor(
    parts: Pick<EntryParts, 'clock' | 'policy'>,
    { unfinished }: { readonly unfinished: Map<string, Entry> },
  ) {
    this.#parts = parts;
    this.#unfinished = unfinished;
    this.#aheadMs = aheadMsOf(parts.clock);
  }

  /** Before anything is decided by the clock. */
  look(): void {
    const aheadMs = aheadMsOf(this.#parts.clock);
    const wasSetForward = aheadMs - this.#aheadMs >= SET_MS_MIN;
    this.#aheadMs = wasSetForward ? aheadMs : Math.min(aheadMs, this.#aheadMs);
    if (!wasSetForward) return;
    const { clock, policy } = this.#parts;
    for (const [key, entry] of this.#unfinished) this.#unfinished.set(key, takenUp(entry, clock.nowMs(), policy));
  }
}

/** @param byMs how much the wall clock was set forward, or back where it is negative, since it happened */
export function byClockOfNow(happened: EntryEvent, byMs: number): EntryEvent {
  if (Math.abs(byMs) < SET_MS_MIN) return happened;
  const setMs = Math.round(byMs);
  const { call, event, key } = happened;
  const shifted = call === null ? null : { beganMs: call.beganMs + setMs, endedMs: call.endedMs + setMs };
  return { key, event: shiftedEvent(event, setMs), call: shifted };
}

function shiftedEvent(event: LedgerEvent, byMs: number): LedgerEvent {
  switch (event.kind) {
    case 'answered':
      return { ...event, beganMs: event.beganMs + byMs, nowMs: event.nowMs + byMs };
    case 'orphaned':
      return { ...event, endedMs: event.endedMs + byMs };
    case 'due':
    case 'not-begun':
    case 'looked-up':
    case 'failed':
      return { ...event, nowMs: event.nowMs + byMs };
    case 'copied':
      return event;
  }
}
