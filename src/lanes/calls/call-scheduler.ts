/**
 * Decides which call begins next. Classes of work share slots and rate; within a class, lanes share evenly. Pure: time is an
 * argument, in milliseconds of a monotonic clock.
 *
 *   queue            the intent of a call that may wait is committed: the call waits for the turn of its class and lane
 *   ask, take        a lane wants to make an intent whose call may not wait. At the lane's turn, a slot is kept for it, because
 *                    the lane may be in the middle of a commit. Once it takes the slot, it may make the intent
 *   commit           the intent of a taken slot is committed: its call goes ahead of all waiting ones
 *   next             the next step: begin a call, which has its slot until `free`, or wake the lane that a slot is kept for
 *   began            the call has begun, and counts against the rate
 *
 * A free slot goes first to a class below its share, then to the class served least relative to its share (stride scheduling).
 * So shares hold even with few slots, and for the rate too. While anything waits, a slot is idle only if it is kept (at
 * most ASK_MS for one lane), its intent is being committed, or the rate allows no call.
 */
import { SHARES, type WorkClass } from './work-classes.ts';

/**
 * How long a request for a slot stays valid, and how long a slot is kept. A lane that waits asks again sooner. A lane
 * in the middle of a commit cannot take its slot: with a slow Kafka, a shorter time would let executions starve behind
 * transfers.
 */
export const ASK_MS = 2_000;
/** If the rate limit spaces calls by more than this, a kept or taken slot delays calls that may wait, by up to this. */
export const DELAY_MS = 200;
/**
 * With a rate limit, lanes get slots at most this long before their calls. With less than the time of two commits,
 * calls would begin below the rate. After a crash, intents whose calls had not begun are in doubt: this limits them.
 */
export const COMMIT_AHEAD_MS = 1_500;
/**
 * How late a call may begin without delaying the next ones. Filling a transaction takes up to 10 ms, and a timer may be
 * as late again. A CPU limit stops the process for longer.
 */
export const CATCH_UP_MS = 50;

/** Now, and the least time between two calls under the rate limit; 0 without a limit. */
export interface Moment {
  readonly nowMs: number;
  readonly intervalMs: number;
}

export type Step = { kind: 'begin'; attemptId: string } | { kind: 'kept'; workClass: WorkClass; lane: number };

/** A lane that wants to make intents that may not wait. */
interface SlotRequest {
  /** Slots that are still to be kept for it. */
  wanted: number;
  kept: number;
  /** The transaction that the lane is filling, and how many slots it took for that. */
  commit: number;
  taken: number;
  /** When the lane last asked, or a slot was last kept for it. */
  sinceMs: number;
}

interface ClassState {
  readonly workClass: WorkClass;
  /** Slots that it is guaranteed; may be a fraction. */
  readonly share: number;
  /** Slots that are kept, taken or in use. */
  held: number;
  /** How often the class was served, relative to its share. */
  pass: number;
  /** By lane, in the order of their turns. */
  readonly waiting: Map<number, string[]>;
  readonly asking: Map<number, SlotRequest>;
  /** Within the class, lanes that ask and calls that wait take turns. */
  isAskingNext: boolean;
}

interface Reservation {
  readonly state: ClassState;
  readonly lane: number;
  readonly sinceMs: number;
}

export class CallScheduler {
  readonly #slots: number;
  readonly #classes: Readonly<Record<WorkClass, ClassState>>;
  readonly #states: readonly ClassState[];
  /** By attempt, from `take` until its call begins; the oldest first. */
  readonly #reservations = new Map<string, Reservation>();
  /** Reservations whose intent is committed. */
  readonly #committed: string[] = [];
  /** The rate allows no call before this time. */
  #nextCallMs = 0;
  /** Since the last call, the rate allowed another one, and none could begin. */
  #isRateUnused = true;
  /** Highest pass at which a class was served: an idle class continues from it. */
  #pass = 0;

