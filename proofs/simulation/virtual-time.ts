/**
 * Virtual time of a simulation: one queue of events; each runs after the previous one and its microtasks are done. While a
 * history runs, the globals for time and ids are replaced, so that a seed decides everything.
 *
 *   scheduled -> due -> run (as the step of its owner) -> all microtasks that follow -> the next event
 *
 * A step belongs to one owner, a simulated process or the environment (null), and so do the events that it schedules. Events
 * of a killed owner are dropped; those of a frozen one wait for it.
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
  /** How far its wall clock is ahead of true time. */
  clockAheadMs: number;
}

interface Event {
  readonly owner: Owner | null;
  /** Null: cancelled. */
  run: (() => void) | null;
}

/** The limit of a history. */
const EVENTS_MAX = 500_000;
const START_MS = Date.parse('2026-01-01T00:00:00Z');
const realSetImmediate = globalThis.setImmediate;

export class VirtualTime {
  nowMs = START_MS;
  /** The owner of the current step. */
  current: Owner | null = null;
  events = 0;
  readonly #queue = new TimeQueue<Event>();
  readonly #eventsMax: number;

  /** @param eventsMax more events than this mean an endless loop */
  constructor(eventsMax = EVENTS_MAX) {
    this.#eventsMax = eventsMax;
  }

  after(delayMs: number, owner: Owner | null, run: () => void): { cancel: () => void } {
    const event: Event = { owner, run };
    this.#queue.put(this.nowMs + Math.max(0, delayMs), event);
    return { cancel: () => void (event.run = null) };
  }

  /** Lets time pass until the condition holds after an event, or until the instant. @returns whether it held */
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

  /** The next event to run; skips cancelled ones, and keeps a frozen owner's events for later. */
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

  /** Replaces the globals. @returns a function that restores them */
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

/** The return value of setTimeout while time is virtual. */
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
