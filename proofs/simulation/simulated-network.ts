/**
 * The network of a simulated process: every request takes time in both directions, and may meet trouble. A sent request
 * arrives, whatever happens to its sender. A response to a dead process is lost.
 */
import type { Draws } from './draws.ts';
import type { Owner, VirtualTime } from './virtual-time.ts';

export type Trouble =
  | { kind: 'none' }
  /** The request does not arrive; the node is unreachable for a while. */
  | { kind: 'request-lost'; downMs?: number }
  | { kind: 'answer-lost'; downMs?: number }
  /** All retries of the client fail: the request rejects with a GivenUpError. */
  | { kind: 'given-up' }
  | { kind: 'slow'; thereMs: number; backMs: number }
  /** The process freezes right after sending. */
  | { kind: 'freeze' }
  /** The process dies instead of sending, right after sending, or instead of receiving the answer. */
  | { kind: 'crash'; when: 'before' | 'after' | 'on-answer' };

export interface Reply<Value> {
  resolve: (value: Value) => void;
  reject: (error: Error) => void;
}

/** Decides on trouble, by the point that a process has reached in the code. */
export interface Disturber {
  troubleAt(owner: Owner, point: string): Trouble;
  kill(owner: Owner, point: string): void;
  freeze(owner: Owner, point: string): void;
}

export class GivenUpError extends Error {}

const LATENCY_MS_MAX = 4;
const SLOW_ONCE_IN_A_WHILE = 0.02;
const SLOW_LATENCY_MS_MAX = 120;
/** The time until a client notices a lost connection. */
const NOTICED_MS_MAX = 600;
/** The share of batches that wait for another batch and for a heartbeat, which may be slow. */
const QUEUED_SHARE = 0.3;

/** The client does not know whether the request arrived. */
export class ConnectionLostError extends Error {
  readonly downMs: number;
  constructor(downMs: number) {
    super('connection lost');
    this.downMs = downMs;
  }
}

export class SimulatedNetwork {
  readonly time: VirtualTime;
  readonly draws: Draws;
  /** The share of batches that wait in the client, some of them for seconds. */
  readonly queuedShare: number;
  readonly #disturber: Disturber | null;

  constructor(time: VirtualTime, draws: Draws, disturber: Disturber | null, queuedShare = QUEUED_SHARE) {
    this.time = time;
    this.draws = draws;
    this.queuedShare = queuedShare;
    this.#disturber = disturber;
  }

  latencyMs(): number {
    return this.draws.between(0.2, this.draws.chance(SLOW_ONCE_IN_A_WHILE) ? SLOW_LATENCY_MS_MAX : LATENCY_MS_MAX);
  }

  /** Never settles for a dead process. Rejects with the other side's error, or if the connection is lost. */
  request<Value>(owner: Owner | null, point: string, answer: () => Value): Promise<Value> {
    return this.ask(owner, point, ({ resolve, reject }) => {
      try {
        resolve(answer());
      } catch (error) {
        reject(error as Error);
      }
    });
  }

  /** The same for answers that are not immediate. */
  ask<Value>(owner: Owner | null, point: string, answer: (reply: Reply<Value>) => void): Promise<Value> {
    return new Promise((resolve, reject) => {
      const trouble: Trouble =
        owner === null || this.#disturber === null ? { kind: 'none' } : this.#disturber.troubleAt(owner, point);
      if (owner?.isAlive === false) return;
      const die = (when: string): void => {
        if (owner !== null) this.#disturber?.kill(owner, `${when} ${point}`);
      };
      if (trouble.kind === 'crash' && trouble.when === 'before') {
        die('before');
        return;
      }
      const lose = (downMs = 0): void => {
        const error =
          trouble.kind === 'given-up' ? new GivenUpError('retries are used up') : new ConnectionLostError(downMs);
        this.time.after(this.draws.between(1, NOTICED_MS_MAX), owner, () => reject(error));
      };
      if (trouble.kind === 'request-lost' || trouble.kind === 'given-up') {
        lose(trouble.kind === 'request-lost' ? trouble.downMs : 0);
        return;
      }
      const back = (settle: () => void): void => {
        if (trouble.kind === 'answer-lost') lose(trouble.downMs);
        else {
          const backMs = this.latencyMs() + (trouble.kind === 'slow' ? trouble.backMs : 0);
          this.time.after(backMs, owner, () => {
            if (trouble.kind === 'crash' && trouble.when === 'on-answer') die('on the answer of');
            else settle();
          });
        }
      };
      const thereMs = this.latencyMs() + (trouble.kind === 'slow' ? trouble.thereMs : 0);
      this.time.after(thereMs, null, () =>
        answer({ resolve: (value) => back(() => resolve(value)), reject: (error) => back(() => reject(error)) }),
      );
      if (trouble.kind === 'crash' && trouble.when === 'after') die('after');
      if (trouble.kind === 'freeze' && owner !== null) this.#disturber?.freeze(owner, `after ${point}`);
    });
  }
}
