/**
 * Virtual time of a simulation: one queue of events, each run when everything before it has come to rest. The globals that
 * the code under test takes time and ids from are replaced while a history runs, so that a seed decides everything.
 *
 *   scheduled -> due -> run (as the step of its owner) -> all microtasks that follow -> the next event
 *
 * A step belongs to one owner, a simulated process or the surroundings (null): what it schedules is its owner's. Events of
 * an owner that was killed are dropped, those of a frozen one wait for it.
 */
import crypto, { type UUID } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timersPromises from 'node:timers/promises';
import type { Clock } from 'payment-processor-contract/clock';
import type { Draws } from './draws.ts';
import { TimeQueue } from './time-queue.ts';

/** A simulated process, as far as time is concerned. */
export interface Owner {
  readonly name: string;
  isAlive: boolean;
  isFrozen: boolean;
  /** Events that came due while frozen, in order. */
  readonly held: (() => void)[];
  /** Of its wall clock against true time. */
  clockAheadMs: number;
}

interface Event {
  readonly owner: Owner | null;
  /** Null: cancelled. */
  run: (() => void) | null;
}

/** Of a history. */
const EVENTS_MAX = 500_000;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const realSetImmediate = globalThis.setImmediate;

export class VirtualTime {
  nowMs = START_MS;
  /** Whose step runs. */
  current: Owner | null = null;
  events = 0;
  readonly #queue = new TimeQueue<Event>();
  readonly #eventsMax: number;

  /** @param eventsMax what schedules more goes round in circles */
  constructor(eventsMax = EVENTS_MAX) {
    this.#eventsMax = eventsMax;
  }

  after(delayMs: number, owner: Owner | null, run: () => void): { cancel: () => void } {
    const event: Event = { owner, run };
    this.#queue.put(this.nowMs + Math.max(0, delayMs), event);
    return { cancel: () => void (event.run = null) };
  }

  /** Lets time pass until the condition holds after some event, or the instant is reached. @returns whether it held */
  async runUntil(isOver: () => boolean, untilMs: number): Promise<boolean> {
    for (;;) {
      await new Promise((resolve) => realSetImmediate(resolve));
      this.current = null;
      if (isOver()) return true;
      const event = this.#next(untilMs);
      if (event === null) {
        this.nowMs = untilMs;
        return false;
      }
      this.nowMs = event.atMs;
      this.events += 1;
      if (this.events > this.#eventsMax) throw new Error('the history does not come to an end');
      this.current = event.owner;
      event.run();
    }
  }

  /** The next event that anything comes of; what came due for a frozen owner is put by. */
  #next(untilMs: number): { atMs: number; owner: Owner | null; run: () => void } | null {
    for (;;) {
      const due = this.#queue.take(untilMs);
      if (due === null) return null;
      const { owner, run } = due.item;
      if (run === null || owner?.isAlive === false) continue;
      if (owner?.isFrozen !== true) return { atMs: due.atMs, owner, run };
      owner.held.push(run);
    }
  }

  thaw(owner: Owner): void {
    owner.isFrozen = false;
    for (const run of owner.held.splice(0)) this.after(0, owner, run);
  }

  clockOf(owner: Owner): Clock {
    return { nowMs: () => Math.floor(this.nowMs + owner.clockAheadMs), monotonicMs: () => this.nowMs };
  }

  /** Replaces the globals. @returns what puts them back */
  install(draws: Draws): () => void {
    const real = pick(globalThis);
    const { now } = Date;
    const performanceNow = performance.now.bind(performance);
    const { randomBytes, randomUUID } = crypto;
    const delay = timersPromises.setTimeout;
    const start = (run: () => void, delayMs: number, isRepeated: boolean): VirtualTimer =>
      new VirtualTimer(this, run, delayMs, isRepeated);
    const stop = (timer: unknown): void => (timer instanceof VirtualTimer ? timer.stop() : undefined);
    Object.assign(globalThis, {
      setTimeout: (run: (...given: unknown[]) => void, delayMs = 0, ...given: unknown[]) =>
        start(() => run(...given), delayMs, false),
      setInterval: (run: () => void, delayMs = 0) => start(run, delayMs, true),
      setImmediate: (run: () => void) => start(run, 0, false),
      clearTimeout: stop,
      clearInterval: stop,
      clearImmediate: stop,
    });
    Date.now = () => Math.floor(this.nowMs + (this.current?.clockAheadMs ?? 0));
    performance.now = () => this.nowMs - START_MS;
    crypto.randomUUID = () => uuidOf(draws);
    crypto.randomBytes = ((size: number) => bytesOf(draws, size)) as typeof crypto.randomBytes;
    timersPromises.setTimeout = delayed as typeof timersPromises.setTimeout;
    syncBuiltinESMExports();
    return () => {
      Object.assign(globalThis, real);
      timersPromises.setTimeout = delay;
      Date.now = now;
      performance.now = performanceNow;
      crypto.randomUUID = randomUUID;
      crypto.randomBytes = randomBytes;
      syncBuiltinESMExports();
    };
  }
}

/** What setTimeout gives while time is virtual. */
class VirtualTimer {
  readonly #time: VirtualTime;
  readonly #owner: Owner | null;
  readonly #run: () => void;
  #event: { cancel: () => void };

  constructor(time: VirtualTime, run: () => void, delayMs: number, isRepeated: boolean) {
    this.#time = time;
    this.#owner = time.current;
    this.#run = isRepeated
      ? () => {
          this.#event = this.#time.after(delayMs, this.#owner, this.#run);
          run();
        }
      : run;
    this.#event = time.after(Math.max(1, delayMs || 0), this.#owner, this.#run);
  }

  stop(): void {
    this.#event.cancel();
  }

  unref(): this {
    return this;
  }

  ref(): this {
    return this;
  }
}

/** setTimeout of node:timers/promises. */
function delayed<Value>(delayMs: number, value: Value, { signal }: { signal?: AbortSignal } = {}): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(value), delayMs);
    const abort = (): void => {
      clearTimeout(timer);
      reject(new Error('aborted'));
    };
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function pick({
  setTimeout,
  setInterval,
  setImmediate,
  clearTimeout,
  clearInterval,
  clearImmediate,
}: typeof globalThis) {
  return { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
}

function bytesOf(draws: Draws, size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, () => draws.below(256)));
}

function uuidOf(draws: Draws): UUID {
  const part = (): string =>
    draws
      .below(2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const hex = part() + part() + part() + part();
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}` as UUID;
}
