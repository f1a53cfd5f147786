/** Decisions of persons on results: the next revision, or a dead letter that says why not. */
import type { Clock } from '../clock.ts';
import type { DecisionIntake } from '../consumers/decision-intake.ts';
import type { LaneInbox } from '../consumers/inbox.ts';
import { errorText, type MessageFailures } from '../consumers/message-failures.ts';
import { letterAside, type Place } from '../consumers/message-origin.ts';
import { decideByOperator } from '../ledger/operator.ts';
import type { LedgerPolicy } from '../ledger/settlement.ts';
import { takeFrom } from './inbox-taking.ts';
import type { LaneMemory } from './memory.ts';
import type { DeskReports, LaneOutcomes } from './outcomes.ts';
import type { LaneTransaction } from './transaction.ts';

export type DecisionItem = Exclude<DecisionIntake, { kind: 'unavailable' }>;

export interface DecisionParts {
  readonly lane: number;
  readonly failures: MessageFailures;
  readonly memory: LaneMemory;
  readonly outcomes: LaneOutcomes;
  readonly policy: LedgerPolicy;
  readonly clock: Clock;
  readonly reports: DeskReports;
}

export class LaneDecisions {
  readonly #parts: DecisionParts;

  constructor(parts: DecisionParts) {
    this.#parts = parts;
  }

  async resolveFrom(
    transaction: LaneTransaction,
    commit: number,
    place: Place,
    inbox: LaneInbox<DecisionItem>,
  ): Promise<void> {
    const { failures, outcomes, reports } = this.#parts;
    await takeFrom(transaction, {
      topic: place.topic,
      inbox,
      failures,
      handle: (item) => this.#resolve(transaction, commit, item),
      setAside: async (message, error) => {
        const aside = { problem: errorText(error), isByReference: false };
        outcomes.bury(transaction, letterAside(place, message, aside));
      },
      onFailure: (error) => reports.failed(place.lane, 'decision', error),
    });
  }

  async #resolve(transaction: LaneTransaction, commit: number, item: DecisionItem): Promise<null> {
    const { clock, lane, memory, outcomes, policy, reports } = this.#parts;
    switch (item.kind) {
      case 'misrouted':
        transaction.add(item.record);
        transaction.reports.push(() => reports.moved(lane));
        return null;
      case 'dead-letter':
        outcomes.bury(transaction, item.letter);
        return null;
      case 'decision': {
        const entry = memory.entry(item.key);
        const reply = decideByOperator(entry, item.decision, clock.nowMs(), policy);
        if (reply.kind === 'refused') {
          outcomes.bury(transaction, { ...item.original, reason: 'REFUSED_DECISION', message: reply.reason });
        } else {
          await outcomes.apply(transaction, commit, entry ?? null, reply.decision, null);
        }
        transaction.reports.push(() => reports.decided(lane, item.decision, reply.kind === 'decided'));
        return null;
      }
    }
  }
}
