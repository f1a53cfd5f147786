/**
 * The transaction coordinators; each has a part of the transactional ids. One can be lost for a while: its transactions
 * neither begin nor end, and get no markers, although their outcomes may be decided. Then another node takes over.
 */
import { brokerError } from './broker-error.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Each coordinates a part of the transactional ids, and leads a part of the partitions. */
export const NODES = 3;

export class Coordinators {
  readonly #time: VirtualTime;
  #lost = { place: 0, untilMs: -Infinity };
  #losingForMs: number | null = null;
  /** How often each part moved to another node, by its place. */
  readonly #moves = new Map<number, number>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  lose(place: number, forMs: number): void {
    this.#lost = { place, untilMs: this.#time.nowMs + forMs };
    this.#move(place);
  }

  /** Moves the id's part to another node, which takes over at once. */
  move(transactionalId: string): void {
    this.#move(placeOf(transactionalId));
  }

  #move(place: number): void {
    this.#moves.set(place, (this.#moves.get(place) ?? 0) + 1);
  }

  /** While one is lost, markers may be pending. */
  isOneLost(): boolean {
    return this.#lost.untilMs > this.#time.nowMs;
  }

  /** Loses the coordinator of the next committed transaction before it writes any marker. */
  loseAtCommit(forMs: number): void {
    this.#losingForMs = forMs;
  }

  /** Called when a commit is decided but not yet reported. */
  committed(transactionalId: string): void {
    if (this.#losingForMs !== null) this.lose(placeOf(transactionalId), this.#losingForMs);
    this.#losingForMs = null;
  }

  /** The node that coordinates the id. */
  nodeOf(transactionalId: string): number {
    const place = placeOf(transactionalId);
    return (place + (this.#moves.get(place) ?? 0)) % NODES;
  }

  /** @throws BrokerError while the id's coordinator is lost */
  check(transactionalId: string): void {
    if (this.#lostForMs(transactionalId) > 0) throw brokerError('NOT_COORDINATOR_FOR_GROUP');
  }

  /** Runs the work after the delay, or once the id's coordinator is back. */
  after(delayMs: number, transactionalId: string, work: () => void): { cancel: () => void } {
    let waiting = this.#time.after(delayMs, null, () => {
      const lostForMs = this.#lostForMs(transactionalId);
      if (lostForMs > 0) waiting = this.after(lostForMs, transactionalId, work);
      else work();
    });
    return { cancel: () => waiting.cancel() };
  }

  /** How long the id's coordinator stays lost; 0 or less: it is not lost. */
  #lostForMs(transactionalId: string): number {
    const { place, untilMs } = this.#lost;
    return place === placeOf(transactionalId) ? untilMs - this.#time.nowMs : 0;
  }
}

function placeOf(transactionalId: string): number {
  return Buffer.from(transactionalId).reduce((sum, byte) => sum + byte, 0) % NODES;
}
