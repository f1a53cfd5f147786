/**
 * The transactions of one transactional producer, one after the other. Each carries what all lanes open here have to commit.
 *
 *   rest       no lane has anything to commit
 *   fill       lanes add what they have by now; that names the partitions of the next transaction
 *   register   registers those partitions. That waits until the coordinator has ended the previous transaction
 *   fill again lanes add what has happened meanwhile, as far as each partition has room
 *   write, end commits all of it, or none
 *   broken     a transaction failed: every lane here is lost, and is retaken through another loop
 *
 * Lanes never wait here: the loop calls them. Only the loop waits for brokers.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { Signal } from '../../consumers/signal.ts';
import { BrokerAnswerError } from '../../producers/broker-verdicts.ts';
import type { Written } from '../../producers/producer-session.ts';
import { encodeBatches } from '../../producers/record-batch.ts';
import { TransactionFailedError, type TransactionalProducer } from '../../producers/transactional-producer.ts';
import { fitting, partitionsOf, recordsOf, type LaneCommit } from './lane-commit.ts';
import { LostWithOthersError, wasRefused } from './troubles.ts';

/** A lane's commit, and the offsets of its records. */
export interface Committed {
  readonly written: Written;
  readonly commit: LaneCommit;
}

/** Fills transactions. Its methods never wait. */
export interface Filler {
  readonly lane: number;
  /**
   * Called after a wake, and again until the commit. An error that it throws loses only this lane.
   * @param untilMs on the monotonic clock: it must return by then
   * @returns everything to commit by now; null: nothing
   */
  fill(untilMs: number): LaneCommit | null;
  committed(committed: Committed): void;
  /** The loop no longer calls it. Its last commit may or may not have gone through. */
  lost(error: unknown): void;
}

/** A filler's place in the loop. */
export interface Seat {
  wake(): void;
  /** The loop no longer fills from it. A commit under way still completes, and is reported. */
  leave(): void;
}

/** Time for all lanes in one turn of the event loop: a few hundred commands. Then timers, sockets and calls get their turn. */
const FILL_MS_MAX = 10;
/** Idle lanes wake this often, to see deadlines that pass while nothing happens. */
const WAKE_ALL_MS = 1_000;

interface Seated extends Seat {
  readonly filler: Filler;
  readonly isRelease: boolean;
  isAwake: boolean;
  isOver: boolean;
  /** Null: it has nothing to commit. */
  commit: LaneCommit | null;
}

export class Loop {
  readonly transactionalId: string;
  readonly #producer: TransactionalProducer;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #apartUntilMs: number;
  readonly #isDatedByBrokers: boolean;
  readonly #signal = new Signal();
  /** Those outside the transaction under way: first releases, for which other processes wait; then the longest waiting first. */
  #seats: Seated[] = [];
  #running: Promise<void> | null = null;
  #opening: Promise<void> | null = null;
  #wokeAllMs = -Infinity;
  /** How far the brokers' clock is ahead of the monotonic one; null: not known yet, or records get our own time. */
  #brokersAheadMs: number | null = null;
  #broken: Error | null = null;
  #wasRefusedTogether = false;
  #isClosing = false;

  /**
   * @param apartUntilMs on the monotonic clock: until then each lane has transactions of its own
   * @param isDatedByBrokers true: records get the brokers' time once a commit has shown it; false: always our own
   */
  constructor(
    transactionalId: string,
    producer: TransactionalProducer,
    clock: Pick<Clock, 'monotonicMs'>,
    apartUntilMs: number,
    isDatedByBrokers = true,
  ) {
    this.transactionalId = transactionalId;
    this.#producer = producer;
    this.#clock = clock;
    this.#apartUntilMs = apartUntilMs;
    this.#isDatedByBrokers = isDatedByBrokers;
  }

  isBroken(): boolean {
    return this.#broken !== null;
  }

  /** True if it broke because the broker refused a transaction of several lanes. */
  wasRefusedTogether(): boolean {
    return this.#wasRefusedTogether;
  }

  /** Whose clock dated the records, if a broker refused that time and so broke the loop; else null. */
  refusedTime(): 'brokers' | 'own' | null {
    const cause = this.#broken?.cause;
    if (!(cause instanceof BrokerAnswerError) || cause.type !== 'INVALID_TIMESTAMP') return null;
    return this.#brokersAheadMs === null ? 'own' : 'brokers';
  }

  /** Connects early, so that the first commit need not wait. @throws an error that the first commit will get, too */
  open(): Promise<void> {
    this.#opening ??= this.#producer.open();
    return this.#opening;
  }

  /** If the loop is broken, it calls `lost` at once. */
  join(filler: Filler): Seat {
    return this.#seat(filler, null, false);
  }

  /**
   * Commits this once, in the next transaction that has room.
   * @param isRelease it goes into the next one, ahead of all others
   * @returns the offsets of its records; the transaction writes nothing else to the lane's partition of the ledger
   * @throws TransactionFailedError, LostWithOthersError when the commit is not certain: then the loop is broken;
   *   LostWithOthersError also when the commit was cancelled
   */
  commit(commit: LaneCommit, isRelease = false): Promise<Committed> {
    const { promise, reject, resolve } = Promise.withResolvers<Committed>();
    const filler: Filler = {
      lane: commit.lane,
      fill: () => commit,
      committed: (committed) => {
        seat.leave();
        resolve(committed);
      },
      lost: reject,
    };
    const seat = this.#seat(filler, commit, isRelease);
    return promise;
  }

