/** Admission: commands move from their topic into the ledger, within the limits (invariants I1, I6, I7). */
import { randomUUID } from 'node:crypto';
import { type CommandPlace, type Intake, setAside, type TracedCommand } from '../../consumers/command-intake.ts';
import type { InputMessage } from '../../consumers/input-message.ts';
import type { Aside } from '../../consumers/message-origin.ts';
import { admit, newEntry, type Admission } from '../../ledger/admission.ts';
import { decide } from '../../ledger/decide.ts';
import type { Entry, UnphasedEntry } from '../../ledger/entry.ts';
import { intentOf } from '../../ledger/transitions.ts';
import { readable } from '../../ledger/ledger-value.ts';
import { failedResult } from '../../ledger/result-record.ts';
import type { DeadLetterReason } from '../../producers/dead-letters.ts';
import type { ClaimRefusal } from '../calls/claim-limits.ts';
import type { AdmissionKind } from '../command-traces.ts';
import { claimCall } from '../entry-claim.ts';
import type { AdmissionCause } from '../lane-status.ts';
import type { HandlerParts } from '../outcomes.ts';
import type { InputHandler } from './taking.ts';
import type { LaneTransaction } from '../commits/transaction.ts';

const ADMISSION_KINDS: Record<Admission['kind'], AdmissionKind> = {
  call: 'called',
  finish: 'finished',
  copy: 'copy',
  conflict: 'conflict',
};

/** Limit for the fields of a lane's unfinished commands in memory: many large commands could fill the heap. */
const UNFINISHED_BYTES_MAX = 32 * 1024 * 1024;
/** A quote is parked only below this share of the lane's limits: commands that can be called need the rest. */
const PARKED_SHARE = 0.5;

export class CommandAdmission implements InputHandler<Intake, AdmissionCause, CommandPlace> {
  readonly name = 'admission';
  readonly #parts: HandlerParts;

  constructor(parts: HandlerParts) {
    this.#parts = parts;
  }

  handle(transaction: LaneTransaction, item: Intake): AdmissionCause | null {
    const { calls, clock, lane, laneClock, memory, outcomes, policy, processId, reports } = this.#parts;
    if (item.kind === 'misrouted') {
      transaction.add(item.record);
      transaction.reports.push(() => reports.moved(lane));
      return null;
    }
    if (item.kind === 'dead-letter') {
      outcomes.deadLetter(transaction, item.letter);
      this.#trace(transaction, item.command, item.readMs, 'dead-letter', item.letter.reason);
      return null;
    }
    const { arrival, deadLetteredAs, original, readMs } = item;
    const nowMs = clock.nowMs();
    const known = memory.entry(arrival.key);
    const admission = admit(arrival, known, nowMs, policy);
    switch (admission.kind) {
      case 'copy':
        this.#copy(transaction, known, arrival.commandId);
        break;
      case 'conflict':
        outcomes.conflict(transaction, arrival, admission.result);
        break;
      case 'finish':
        outcomes.apply(transaction, { ...admission, seen: null }, null);
        break;
      case 'call': {
        if (!this.#isRoomFor(admission.entry)) return 'lane-full';
        const attemptId = randomUUID();
        const attempt = { attemptId, commit: transaction.commit };
        try {
          const refusal = claimCall(this.#parts, attempt, admission.entry, false);
          if (refusal === null) {
            const begun = { attemptId, processId, notBeforeMs: laneClock.notBeforeMs() };
            outcomes.put(transaction, intentOf(admission.entry, begun, policy));
            break;
          }
          const reason = this.#whyParked(admission.entry, refusal);
          if (reason === null) return refusal;
          // The next owner must not wait because our clock is ahead.
          const untilMs = Math.min(nowMs, admission.entry.origin.timestampMs);
          outcomes.put(transaction, { ...admission.entry, phase: { state: 'PARKED', untilMs, reason } });
        } catch (error) {
          calls.settle(attemptId);
          throw error;
        }
        break;
      }
    }
    if (deadLetteredAs !== null) outcomes.deadLetter(transaction, { ...original, ...deadLetteredAs });
    const kind = ADMISSION_KINDS[admission.kind];
    this.#trace(transaction, arrival, readMs, kind, deadLetteredAs?.reason ?? null);
    return null;
  }

  /** A type's waiting entries fill at most half of the room that other types leave, so as not to keep those out. */
  #isRoomFor(entry: UnphasedEntry): boolean {
    const { memory, unfinishedMax } = this.#parts;
    const waiting = memory.waitingOf(entry.commandType);
    return memory.unfinished.size + waiting < unfinishedMax && memory.unfinishedBytes() < UNFINISHED_BYTES_MAX;
  }

  /**
   * Quotes with and without immediatelyExecute share a topic. If only the execution of a quote cannot begin, the quote
   * is parked while there is room, so that the others behind it need not wait.
   * @returns null if it is not parked
   */
  #whyParked(entry: UnphasedEntry, refusal: ClaimRefusal): string | null {
    const { calls, holds, memory, unfinishedMax } = this.#parts;
    const isRoom =
      memory.unfinished.size + 1 <= unfinishedMax * PARKED_SHARE &&
      memory.unfinishedBytes() < UNFINISHED_BYTES_MAX * PARKED_SHARE;
    if (!entry.immediate || !isRoom) return null;
    if (refusal === 'operator-hold' && holds.refusal({ ...entry, immediate: false }) === null)
      return 'when it was admitted, an operator held execute-quote';
    const isOnlyExecution =
      entry.step === 'CREATE' && calls.isClosed('execute-quote') && !calls.isClosed('create-quote');
    return refusal === 'breaker' && isOnlyExecution
      ? 'when it was admitted, the breaker of execute-quote was open'
      : null;
  }

  #trace(
    transaction: LaneTransaction,
    command: TracedCommand,
    beganMs: number,
    kind: AdmissionKind,
    deadLetteredAs: DeadLetterReason | null,
  ): void {
    const { traces } = this.#parts;
    transaction.reports.push(() => traces.admitted(command, { kind, beganMs, deadLetteredAs }));
  }

  #copy(transaction: LaneTransaction, known: Entry | undefined, commandId: string | null): void {
    const { outcomes, policy } = this.#parts;
    if (known === undefined || outcomes.replay(transaction, known, commandId)) return;
    const decision = decide(known, { kind: 'copied', copy: { commandId } }, policy);
    outcomes.apply(transaction, decision, null);
  }

  /**
   * Sets aside a message on which our code failed or the lane was lost. No call was made for it; an entry of its key
   * stays as it is.
   */
  setAside(transaction: LaneTransaction, place: CommandPlace, message: InputMessage, aside: Aside): void {
    const { clock, lane, outcomes, policy, reports } = this.#parts;
    const { arrival, letter } = setAside(this.#parts, place, message, aside);
    // First, so that the message is kept even if making its result fails.
    outcomes.deadLetter(transaction, letter);
    if (arrival === null || this.#isKnown(arrival.key)) return;
    try {
      const entry = newEntry(arrival, policy);
      const nowMs = clock.nowMs();
      const result = failedResult(entry, letter.message, nowMs);
      outcomes.apply(transaction, { kind: 'finish', entry, result, seen: null }, null);
      this.#trace(transaction, arrival, nowMs, 'finished', letter.reason);
    } catch (error) {
      reports.failed(lane, 'admission', error);
    }
  }

  /** An entry that this release cannot read still counts: its call may have been made. */
  #isKnown(key: string): boolean {
    const entry = readable(() => this.#parts.memory.entry(key) ?? null);
    // Undefined: it cannot be read.
    return entry !== null;
  }
}
