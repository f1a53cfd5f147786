/** Decisions of persons on results: the next revision, or a dead letter that says why not. */
import type { Clock } from '../api/clock.ts';
import { decideByOperator } from '../ledger/operator.ts';
import type { LedgerPolicy } from '../ledger/settlement.ts';
import type { DecisionIntake } from './decision-intake.ts';
import { takeFrom } from './inbox-taking.ts';
import type { LaneInbox, Ready } from './lane-inbox.ts';
import type { LaneMemory } from './lane-memory.ts';
import type { DeskReports, LaneOutcomes } from './lane-outcomes.ts';
import type { LaneTransaction } from './lane-transaction.ts';
import { MessageDrops } from './message-drops.ts';

export type DecisionItem = Exclude<DecisionIntake, { kind: 'unavailable' }>;

export interface DecisionParts {
  readonly lane: number;
  readonly memory: LaneMemory;
  readonly outcomes: LaneOutcomes;
  readonly policy: LedgerPolicy;
  readonly clock: Clock;
  readonly reports: DeskReports;
}

export class LaneDecisions {
  readonly #parts: DecisionParts;
  readonly #drops = new MessageDrops();

  constructor(parts: DecisionParts) {
    this.#parts = parts;
  }

  async resolveFrom(
    transaction: LaneTransaction,
    commit: number,
    topic: string,
    inbox: LaneInbox<DecisionItem>,
  ): Promise<void> {
    await takeFrom(transaction, topic, inbox, async (ready) => {
      try {
        await this.#resolve(transaction, commit, ready.item);
        return null;
      } catch (error) {
        return this.#drop(transaction, topic, ready, error) ? null : 'failed';
      }
    });
  }

  async #resolve(transaction: LaneTransaction, commit: number, item: DecisionItem): Promise<void> {
    const { clock, lane, memory, outcomes, policy, reports } = this.#parts;
    switch (item.kind) {
      case 'misrouted':
        transaction.add(item.record);
        transaction.reports.push(() => reports.moved(lane));
        return;
      case 'dead-letter':
        outcomes.bury(transaction, item.letter);
        return;
      case 'decision': {
        const entry = memory.entry(item.key);
        const reply = decideByOperator(entry, item.decision, clock.nowMs(), policy);
        if (reply.kind === 'refused') {
          outcomes.bury(transaction, { ...item.original, reason: 'REFUSED_DECISION', message: reply.reason });
        } else {
          await outcomes.apply(transaction, commit, entry ?? null, reply.decision, null);
        }
        transaction.reports.push(() => reports.decided(lane, item.decision, reply.kind === 'decided'));
      }
    }
  }

  /** @returns whether the decision is set aside; else it is tried again */
  #drop(transaction: LaneTransaction, topic: string, ready: Ready<DecisionItem>, error: unknown): boolean {
    const { lane, outcomes, reports } = this.#parts;
    reports.failed(lane, 'decision', error);
    if (ready.item.kind !== 'decision' || !this.#drops.count(topic, ready.offset)) return false;
    const message = error instanceof Error ? error.message : String(error);
    outcomes.bury(transaction, { ...ready.item.original, reason: 'SET_ASIDE', message });
    return true;
  }
}
