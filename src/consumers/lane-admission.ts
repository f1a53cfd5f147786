/** Admitting: commands leave their topic into the ledger, as far as they may (invariants I1, I6, I7). */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../api/clock.ts';
import { admit, intentOf, newEntry, type Admission } from '../ledger/admission.ts';
import { decide } from '../ledger/decide.ts';
import type { Entry } from '../ledger/entry.ts';
import { failedResult } from '../ledger/result-record.ts';
import type { LedgerPolicy } from '../ledger/settlement.ts';
import type { DeadLetterReason } from '../producers/dead-letters.ts';
import type { Calls } from './calls.ts';
import type { ClaimRefusal } from './claim-limits.ts';
import type { Intake } from './command-intake.ts';
import type { AdmissionKind, CommandTraces, TracedCommand } from './command-traces.ts';
import { claimOf } from './entry-claim.ts';
import { takeFrom } from './inbox-taking.ts';
import type { LaneInbox, Ready } from './lane-inbox.ts';
import type { LaneMemory } from './lane-memory.ts';
import type { DeskReports, LaneOutcomes } from './lane-outcomes.ts';
import type { LaneTransaction } from './lane-transaction.ts';
import { MessageDrops } from './message-drops.ts';

const ADMISSION_KINDS: Record<Admission['kind'], AdmissionKind> = {
  call: 'called',
  finish: 'finished',
  copy: 'copy',
  conflict: 'conflict',
};

export type CommandItem = Exclude<Intake, { kind: 'unavailable' }>;

/** Why the oldest command of a topic is not admitted. */
export type AdmissionCause = ClaimRefusal | 'lane-full' | 'failed';

export interface AdmissionParts {
  readonly lane: number;
  readonly processId: string;
  readonly memory: LaneMemory;
  readonly outcomes: LaneOutcomes;
  readonly calls: Pick<Calls, 'claim' | 'settle'>;
  readonly policy: LedgerPolicy;
  readonly unfinishedMax: number;
  readonly clock: Clock;
  readonly reports: DeskReports;
  readonly traces: Pick<CommandTraces, 'admitted'>;
}

export class LaneAdmission {
  readonly #parts: AdmissionParts;
  readonly #drops = new MessageDrops();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Admits from one topic, oldest first. @returns why it stopped before the end, or null */
  async admitFrom(
    transaction: LaneTransaction,
    commit: number,
    topic: string,
    inbox: LaneInbox<CommandItem>,
  ): Promise<AdmissionCause | null> {
    return takeFrom(transaction, topic, inbox, async (ready) => {
      try {
        return await this.#admit(transaction, commit, ready.item);
      } catch (error) {
        return this.#drop(transaction, commit, topic, ready, error);
      }
    });
  }

  async #admit(transaction: LaneTransaction, commit: number, item: CommandItem): Promise<AdmissionCause | null> {
    const { calls, clock, lane, memory, outcomes, policy, processId, reports, unfinishedMax } = this.#parts;
    if (item.kind === 'misrouted') {
      transaction.add(item.record);
      transaction.reports.push(() => reports.moved(lane));
      return null;
    }
    if (item.kind === 'dead-letter') {
      outcomes.bury(transaction, item.letter);
      this.#trace(transaction, item.command, item.readMs, 'dead-letter', item.letter.reason);
      return null;
    }
    const { arrival, buriedAs, original, readMs } = item;
    const nowMs = clock.nowMs();
    const known = memory.entry(arrival.key);
    const admission = admit(arrival, known, nowMs, policy);
    switch (admission.kind) {
      case 'copy':
        await this.#copy(transaction, commit, known, arrival.commandId);
        break;
      case 'conflict':
        await outcomes.conflict(transaction, arrival, admission.result);
        break;
      case 'finish':
        await outcomes.apply(
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
        const refusal = calls.claim(claimOf(this.#parts, { attemptId, commit }, admission.entry, false));
        if (refusal !== null) return refusal;
        try {
          outcomes.put(transaction, commit, intentOf(admission.entry, { attemptId, processId, nowMs }, policy));
        } catch (error) {
          calls.settle(attemptId);
          throw error;
        }
        break;
      }
    }
    if (buriedAs !== null) outcomes.bury(transaction, { ...original, ...buriedAs });
    const kind = ADMISSION_KINDS[admission.kind];
    this.#trace(transaction, arrival, readMs, kind, buriedAs?.reason ?? null);
    return null;
  }

  #trace(
    transaction: LaneTransaction,
    command: TracedCommand,
    beganMs: number,
    kind: AdmissionKind,
    buriedAs: DeadLetterReason | null,
  ): void {
    const { traces } = this.#parts;
    transaction.reports.push(() => traces.admitted(command, { kind, beganMs, buriedAs }));
  }

  async #copy(
    transaction: LaneTransaction,
    commit: number,
    known: Entry | undefined,
    commandId: string | null,
  ): Promise<void> {
    const { outcomes, policy } = this.#parts;
    if (known === undefined || outcomes.replay(transaction, known, commandId)) return;
    const decision = decide(known, { kind: 'copied', copy: { commandId } }, policy);
    await outcomes.apply(transaction, commit, known, decision, null);
  }

  /** Our own code failed on a message before it was an entry: tried again, then set aside; nothing of it was ever sent. */
  async #drop(
    transaction: LaneTransaction,
    commit: number,
    topic: string,
    ready: Ready<CommandItem>,
    error: unknown,
  ): Promise<AdmissionCause | null> {
    const { clock, lane, memory, outcomes, policy, reports } = this.#parts;
    reports.failed(lane, 'admission', error);
    if (!this.#drops.count(topic, ready.offset)) return 'failed';
    const { item } = ready;
    if (item.kind !== 'arrival') throw error;
    const message = error instanceof Error ? error.message : String(error);
    outcomes.bury(transaction, { ...item.original, reason: 'SET_ASIDE', message });
    if (memory.entry(item.arrival.key) !== undefined) return null;
    const entry = newEntry(item.arrival, policy);
    const result = failedResult(entry, message, clock.nowMs());
    this.#trace(transaction, item.arrival, item.readMs, 'finished', 'SET_ASIDE');
    await outcomes.apply(transaction, commit, null, { kind: 'finish', entry, result, seen: null }, null);
    return null;
  }
}
