/**
 * Forgetting, by the open lane's owner: tombstones for entries that were done LEDGER_RETENTION ago and for transactions
 * at rest as long, a bounded number with each of the lane's ordinary transactions. UNKNOWN never is forgotten.
 *
 * The index may lag behind what the lane has committed, so what it names is looked up in the lane's memory first.
 */
import type { LedgerIndex, LedgerTimes } from '../ledger/ledger-index.ts';
import { ENTRY_PREFIX, TRANSACTION_PREFIX } from '../ledger/ledger-records.ts';
import { restingSinceMs } from '../status/rest.ts';
import type { Clock } from '../api/clock.ts';
import type { LaneMemory } from './lane-memory.ts';
import type { LaneTransaction } from './lane-transaction.ts';

export interface RetentionPolicy {
  readonly doneMs: number;
  readonly transactionMs: number;
}

export interface LaneRetentionParts {
  readonly lane: number;
  readonly index: LedgerIndex;
  readonly clock: Clock;
  readonly retention: RetentionPolicy;
}

/** Tombstones in one transaction: some 50 KB, and a few milliseconds of its time. */
const TOMBSTONES_MAX = 500;
/** Between looks while nothing is old enough; a short retention is kept to within a tenth. */
const LOOK_MS_MAX = 60_000;
const LOOKS_PER_RETENTION = 10;
/** While there is more: what was forgotten has left the index by then, as a rule. With the above, 2,500 keys a second. */
const LOOK_ON_MS = 200;

export class LaneRetention {
  readonly #parts: LaneRetentionParts;
  readonly #memory: LaneMemory;
  readonly #lookMs: number;
  #nextLookMs = 0;

  constructor(parts: LaneRetentionParts, memory: LaneMemory) {
    this.#parts = parts;
    this.#memory = memory;
    this.#lookMs = Math.min(LOOK_MS_MAX, parts.retention.doneMs / LOOKS_PER_RETENTION);
  }

  /** Puts the tombstones that are due into the transaction. */
  gather(transaction: LaneTransaction): void {
    const { clock, index, lane, retention } = this.#parts;
    const nowMs = clock.nowMs();
    if (clock.monotonicMs() < this.#nextLookMs || transaction.isFull()) return;
    const before = { doneMs: nowMs - retention.doneMs, transactionMs: nowMs - retention.transactionMs };
    const keys = index.expired(lane, before, TOMBSTONES_MAX);
    for (const key of keys) if (this.#isExpired(key, before)) transaction.forget(key);
    this.#nextLookMs = clock.monotonicMs() + (keys.length < TOMBSTONES_MAX ? this.#lookMs : LOOK_ON_MS);
  }

  #isExpired(ledgerKey: string, before: LedgerTimes): boolean {
    if (ledgerKey.startsWith(ENTRY_PREFIX)) {
      const phase = this.#memory.entry(ledgerKey.slice(ENTRY_PREFIX.length))?.phase;
      return phase?.state === 'DONE' && phase.outcome !== 'UNKNOWN' && phase.completedMs < before.doneMs;
    }
    const state = this.#memory.transaction(ledgerKey.slice(TRANSACTION_PREFIX.length));
    const restingMs = state === undefined ? null : restingSinceMs(state);
    return restingMs !== null && restingMs < before.transactionMs;
  }
}
