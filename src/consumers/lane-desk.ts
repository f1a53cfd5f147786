/**
 * The work of an open lane on one transaction: answers and due entries first, then commands as far as they may be
 * admitted, then observations. Puts what follows into the transaction and the lane's memory; calls and timers wait for
 * the commit.
 *
 * A message or entry that makes our own code fail is dropped, and set aside after some drops (invariant I6).
 */
import { randomUUID } from 'node:crypto';
import { admit, intentOf, newEntry } from '../ledger/admission.ts';
import { decide, DROPS_MAX, type Decision, type LedgerEvent, type Seen } from '../ledger/decide.ts';
import { doneEntry } from '../ledger/done.ts';
import type { Entry } from '../ledger/entry.ts';
import { failedResult } from '../ledger/result-record.ts';
import type { LookUpQuery } from '../ledger/plan.ts';
import { operationOf, settlementOf, type LedgerPolicy } from '../ledger/settlement.ts';
import { deadLetterRecord, type DeadLetter } from '../producers/dead-letters.ts';
import { replayRecord, resultEvent, resultRecord, type ResultWriter } from '../producers/result-events.ts';
import { statusRecords } from '../producers/status-events.ts';
import type { Outcome } from '../records/commands.ts';
import { laneOf } from '../records/keys.ts';
import type { CommandResult } from '../records/types.ts';
import { encodeObservation, observationKey, type Observation } from '../status/observation.ts';
import { reduce } from '../status/reducer.ts';
import type { Clock } from '../api/clock.ts';
import type { Calls, ClaimRefusal } from './calls.ts';
import type { Intake } from './command-intake.ts';
import type { LaneInbox } from './lane-inbox.ts';
import type { LaneMemory } from './lane-memory.ts';
import type { LaneTransaction } from './lane-transaction.ts';

/** Something that happened to an entry. */
export interface EntryEvent {
  readonly key: string;
  readonly event: LedgerEvent;
  /** When the call ran, for what its answer showed. */
  readonly call: { beganMs: number; endedMs: number } | null;
}

export type CommandItem = Exclude<Intake, { kind: 'unavailable' }>;
export interface ObservationItem {
  readonly id: string;
  readonly observation: Observation;
}

/** Why the oldest command of a topic is not admitted. */
export type AdmissionCause = ClaimRefusal | 'lane-full' | 'failed';

/** What the metrics count. */
export interface DeskReports {
  resulted(lane: number, result: CommandResult): void;
  replayed(lane: number): void;
  deadLettered(lane: number, letter: DeadLetter): void;
  moved(lane: number): void;
  statusChanged(lane: number, kind: 'transaction' | 'quote'): void;
  failed(lane: number, where: string, error: unknown): void;
}

export type DueReply = { kind: 'handled' } | { kind: 'waits' } | { kind: 'look-up'; query: LookUpQuery };

export interface DeskParts {
  readonly lane: number;
  readonly laneCount: number;
  readonly processId: string;
  readonly memory: LaneMemory;
  readonly calls: Pick<Calls, 'claim'>;
  readonly policy: LedgerPolicy;
  readonly unfinishedMax: number;
  readonly writer: ResultWriter;
  readonly clock: Clock;
  readonly reports: DeskReports;
}

/** Messages of one topic in one transaction: bounds the time to its commit. */
const ITEMS_MAX = 500;

export class LaneDesk {
  readonly #parts: DeskParts;
  readonly #messageDrops = new Map<string, number>();

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  async handleEvent(transaction: LaneTransaction, commit: number, happened: EntryEvent): Promise<void> {
    const { event } = happened;
    if (event.kind === 'answered' || event.kind === 'not-begun') transaction.settledAttempts.push(event.attemptId);
    const entry = this.#parts.memory.unfinished.get(happened.key);
    if (entry === undefined) return;
    try {
      await this.#apply(transaction, commit, entry, decide(entry, event, this.#parts.policy), happened.call);
    } catch (error) {
      await this.#drop(transaction, commit, entry, error);
    }
  }

  /** @returns whether it was handled, must wait for a call slot or the service, or needs a look-up that is now to be made */
  async handleDue(transaction: LaneTransaction, commit: number, entry: Entry): Promise<DueReply> {
    const { calls, clock, lane, policy, processId } = this.#parts;
    const attemptId = randomUUID();
    try {
      const decision = decide(entry, { kind: 'due', nowMs: clock.nowMs(), attemptId, processId }, policy);
      if (decision.kind === 'next' && decision.entry.phase.state === 'INTENT') {
        const mayWait = isSafeAhead(decision.entry, policy);
        if (calls.claim(attemptId, operationOf(decision.entry), lane, mayWait) !== null) return { kind: 'waits' };
      }
      if (decision.kind === 'look-up') return decision;
      await this.#apply(transaction, commit, entry, decision, null);
    } catch (error) {
      await this.#drop(transaction, commit, entry, error);
    }
    return { kind: 'handled' };
  }