  constructor(slots: number) {
    this.#slots = slots;
    this.#classes = {
      execution: classState('execution', slots),
      transfer: classState('transfer', slots),
      'quote-to-execute': classState('quote-to-execute', slots),
      other: classState('other', slots),
    };
    this.#states = Object.values(this.#classes);
  }

  queue(attemptId: string, workClass: WorkClass, lane: number): void {
    const { waiting } = this.#activate(workClass);
    const ofLane = waiting.get(lane);
    if (ofLane === undefined) waiting.set(lane, [attemptId]);
    else ofLane.push(attemptId);
  }

  /**
   * Asks for a slot: `next` then keeps one for the lane if it can, and `take` takes it.
   * @param commit number of the transaction that the lane is filling
   */
  ask(workClass: WorkClass, lane: number, commit: number, nowMs: number): void {
    const { asking } = this.#activate(workClass);
    const request = asking.get(lane) ?? { wanted: 0, kept: 0, commit, taken: 0, sinceMs: nowMs };
    asking.set(lane, request);
    if (request.commit !== commit) Object.assign(request, { commit, taken: 0 });
    if (request.kept > 0) return;
    request.wanted = Math.max(request.wanted, 1);
    request.sinceMs = nowMs;
  }

  /** @returns whether the attempt has a slot now; if not, the lane keeps asking */
  take(attemptId: string, workClass: WorkClass, lane: number, nowMs: number): boolean {
    const state = this.#classes[workClass];
    const request = state.asking.get(lane);
    if (request === undefined) return false;
    if (request.kept > 0) {
      request.kept -= 1;
      request.taken += 1;
      // The earlier `ask` is served. If the lane wants more, it asks again.
      request.wanted = 0;
      this.#reservations.set(attemptId, { state, lane, sinceMs: nowMs });
      return true;
    }
    // The lane used all its kept slots and wants more: keep twice as many next time.
    request.wanted = Math.min(Math.ceil(state.share), Math.max(request.wanted, 2 * request.taken));
    return false;
  }

  /** @returns whether the attempt has a slot of its own; if not, `queue` it */
  commit(attemptId: string): boolean {
    if (!this.#reservations.has(attemptId)) return false;
    this.#committed.push(attemptId);
    return true;
  }

  /** The next step. Call it until it returns null. */
  next(moment: Moment): Step | null {
    this.#expire(moment.nowMs);
    const isRateFree = moment.nowMs >= this.#nextCallMs;
    const step = this.#step(moment, isRateFree);
    if (step === null && isRateFree) this.#isRateUnused = true;
    return step;
  }

  /**
   * Spaces calls evenly. A call that began late, because of a busy event loop or a short idle time, hardly delays the
   * next ones. Any period exceeds the rate by at most the calls of CATCH_UP_MS.
   */
  began({ nowMs, intervalMs }: Moment): void {
    const fromMs = Math.max(this.#nextCallMs, nowMs - CATCH_UP_MS);
    const wasIdle = this.#isRateUnused && fromMs > this.#nextCallMs;
    this.#nextCallMs = (wasIdle ? nowMs : fromMs) + intervalMs;
    this.#isRateUnused = false;
  }

  /** Frees the slot of a call that ended, or never began. */
  free(workClass: WorkClass): void {
    this.#classes[workClass].held -= 1;
  }

  /** The call of a taken slot will not begin. @returns whether there was one */
  cancel(attemptId: string): boolean {
    const reservation = this.#reservations.get(attemptId);
    if (reservation === undefined) return false;
    this.#reservations.delete(attemptId);
    reservation.state.held -= 1;
    const index = this.#committed.indexOf(attemptId);
    if (index >= 0) this.#committed.splice(index, 1);
    return true;
  }

  /** Forgets the lane's calls that have not begun, and its requests. */
  release(lane: number): void {
    for (const state of this.#states) {
      state.waiting.delete(lane);
      state.held -= state.asking.get(lane)?.kept ?? 0;
      state.asking.delete(lane);
    }
    for (const [attemptId, reservation] of this.#reservations) if (reservation.lane === lane) this.cancel(attemptId);
  }

  /** When `next` may have a step without a new event; null: never. */
  lookAgainMs({ nowMs, intervalMs }: Moment): number | null {
    const isLimited = intervalMs > 0;
    const mayDelay = intervalMs > DELAY_MS;
    const afterKept = [ASK_MS, ...(isLimited ? [COMMIT_AHEAD_MS] : []), ...(mayDelay ? [DELAY_MS] : [])];
    const instants = isLimited ? [this.#nextCallMs - COMMIT_AHEAD_MS, this.#nextCallMs] : [];
    for (const { asking } of this.#states)
      for (const { kept, sinceMs } of asking.values())
        if (kept > 0) instants.push(...afterKept.map((ms) => sinceMs + ms));
    if (mayDelay) for (const { sinceMs } of this.#reservations.values()) instants.push(sinceMs + DELAY_MS);
    const coming = instants.filter((instantMs) => instantMs > nowMs);
    return coming.length === 0 ? null : Math.min(...coming);
  }

  /** There is a slot, but the rate allows no call yet. */
  isRateLimited(nowMs: number): boolean {
    return this.#nextCallMs > nowMs && this.#freeSlots() > 0;
  }

  #step(moment: Moment, isRateFree: boolean): Step | null {
    if (isRateFree) {
      const attemptId = this.#committed.shift();
      if (attemptId !== undefined) {
        this.#reservations.delete(attemptId);
        return { kind: 'begin', attemptId };
      }
    }
    if (this.#freeSlots() < 1) return null;
    const mayKeep = this.#mayKeep(moment);
    const state = this.#nextClass(mayKeep);
    if (state === null) return null;
    if (mayKeep && isAsking(state) && (state.isAskingNext || state.waiting.size === 0)) {
      return { kind: 'kept', workClass: state.workClass, lane: this.#keep(state, moment.nowMs) };
    }
    if (!isRateFree || this.#mustYield(moment)) return null;
    const attemptId = takeFirst(state.waiting);
    if (attemptId === undefined) return null;
    this.#serve(state);
    state.isAskingNext = true;
    return { kind: 'begin', attemptId };
  }

  /** An idle class continues at the others' pass: it may not catch up on turns that it did not use. */
  #activate(workClass: WorkClass): ClassState {
    const state = this.#classes[workClass];
    if (state.waiting.size === 0 && !isAsking(state)) state.pass = Math.max(state.pass, this.#pass);
    return state;
  }

  #nextClass(mayKeep: boolean): ClassState | null {
    let best: ClassState | null = null;
    for (const state of this.#states) {
      if (state.waiting.size === 0 && !(mayKeep && isAsking(state))) continue;
      if (best === null || isBefore(state, best)) best = state;
    }
    return best;
  }

  /** @returns the lane */
  #keep(state: ClassState, nowMs: number): number {
    const { asking } = state;
    for (const [lane, request] of asking) {
      if (request.wanted === 0) continue;
      request.wanted -= 1;
      request.kept += 1;
      request.sinceMs = nowMs;
      // The lane goes behind the others.
      asking.delete(lane);
      asking.set(lane, request);
      this.#serve(state);
      state.isAskingNext = false;
      return lane;
    }
    throw new Error(`no lane asks for ${state.workClass}`);
  }

  #serve(state: ClassState): void {
    this.#pass = Math.max(this.#pass, state.pass);
    state.pass += 1 / state.share;
    state.held += 1;
  }

  /** Takes back kept slots that no lane took, and drops old requests. */
  #expire(nowMs: number): void {
    for (const state of this.#states) {
      for (const [lane, { kept, sinceMs }] of state.asking) {
        if (nowMs < sinceMs + ASK_MS) continue;
        state.held -= kept;
        state.pass -= kept / state.share;
        state.asking.delete(lane);
      }
    }
  }

  #freeSlots(): number {
    return this.#states.reduce((free, { held }) => free - held, this.#slots);
  }

  /**
   * Whether the rate lets the call of a slot kept now begin within COMMIT_AHEAD_MS. A kept slot that its lane does not
   * take counts only that long.
   */
  #mayKeep({ nowMs, intervalMs }: Moment): boolean {
    if (intervalMs === 0) return true;
    const pending = this.#keptSince(nowMs - COMMIT_AHEAD_MS) + this.#reservations.size;
    return Math.max(0, this.#nextCallMs - nowMs) + intervalMs * pending <= COMMIT_AHEAD_MS;
  }

  /**
   * Whether calls that may wait yield to one that may not: it has had its slot for less than DELAY_MS, and is about to
   * begin.
   */
  #mustYield({ nowMs, intervalMs }: Moment): boolean {
    if (intervalMs <= DELAY_MS) return false;
    const afterMs = nowMs - DELAY_MS;
    return this.#keptSince(afterMs) > 0 || [...this.#reservations.values()].some(({ sinceMs }) => sinceMs > afterMs);
  }

  #keptSince(afterMs: number): number {
    let count = 0;
    for (const { asking } of this.#states)
      for (const { kept, sinceMs } of asking.values()) if (sinceMs > afterMs) count += kept;
    return count;
  }
}

function classState(workClass: WorkClass, slots: number): ClassState {
  const sum = Object.values(SHARES).reduce((left, right) => left + right);
  const share = (SHARES[workClass] * slots) / sum;
  return { workClass, share, held: 0, pass: 0, waiting: new Map(), asking: new Map(), isAskingNext: true };
}

function isAsking({ asking }: ClassState): boolean {
  return [...asking.values()].some(({ wanted }) => wanted > 0);
}

function isBefore(left: ClassState, right: ClassState): boolean {
  const [isLeftBelow, isRightBelow] = [left.held < left.share, right.held < right.share];
  return isLeftBelow === isRightBelow ? left.pass < right.pass : isLeftBelow;
}

/** Takes the oldest call of the lane whose turn it is, and moves that lane behind the others. */
function takeFirst(waiting: Map<number, string[]>): string | undefined {
  for (const [lane, attemptIds] of waiting) {
    const attemptId = attemptIds.shift();
    waiting.delete(lane);
    if (attemptIds.length > 0) waiting.set(lane, attemptIds);
    return attemptId;
  }
  return undefined;
}