  /** Withdraws a commit that still waits. @returns false: it is under way, or over */
  cancel(commit: LaneCommit): boolean {
    const seat = this.#seats.find((seated) => seated.commit === commit);
    if (seat !== undefined) this.#lose(seat, new LostWithOthersError('the lane was lost before its commit began'));
    return seat !== undefined;
  }

  /** First commits what still waits, unless the producer failed. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#signal.wake();
    await this.#running;
    this.#break(new TransactionFailedError('the process is shutting down'), []);
  }

  #seat(filler: Filler, commit: LaneCommit | null, isRelease: boolean): Seated {
    const seat: Seated = {
      filler,
      isRelease,
      isAwake: true,
      isOver: false,
      commit,
      wake: () => {
        seat.isAwake = true;
        this.#signal.wake();
      },
      leave: () => this.#leave(seat),
    };
    if (this.#broken !== null) {
      filler.lost(lostWithOthers(this.#broken));
      return seat;
    }
    this.#seats = isRelease ? [seat, ...this.#seats] : [...this.#seats, seat];
    this.#signal.wake();
    this.#running ??= this.#run();
    return seat;
  }

  async #run(): Promise<void> {
    // Commits that others hand over in the same turn join this transaction.
    await Promise.resolve();
    while (this.#seats.length > 0 && this.#broken === null) {
      const included = this.#filled();
      if (included.length > 0) await this.#transact(included);
      else if (this.#isClosing) break;
      else await this.#rest();
    }
    this.#running = null;
  }

  async #rest(): Promise<void> {
    // A lane ran out of time and has more to commit. Other work gets its turn first.
    if (this.#seats.some(({ isAwake }) => isAwake)) await new Promise((resolve) => setImmediate(resolve));
    else await this.#signal.wait(Math.max(0, this.#wokeAllMs + WAKE_ALL_MS - this.#clock.monotonicMs()));
  }

  async #transact(expected: readonly Seated[]): Promise<void> {
    let included = expected;
    // Lanes whose partitions are registered get room first: a registered partition gets a marker even if nothing is written to it.
    this.#seats = [...expected, ...this.#seats.filter((seat) => !expected.includes(seat))];
    try {
      await this.open();
      const written = await this.#producer.commit(partitionsOf(expected), async () => {
        included = this.#filled();
        this.#seats = this.#seats.filter((seat) => !included.includes(seat));
        return encodeBatches(recordsOf(included), this.#brokersMs());
      });
      this.#noteBrokersTime(written);
      // Rotated, because the last lane gets only the room that the others left.
      for (const seat of [...included.slice(1), ...included.slice(0, 1)]) this.#committed(seat, written);
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)), included);
    }
  }

  /** Undefined: records get our own time. It may be ahead, and brokers refuse a record an hour ahead of theirs. */
  #brokersMs(): number | undefined {
    return this.#brokersAheadMs === null ? undefined : Math.floor(this.#clock.monotonicMs() + this.#brokersAheadMs);
  }

  #noteBrokersTime(written: Written): void {
    const latestMs = Math.max(0, ...[...written.values()].map(({ timestampMs }) => timestampMs));
    if (latestMs > 0 && this.#isDatedByBrokers) this.#brokersAheadMs = latestMs - this.#clock.monotonicMs();
  }

  /** @returns the seats whose commits go out together */
  #filled(): Seated[] {
    const beganMs = this.#clock.monotonicMs();
    if (beganMs - this.#wokeAllMs >= WAKE_ALL_MS) {
      this.#wokeAllMs = beganMs;
      for (const seat of this.#seats) seat.isAwake = true;
    }
    const filling = this.#seats.filter(({ commit, isAwake }) => isAwake || commit !== null);
    for (const [index, seat] of filling.entries()) {
      if (seat.isOver) continue;
      const nowMs = this.#clock.monotonicMs();
      // Reset before `fill`: an event during or after it must wake the seat again.
      seat.isAwake = false;
      try {
        seat.commit = seat.filler.fill(nowMs + (beganMs + FILL_MS_MAX - nowMs) / (filling.length - index));
      } catch (error) {
        this.#lose(seat, error);
      }
    }
    return fitting(this.#seats, this.#clock.monotonicMs() < this.#apartUntilMs);
  }

  #committed(seat: Seated, written: Written): void {
    const { commit, filler } = seat;
    if (commit === null) return;
    seat.commit = null;
    seat.isAwake = true;
    if (!seat.isOver) this.#seats.push(seat);
    try {
      filler.committed({ written, commit });
    } catch (error) {
      this.#lose(seat, error);
    }
  }

  #leave(seat: Seated): void {
    seat.isOver = true;
    this.#seats = this.#seats.filter((seated) => seated !== seat);
    this.#signal.wake();
  }

  #lose(seat: Seated, reason: unknown): void {
    if (seat.isOver) return;
    this.#leave(seat);
    seat.filler.lost(reason);
  }

  #break(error: Error, included: readonly Seated[]): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    this.#producer.drop();
    this.#wasRefusedTogether = included.length > 1 && wasRefused(error);
    // With several lanes we do not know whose records were refused.
    const reason = this.#wasRefusedTogether ? lostWithOthers(error) : error;
    for (const seat of included) this.#lose(seat, reason);
    for (const seat of this.#seats) this.#lose(seat, lostWithOthers(error));
  }
}

function lostWithOthers(error: Error): LostWithOthersError {
  return new LostWithOthersError(`the process's producer failed: ${error.message}`, { cause: error });
}