  /** Admits from one topic, oldest first. @returns why it stopped before the end, or null */
  async admitFrom(
    transaction: LaneTransaction,
    commit: number,
    topic: string,
    inbox: LaneInbox<CommandItem>,
  ): Promise<AdmissionCause | null> {
    for (let count = 0; count < ITEMS_MAX && !transaction.isFull(); count += 1) {
      const ready = inbox.peek();
      if (ready === undefined) return null;
      let refusal: AdmissionCause | null;
      try {
        refusal = await this.#admit(transaction, commit, ready.item);
      } catch (error) {
        refusal = await this.#dropMessage(transaction, commit, `${topic}@${ready.offset}`, ready.item, error);
      }
      if (refusal !== null) return refusal;
      inbox.take();
      transaction.moveTo(topic, inbox.position() ?? ready.offset + 1n);
    }
    return null;
  }

  async reduceFrom(
    transaction: LaneTransaction,
    commit: number,
    topic: string,
    inbox: LaneInbox<ObservationItem | null>,
  ): Promise<void> {
    const { lane, laneCount, memory, reports, writer } = this.#parts;
    for (let count = 0; count < ITEMS_MAX && !transaction.isFull(); count += 1) {
      const ready = inbox.peek();
      if (ready === undefined) return;
      if (ready.item !== null) {
        const { id, observation } = ready.item;
        const reduction = reduce(memory.transaction(id), id, observation);
        memory.putTransaction(reduction.state, commit);
        transaction.putTransaction(reduction.state);
        transaction.add(...(await statusRecords(writer, laneCount, reduction, observation.carried)));
        if (reduction.transactionEvent !== null)
          transaction.reports.push(() => reports.statusChanged(lane, 'transaction'));
        if (reduction.quoteEvent !== null) transaction.reports.push(() => reports.statusChanged(lane, 'quote'));
      }
      inbox.take();
      transaction.moveTo(topic, inbox.position() ?? ready.offset + 1n);
    }
  }

