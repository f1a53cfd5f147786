/**
 * Puts a decision into a lane's transaction: the entry's next state, its result, the replays for its copies, and what its answer
 * showed. Transaction and memory change together; nothing is sent from here.
 */
import type { TracedCommand } from '../consumers/command-intake.ts';
import type { InputMessage } from '../consumers/input-message.ts';
import { letterAside, type Aside, type Place } from '../consumers/message-origin.ts';
import type { Arrival } from '../ledger/admission.ts';
import type { Decision } from '../ledger/decision.ts';
import { effectOf } from '../ledger/effect.ts';
import type { Copy, Entry } from '../ledger/entry.ts';
import { doneEntry } from '../ledger/transitions.ts';
import { deadLetterRecord, type DeadLetter } from '../producers/dead-letters.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import { observationRecord } from '../producers/status-events.ts';
import { conflictEvent, replayRecord, resultEvent, resultRecord } from '../producers/result-events.ts';
import type { Outcome } from 'payment-processor-contract/commands';
import type { CommandResult } from 'payment-processor-contract/types';
import type { Observation } from '../status/observation.ts';
import type { HeldCalls } from './calls/claim-limits.ts';
import type { CallTimes } from './calls/call-times.ts';
import type { LaneClock } from './lane-clock.ts';
import type { Memory } from './memory.ts';
import type { LaneParts } from './parts.ts';
import type { LaneTransaction } from './commits/transaction.ts';

/** What the handlers of an open lane share. */
export interface HandlerParts extends LaneParts {
  readonly memory: Memory;
  readonly outcomes: Outcomes;
  readonly holds: HeldCalls;
  readonly laneClock: LaneClock;
}

/** Limit for the replays of one entry: each repeats the whole result. */
const REPLAYS_BYTES_MAX = 1024 * 1024;

export class Outcomes {
  readonly #parts: LaneParts & { readonly memory: Memory };

  constructor(parts: LaneParts & { readonly memory: Memory }) {
    this.#parts = parts;
  }

  /** @param call times of the call or look-up; null: there was none */
  apply(transaction: LaneTransaction, decision: Decision, call: CallTimes | null): void {
    if (decision.kind === 'unchanged' || decision.kind === 'look-up') return;
    const { lane, writer } = this.#parts;
    // Everything that can fail comes before the first change: a failure must leave nothing in the transaction.
    const observed = this.#observed(decision, call);
    if (decision.kind === 'finish') {
      const { entry, result } = decision;
      const event = resultEvent(writer, result, entry);
      const done = doneEntry(entry, result.outcome as Outcome, Number(result.completedAt), event);
      this.put(transaction, done);
      const fingerprint = entry.fieldsJson === null ? null : entry.fingerprint;
      const record = resultRecord(writer, lane, { key: entry.key, fingerprint }, event);
      transaction.add(record, ...this.#replays(entry.copies, done));
      this.#reportResult(transaction, entry, result);
    } else {
      this.put(transaction, decision.entry);
    }
    transaction.add(...observed);
  }

  put(transaction: LaneTransaction, entry: Entry): void {
    transaction.putEntry(entry);
    this.#parts.memory.putEntry(entry, transaction.commit);
  }

  deadLetter(transaction: LaneTransaction, letter: DeadLetter): void {
    const { lane, reports, writer } = this.#parts;
    transaction.add(deadLetterRecord(writer.topics.deadLetters, lane, letter));
    transaction.reports.push(() => reports.deadLettered(lane, letter));
  }

  /** For a message that made our own code fail and gets no entry: only a dead letter. */
  setAside(transaction: LaneTransaction, place: Place, message: InputMessage, aside: Aside): void {
    this.deadLetter(transaction, letterAside(place, message, aside));
  }

  /** A conflict is a result of its own; the entry of the key is not touched. */
  conflict(transaction: LaneTransaction, arrival: Arrival, result: CommandResult): void {
    const { lane, writer } = this.#parts;
    const event = conflictEvent(writer, arrival.place, result, arrival.carried);
    const fingerprint = arrival.content.kind === 'unreadable' ? null : arrival.fingerprint;
    transaction.add(resultRecord(writer, lane, { key: arrival.key, fingerprint }, event));
    this.#reportResult(transaction, arrival, result);
  }

  /** Answers a copy with the event of a finished entry. @returns false when the entry is not finished */
  replay(transaction: LaneTransaction, entry: Entry, commandId: string | null): boolean {
    const { lane, reports, writer } = this.#parts;
    const record = replayRecord(writer, lane, entry, { commandId });
    if (record === null) return false;
    transaction.add(record);
    transaction.reports.push(() => reports.replayed(lane));
    return true;
  }

  #reportResult(transaction: LaneTransaction, command: TracedCommand, result: CommandResult): void {
    const { lane, reports, traces } = this.#parts;
    transaction.reports.push(() => {
      reports.resulted(lane, result);
      traces.resulted(command, result);
    });
  }

  /** Answers to the copies that came while the entry was unfinished. Beyond the limit the result itself answers them. */
  #replays(copies: readonly Copy[], done: Entry): OutgoingRecord[] {
    const records: OutgoingRecord[] = [];
    let bytes = 0;
    for (const copy of copies) {
      const record = replayRecord(this.#parts.writer, this.#parts.lane, done, copy);
      bytes += record?.value?.length ?? 0;
      if (record !== null && bytes <= REPLAYS_BYTES_MAX) records.push(record);
    }
    return records;
  }

  /** What an answer showed, and which transaction the command affected, even if only an operator says so. */
  #observed(decision: Extract<Decision, { kind: 'next' | 'finish' }>, call: CallTimes | null): OutgoingRecord[] {
    const { clock, laneCount, processId, writer } = this.#parts;
    const { entry, seen } = decision;
    const effect = effectOf(decision);
    if (seen === null && effect === null) return [];
    const nowMs = clock.nowMs();
    const observation: Observation = {
      ...(seen ?? { quote: null, transaction: null }),
      requestBeganMs: call?.beganMs ?? nowMs,
      requestEndedMs: call?.endedMs ?? nowMs,
      observedBy: 'COMMAND',
      observer: processId,
      commandKey: effect === null ? null : entry.key,
      carried: effect === null ? {} : entry.carried,
    };
    const record = observationRecord(writer.topics.observations, laneCount, observation, effect);
    return record === null ? [] : [record];
  }
}
