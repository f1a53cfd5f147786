/**
 * The transactions of one transactional producer, one after the other. All lanes that are open here fill each of them.
 *
 *   rest       no lane has anything to commit
 *   fill       lanes add what they have by now; that names the partitions of the next transaction
 *   register   waits until the coordinator has ended the previous transaction
 *   fill again lanes add what has happened meanwhile; as much as every partition takes goes out
 *   write, end all of it is committed, or none
 *   broken     a transaction did not go through: every lane here is lost, and is taken again through another loop
 *
 * Lanes wait for nothing here: the loop asks them, and tells them. The loop alone waits for brokers.
 */
import type { Clock } from 'payment-processor-contract/clock';
import { Signal } from '../consumers/signal.ts';
import type { Written } from '../producers/producer-session.ts';
import { encodeBatches } from '../producers/record-batch.ts';
import { TransactionFailedError, type TransactionalProducer } from '../producers/transactional-producer.ts';
import { fitting, partitionsOf, recordsOf, type LaneCommit } from './lane-commit.ts';
import { LostWithOthersError, wasRefused } from './troubles.ts';

/** Where a lane's records lie. */
export interface Committed {
  readonly written: Written;
  readonly commit: LaneCommit;
}

/** What fills transactions. Nothing of it waits. */
export interface Filler {
  readonly lane: number;
  /**
   * Asked when it was woken, and again until it is committed. What it throws loses this lane alone.
   * @param untilMs on the monotonic clock: when it must have ended
   * @returns all that is to be committed by now; null: nothing
   */
  fill(untilMs: number): LaneCommit | null;
  committed(committed: Committed): void;
  /** It is asked no more, and whether its last commit went through is not certain. */
  lost(error: unknown): void;
}

/** A filler's place in the loop. */
export interface Seat {
  wake(): void;
  /** The filler is asked no more. What is under way is committed, and it is told so. */
  leave(): void;
}

/** All lanes together, in one turn of the event loop: some hundred commands. Timers, sockets and calls have the others. */
const FILL_MS_MAX = 10;
/** How often idle lanes look for deadlines that pass while nothing happens. */
const LOOK_AGAIN_MS = 1_000;

interface Seated extends Seat {
  readonly filler: Filler;
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
  readonly #signal = new Signal();
  /** Without those whose transaction is under way; whose last transaction is longest ago comes first. */
  #seats: Seated[] = [];
  #running: Promise<void> | null = null;
  #opening: Promise<void> | null = null;
  #lookedMs = -Infinity;
  #broken: Error | null = null;
  #wasRefusedTogether = false;
  #isClosing = false;

  /** @param apartUntilMs of the monotonic clock: until then each lane has transactions of its own */
  constructor(
    transactionalId: string,
    producer: TransactionalProducer,
    clock: Pick<Clock, 'monotonicMs'>,
    apartUntilMs: number,
  ) {
    this.transactionalId = transactionalId;
    this.#producer = producer;
    this.#clock = clock;
    this.#apartUntilMs = apartUntilMs;
  }

  isBroken(): boolean {
    return this.#broken !== null;
  }

  /** It broke because the broker refused what several lanes had together. */
  wasRefusedTogether(): boolean {
    return this.#wasRefusedTogether;
  }

  /** Ahead of the first commit, which need not wait for it then. @throws what breaks the loop with that commit */
  open(): Promise<void> {
    this.#opening ??= this.#producer.open();
    return this.#opening;
  }

  /** A broken loop loses the filler at once. */
  join(filler: Filler): Seat {
    return this.#seat(filler, null);
  }

  /**
   * Commits this once, with the next transaction that has room.
   * @returns where it lies; of the lane's partitions nothing else of this process is in that transaction
   * @throws TransactionFailedError, LostWithOthersError when it is not certain that it was committed; the loop is broken then
   */
  commit(commit: LaneCommit): Promise<Committed> {
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
    const seat = this.#seat(filler, commit);
    return promise;
  }

  /** Takes back what `commit` was given. @returns false: it is under way, or over */
  cancel(commit: LaneCommit): boolean {
    const seat = this.#seats.find((seated) => seated.commit === commit);
    if (seat !== undefined) this.#lose(seat, new LostWithOthersError('the lane was lost before'));
    return seat !== undefined;
  }

  /** Once nothing is left to commit, or the producer broke. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#signal.wake();
    await this.#running;
    this.#break(new TransactionFailedError('the process ends'), []);
  }

  #seat(filler: Filler, commit: LaneCommit | null): Seated {
    const seat: Seated = {
      filler,
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
      filler.lost(lostWith(this.#broken));
      return seat;
    }
    this.#seats.push(seat);
    this.#signal.wake();
    this.#running ??= this.#run();
    return seat;
  }

  async #run(): Promise<void> {
    // What others hand over in the same turn goes along.
    await Promise.resolve();
    while (this.#seats.length > 0 && this.#broken === null) {
      const together = this.#filled();
      if (together.length > 0) await this.#transact(together);
      else if (this.#isClosing) break;
      else await this.#rest();
    }
    this.#running = null;
  }

  async #rest(): Promise<void> {
    // One that was cut short. Others have their turn first.
    if (this.#seats.some(({ isAwake }) => isAwake)) await new Promise((resolve) => setImmediate(resolve));
    else await this.#signal.wait(Math.max(0, this.#lookedMs + LOOK_AGAIN_MS - this.#clock.monotonicMs()));
  }

  async #transact(expected: readonly Seated[]): Promise<void> {
    let together = expected;
    // What is announced comes first: a partition that is announced and not written gets a marker all the same.
    this.#seats = [...expected, ...this.#seats.filter((seat) => !expected.includes(seat))];
    try {
      await this.open();
      const written = await this.#producer.commit(partitionsOf(expected), async () => {
        together = this.#filled();
        this.#seats = this.#seats.filter((seat) => !together.includes(seat));
        return encodeBatches(recordsOf(together));
      });
      // Who is asked last has what the others left: another one each time.
      for (const seat of [...together.slice(1), ...together.slice(0, 1)]) this.#committed(seat, written);
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)), together);
    }
  }

  /** @returns what of it goes out together */
  #filled(): Seated[] {
    const beganMs = this.#clock.monotonicMs();
    if (beganMs - this.#lookedMs >= LOOK_AGAIN_MS) {
      this.#lookedMs = beganMs;
      for (const seat of this.#seats) seat.isAwake = true;
    }
    const asked = this.#seats.filter(({ commit, isAwake }) => isAwake || commit !== null);
    for (const [index, seat] of asked.entries()) {
      if (seat.isOver) continue;
      const nowMs = this.#clock.monotonicMs();
      // Before: what happens from now on wakes it again.
      seat.isAwake = false;
      try {
        seat.commit = seat.filler.fill(nowMs + (beganMs + FILL_MS_MAX - nowMs) / (asked.length - index));
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

  #break(error: Error, together: readonly Seated[]): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    this.#producer.drop();
    this.#wasRefusedTogether = together.length > 1 && wasRefused(error);
    // Of several lanes nobody knows whose it was.
    const ofTogether = this.#wasRefusedTogether ? lostWith(error) : error;
    for (const seat of together) this.#lose(seat, ofTogether);
    for (const seat of this.#seats) this.#lose(seat, lostWith(error));
  }
}

function lostWith(error: Error): LostWithOthersError {
  return new LostWithOthersError(`the process's producer broke: ${error.message}`, { cause: error });
}
