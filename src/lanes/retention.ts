/**
 * An open lane forgets old records. Each of its Kafka transactions carries a limited number of tombstones, for entries done
 * LEDGER_RETENTION ago and for payment transactions at rest long enough. UNKNOWN results are never forgotten.
 *
 * A forgotten key cannot be recovered, and a copy of its command would be paid again. So we never trust a single clock. A row's
 * time is the later of its writer's clock and the broker's (lane-store.ts). The present is the earlier of our wall clock and the
 * latest time that a broker gave to a record of the lane.
 *
 * A key is also kept while a copy that was published in time may still wait for admission (admitted-time.ts).
 *
 * A record says since when the lane knows all keys. If LEDGER_RETENTION has changed, the owner writes a new one with
 * its first commit.
 *
 * The index may lag behind the lane's commits: a record stays if memory may hold a newer version.
 */
import { retentionRecords, keysKnownFromMs, RETENTION_KEY, type KeyRetention } from '../ledger/key-retention.ts';
import { readable } from '../ledger/ledger-value.ts';
import { pollRecords, POLL_KEY } from '../status/poller/record.ts';
import type { LedgerTimes } from '../store/ledger-index.ts';
import type { AdmittedTime } from './inputs/admitted-time.ts';
import type { Memory } from './memory.ts';
import type { LaneParts } from './parts.ts';
import { POLLER_LANE } from './poller-link.ts';
import type { LaneTransaction } from './commits/transaction.ts';

type RetentionParts = Pick<LaneParts, 'lane' | 'index' | 'clock' | 'retention'>;

/** Tombstones in one transaction: some 50 KB, and a few milliseconds of its time. */
const TOMBSTONES_MAX = 500;
/** Interval between checks while nothing is old enough; for a short retention, a tenth of the retention. */
const LOOK_MS_MAX = 60_000;
const LOOKS_PER_RETENTION = 10;
/** Interval while there is more: by then the index has usually dropped the forgotten keys. That allows 2,500 keys a second. */
const LOOK_FOR_MORE_MS = 200;
/** Interval while a copy that waits may still need an old key. */
const LOOK_ADMITTED_MS = 1_000;

export class Retention {
  readonly #parts: RetentionParts;
  readonly #memory: Memory;
  readonly #admitted: Pick<AdmittedTime, 'upToMs'>;
  readonly #lookMs: number;
  #nextLookMs = 0;
  /** As the ledger has it; null: it has none. */
  readonly #recorded: KeyRetention | null;
  #isRecorded: boolean;

  constructor(parts: RetentionParts, memory: Memory, admitted: Pick<AdmittedTime, 'upToMs'>) {
    this.#parts = parts;
    this.#memory = memory;
    const recorded = parts.index.value(parts.lane, RETENTION_KEY);
    this.#recorded = recorded === undefined ? null : retentionRecords.decode(recorded);
    this.#isRecorded = this.#recorded?.keptForMs === parts.retention.doneMs;
    this.#admitted = admitted;
    this.#lookMs = Math.min(LOOK_MS_MAX, parts.retention.doneMs / LOOKS_PER_RETENTION);
  }

  /** Puts the tombstones that are due into the transaction. */
  gather(transaction: LaneTransaction): void {
    this.#forget(transaction);
    // It needs no commit of its own: a lane forgets keys only in a commit, and this record is part of the first one.
    if (this.#isRecorded || transaction.isEmpty()) return;
    this.#isRecorded = true;
    const { index, lane, retention } = this.#parts;
    // By the brokers' clocks alone: ours may be far ahead, and no later record would correct it.
    const nowMs = index.checkpoint(lane).timestampMs;
    transaction.retain({ knownFromMs: keysKnownFromMs(this.#recorded, nowMs), keptForMs: retention.doneMs });
  }

  #forget(transaction: LaneTransaction): void {
    const { clock, index, lane } = this.#parts;
    if (clock.monotonicMs() < this.#nextLookMs || transaction.isFull()) return;
    const wallMs = clock.nowMs();
    const nowMs = Math.min(wallMs, index.checkpoint(lane).timestampMs);
    if (this.#isAnyExpired(nowMs)) {
      const before = this.#before(nowMs, Math.min(nowMs, this.#admitted.upToMs()));
      const keys = index.expired(lane, before, TOMBSTONES_MAX);
      for (const key of keys) if (!this.#memory.isAhead(key)) transaction.forget(key);
      if (keys.length === 0) this.#lookAfter(LOOK_ADMITTED_MS);
      else this.#lookAfter(keys.length < TOMBSTONES_MAX ? this.#lookMs : LOOK_FOR_MORE_MS);
    } else {
      // An idle lane learns the broker's time only from a record of its own.
      if (this.#isAnyExpired(wallMs)) transaction.commitAnyway();
      this.#lookAfter(this.#lookMs);
    }
  }

  #lookAfter(waitMs: number): void {
    this.#nextLookMs = this.#parts.clock.monotonicMs() + waitMs;
  }

  #isAnyExpired(nowMs: number): boolean {
    const { index, lane } = this.#parts;
    return index.expired(lane, this.#before(nowMs, nowMs), 1).length > 0;
  }

  #before(nowMs: number, admittedMs: number): LedgerTimes {
    const { doneMs, transactionMs } = this.#parts.retention;
    return { doneMs: admittedMs - doneMs, transactionMs: nowMs - Math.max(transactionMs, this.#polledMs()) };
  }

  /** The poller announces transactions without a state. It may still count on a longer LEDGER_RETENTION than ours. */
  #polledMs(): number {
    const value = this.#parts.index.value(POLLER_LANE, POLL_KEY);
    return value === undefined ? 0 : (readable(() => pollRecords.decode(value))?.forgottenAfterMs ?? 0);
  }
}
