/**
 * The coordinators of transactions, each of a part of the transactional ids. One of them can be lost for a while: nothing of
 * its transactions begins or ends, and no marker is written, though the outcome may stand. Another node goes on with them.
 */
import { brokerError } from './broker-error.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Each coordinates a part of the transactional ids, and leads a part of the partitions. */
export const NODES = 3;

export class Coordinators {
  readonly #time: VirtualTime;
  #lost = { place: 0, untilMs: -Infinity };
  #losingForMs: number | null = null;
  /** How often a part was lost, by its place. */
  readonly #moves = new Map<number, number>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  lose(place: number, forMs: number): void {
    this.#lost = { place, untilMs: this.#time.nowMs + forMs };
    this.#move(place);
  }

  /** To another node, which goes on at once. */
  move(transactionalId: string): void {
    this.#move(placeOf(transactionalId));
  }

  #move(place: number): void {
    this.#moves.set(place, (this.#moves.get(place) ?? 0) + 1);
  }

  /** Markers may wait for one that is away. */
  isOneLost(): boolean {
    return this.#lost.untilMs > this.#time.nowMs;
  }

  /** The one of the next transaction that is committed, before it writes any marker. */
  loseAtCommit(forMs: number): void {
    this.#losingForMs = forMs;
  }

  /** The outcome of a transaction is fixed, and not yet reported. */
  committed(transactionalId: string): void {
    if (this.#losingForMs !== null) this.lose(placeOf(transactionalId), this.#losingForMs);
    this.#losingForMs = null;
  }

  /** The node that coordinates the id. */
  nodeOf(transactionalId: string): number {
    const place = placeOf(transactionalId);
    return (place + (this.#moves.get(place) ?? 0)) % NODES;
  }

  /** @throws BrokerError while the id's is lost */
  check(transactionalId: string): void {
    if (this.#lostForMs(transactionalId) > 0) throw brokerError('NOT_COORDINATOR_FOR_GROUP');
  }

  /** Work of the id's, once it is there. */
  after(delayMs: number, transactionalId: string, work: () => void): { cancel: () => void } {
    let waiting = this.#time.after(delayMs, null, () => {
      const lostForMs = this.#lostForMs(transactionalId);
      if (lostForMs > 0) waiting = this.after(lostForMs, transactionalId, work);
      else work();
    });
    return { cancel: () => waiting.cancel() };
  }

  /** From now on. */
  #lostForMs(transactionalId: string): number {
    const { place, untilMs } = this.#lost;
    return place === placeOf(transactionalId) ? untilMs - this.#time.nowMs : 0;
  }
}

function placeOf(transactionalId: string): number {
  return Buffer.from(transactionalId).reduce((sum, byte) => sum + byte, 0) % NODES;
}
