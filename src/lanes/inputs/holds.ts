/**
 * The operators' holds of a lane, as its owner knows them: from the ledger and the holds topic.
 *
 * An order is in force from the moment the owner reads it. The owner commits its ledger record after that, so the record proves
 * that this owner begins no call against the order. An operator may have given an order while nobody owned the lane. So no call
 * begins until the owner has read the topic as far as it was written when it took the lane.
 *
 * A fenced owner may not know yet that it is fenced, and may begin calls until its heartbeat is too old. Until then we confirm no
 * order.
 */
import type { HoldIntake } from '../../consumers/hold-intake.ts';
import type { Entry } from '../../ledger/entry.ts';
import { decodeHolds, holdRecords, isHeld, withOrder, type HoldsRecord } from '../../ledger/holds.ts';
import { HOLD_KEY } from '../../ledger/ledger-records.ts';
import type { ClaimRefusal, HeldCalls } from '../calls/claim-limits.ts';
import type { Outcomes } from '../outcomes.ts';
import type { LaneParts } from '../parts.ts';
import type { InputHandler } from './taking.ts';
import type { LaneTransaction } from '../commits/transaction.ts';

/** A fenced former owner may still begin calls. */
export type HoldStop = 'former-owner';

export class Holds implements InputHandler<HoldIntake, HoldStop>, HeldCalls {
  readonly name = 'hold';
  readonly #parts: LaneParts & { readonly outcomes: Outcomes };
  readonly #isRead: () => boolean;
  readonly #confirmsFromMs: number;
  #record: HoldsRecord;

  /** @param isRead whether the owner has read the topic as far as it was written when the lane was taken */
  constructor(parts: LaneParts & { readonly outcomes: Outcomes }, isRead: () => boolean) {
    this.#parts = parts;
    this.#isRead = isRead;
    const { clock, index, lane, sessionTimeoutMs } = parts;
    const waitMs = (index.owner(lane)?.fencedCallUntilMs ?? 0) - clock.nowMs();
    // The time may come from an earlier owner's clock: a wrong clock must not delay the confirmation for longer.
    this.#confirmsFromMs = clock.monotonicMs() + Math.min(waitMs, sessionTimeoutMs);
    this.#record = decodeHolds(parts.index.value(parts.lane, HOLD_KEY));
  }

  setAside(...message: Parameters<Outcomes['setAside']>): void {
    this.#parts.outcomes.setAside(...message);
  }

  handle(transaction: LaneTransaction, item: HoldIntake): HoldStop | null {
    const { clock, lane, log, outcomes, topics } = this.#parts;
    if (item.kind === 'dead-letter') {
      outcomes.deadLetter(transaction, item.letter);
      return null;
    }
    const { offset, order } = item;
    const record = withOrder(this.#record, order, offset);
    const value = holdRecords.encode(record);
    // In force from now on, even before it is committed.
    this.#record = record;
    if (clock.monotonicMs() < this.#confirmsFromMs) return 'former-owner';
    transaction.add({ topic: topics.ledger, partition: lane, key: HOLD_KEY, value, headers: {} });
    const { action, commandTypes, until } = order;
    const fields = { event: 'operator-hold', lane, action, commandTypes, until, offset: String(offset) };
    transaction.reports.push(() => log.warn(fields, `an operator ${action === 'HOLD' ? 'held calls' : 'ended holds'}`));
    return null;
  }

  refusal(entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>): ClaimRefusal | null {
    if (!this.#isRead()) return 'holds-unread';
    return isHeld(this.#record, entry, this.#parts.clock.nowMs()) ? 'operator-hold' : null;
  }
}