  async #admit(transaction: LaneTransaction, commit: number, item: CommandItem): Promise<AdmissionCause | null> {
    const { calls, clock, lane, memory, policy, processId, reports, unfinishedMax, writer } = this.#parts;
    if (item.kind === 'misrouted') {
      transaction.add(item.record);
      transaction.reports.push(() => reports.moved(lane));
      return null;
    }
    if (item.kind === 'dead-letter') {
      this.#bury(transaction, item.letter);
      return null;
    }
    const { arrival, original, buriedAs } = item;
    const nowMs = clock.nowMs();
    const known = memory.entry(arrival.key);
    const admission = admit(arrival, known, nowMs, policy);
    switch (admission.kind) {
      case 'copy':
        await this.#copy(transaction, commit, known, arrival.commandId);
        break;
      case 'conflict': {
        const event = await resultEvent(writer, admission.result, arrival.carried);
        transaction.add(resultRecord(writer, lane, arrival.key, event));
        transaction.reports.push(() => reports.resulted(lane, admission.result));
        break;
      }
      case 'finish':
        await this.#apply(
          transaction,
          commit,
          null,
          { kind: 'finish', entry: admission.entry, result: admission.result, seen: null },
          null,
        );
        break;
      case 'call': {
        if (memory.unfinished.size >= unfinishedMax) return 'lane-full';
        const attemptId = randomUUID();
        const refusal = calls.claim(
          attemptId,
          operationOf(admission.entry),
          lane,
          isSafeAhead(admission.entry, policy),
        );
        if (refusal !== null) return refusal;
        this.#put(transaction, commit, intentOf(admission.entry, { attemptId, processId, nowMs }, policy));
        break;
      }
    }
    if (buriedAs !== null) this.#bury(transaction, { ...original, ...buriedAs });
    return null;
  }

  async #copy(
    transaction: LaneTransaction,
    commit: number,
    known: Entry | undefined,
    commandId: string | null,
  ): Promise<void> {
    const { lane, policy, reports, writer } = this.#parts;
    if (known === undefined) return;
    const replay = replayRecord(writer, lane, known, { commandId });
    if (replay === null) {
      await this.#apply(
        transaction,
        commit,
        known,
        decide(known, { kind: 'copied', copy: { commandId } }, policy),
        null,
      );
      return;
    }
    transaction.add(replay);
    transaction.reports.push(() => reports.replayed(lane));
  }

  async #apply(
    transaction: LaneTransaction,
    commit: number,
    before: Entry | null,
    decision: Decision,
    call: { beganMs: number; endedMs: number } | null,
  ): Promise<void> {
    if (decision.kind === 'unchanged' || decision.kind === 'look-up') return;
    const { lane, reports, writer } = this.#parts;
    if (decision.kind === 'finish') {
      const { entry, result } = decision;
      const event = await resultEvent(writer, result, entry.carried);
      const done = doneEntry(entry, result.outcome as Outcome, Number(result.completedAt), event);
      const replays = entry.copies
        .map((copy) => replayRecord(writer, lane, done, copy))
        .filter((record) => record !== null);
      transaction.add(resultRecord(writer, lane, entry.key, event), ...replays);
      this.#put(transaction, commit, done);
      transaction.reports.push(() => reports.resulted(lane, result));
    } else {
      this.#put(transaction, commit, decision.entry);
    }
    if (decision.seen !== null && call !== null) this.#observe(transaction, before, decision.seen, call);
  }

  #observe(
    transaction: LaneTransaction,
    entry: Entry | null,
    seen: Seen,
    call: { beganMs: number; endedMs: number },
  ): void {
    const { laneCount, writer } = this.#parts;
    const key = observationKey(seen);
    if (key === null) return;
    const observation: Observation = {
      ...seen,
      requestBeganMs: call.beganMs,
      requestEndedMs: call.endedMs,
      observedBy: 'COMMAND',
      commandKey: entry?.key ?? null,
      carried: entry?.carried ?? {},
    };
    transaction.add({
      topic: writer.topics.observations,
      partition: laneOf(key, laneCount),
      key,
      value: encodeObservation(observation),
      headers: {},
    });
  }

  #put(transaction: LaneTransaction, commit: number, entry: Entry): void {
    this.#parts.memory.putEntry(entry, commit);
    transaction.putEntry(entry);
  }

  #bury(transaction: LaneTransaction, letter: DeadLetter): void {
    const { lane, reports, writer } = this.#parts;
    transaction.add(deadLetterRecord(writer.topics.deadLetters, lane, letter));
    transaction.reports.push(() => reports.deadLettered(lane, letter));
  }

  /** Our own code failed on the entry. What it was about is tried again when the lane is restored or the entry is due. */
  async #drop(transaction: LaneTransaction, commit: number, entry: Entry, error: unknown): Promise<void> {
    const { clock, lane, policy, reports } = this.#parts;
    reports.failed(lane, 'entry', error);
    const problem = error instanceof Error ? error.message : String(error);
    const decision = decide(entry, { kind: 'dropped', nowMs: clock.nowMs(), problem }, policy);
    await this.#apply(transaction, commit, entry, decision, null);
  }

  /** Our own code failed on a message before it was an entry: tried again, then set aside; nothing of it was ever sent. */
  async #dropMessage(
    transaction: LaneTransaction,
    commit: number,
    place: string,
    item: CommandItem,
    error: unknown,
  ): Promise<AdmissionCause | null> {
    const { clock, lane, memory, reports } = this.#parts;
    reports.failed(lane, 'admission', error);
    const drops = (this.#messageDrops.get(place) ?? 0) + 1;
    this.#messageDrops.set(place, drops);
    if (drops < DROPS_MAX) return 'failed';
    this.#messageDrops.delete(place);
    if (item.kind !== 'arrival') throw error;
    const message = error instanceof Error ? error.message : String(error);
    this.#bury(transaction, { ...item.original, reason: 'SET_ASIDE', message });
    if (memory.entry(item.arrival.key) !== undefined) return null;
    const entry = newEntry(item.arrival, this.#parts.policy);
    await this.#apply(
      transaction,
      commit,
      null,
      { kind: 'finish', entry, result: failedResult(entry, message, clock.nowMs()), seen: null },
      null,
    );
    return null;
  }
}

/** Whether an intent may wait for its call: not where its doubt would need a look-up or a person. */
function isSafeAhead(entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>, policy: LedgerPolicy): boolean {
  const settlement = settlementOf(entry, policy);
  return settlement === 'SAME_KEY' || settlement === 'HARMLESS';
}
