/**
 * Which call begins next: slots and rate, shared out among classes of work, and within a class evenly among lanes. Pure:
 * time is an argument, in milliseconds of a monotonic clock.
 *
 *   queue            an intent that may wait for its call is committed: it waits for the turn of its class and lane
 *   ask, take        an intent that may not wait is wanted. Once it is its turn a slot is kept for its lane, for a short
 *                    time; taken, the slot is the attempt's, the intent may be made
 *   commit           the intent of a taken slot is committed: its call goes before all that waits
 *   next             what there is to do now: begin a call, whose slot is taken until `free`, or tell a lane what is kept
 *   began            the call has begun, and counts against the rate
 *
 * A free slot goes to a class below its share before one that is not, then to the one that was served least for its share
 * (stride scheduling): so shares hold where slots are few, and of the rate as well. Nothing is idle while something waits,
 * but a slot that is kept (KEEP_MS at most) or whose intent is being committed.
 */
import { SHARES, type WorkClass } from './work-classes.ts';

/** How long a slot is kept for a lane that asked: it is woken, and may be in the middle of a commit. */
export const KEEP_MS = 200;
/** How long asking counts: longer than a lane sleeps, which asks again then. */
export const ASK_MS = 2_000;
/** Under a limit of the rate, intents that may not wait are made so much before their calls: about the time of a commit. */
export const COMMIT_AHEAD_MS = 100;

/** Now, and the time between two calls that the rate allows; 0 without a limit. */
export interface Moment {
  readonly nowMs: number;
  readonly intervalMs: number;
}

export type Step = { kind: 'begin'; attemptId: string } | { kind: 'kept'; workClass: WorkClass; lane: number };

/** A lane that wants to make intents that may not wait. */
interface Asking {
  /** Slots that are still to be kept for it. */
  wanted: number;
  kept: number;
  /** The transaction that it gathers, and how many slots it took for that. */
  commit: number;
  taken: number;
  untilMs: number;
}

interface ClassState {
  readonly workClass: WorkClass;
  /** Slots that it is guaranteed; not a whole number. */
  readonly share: number;
  /** Slots that are kept, taken or in use. */
  held: number;
  /** How often it was served, for its share. */
  pass: number;
  /** Of the lanes, those whose turn it is come first. */
  readonly waiting: Map<number, string[]>;
  readonly asking: Map<number, Asking>;
  /** They take turns within the class. */
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
  /** Those whose intent is committed. */
  readonly #committed: string[] = [];
  /** Before this the rate allows no call. */
  #nextCallMs = 0;
  /** Of the class that was served last: where one begins that had nothing to do. */
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
    const { waiting } = this.#awake(workClass);
    const ofLane = waiting.get(lane);
    if (ofLane === undefined) waiting.set(lane, [attemptId]);
    else ofLane.push(attemptId);
  }

  /**
   * Then `next` keeps what it can, and `take` says whether that was for this lane.
   * @param commit number of the transaction that the lane gathers
   */
  ask(workClass: WorkClass, lane: number, commit: number, nowMs: number): void {
    const { asking } = this.#awake(workClass);
    const own = asking.get(lane) ?? { wanted: 0, kept: 0, commit, taken: 0, untilMs: 0 };
    asking.set(lane, own);
    if (own.commit !== commit) Object.assign(own, { commit, taken: 0 });
    if (own.kept > 0) return;
    own.wanted = Math.max(own.wanted, 1);
    own.untilMs = nowMs + ASK_MS;
  }

  /** @returns whether the attempt has a slot now; if not, the lane goes on asking */
  take(attemptId: string, workClass: WorkClass, lane: number, nowMs: number): boolean {
    const state = this.#classes[workClass];
    const own = state.asking.get(lane);
    if (own === undefined) return false;
    if (own.kept > 0) {
      own.kept -= 1;
      own.taken += 1;
      // It is here, and asks for what more it wants.
      own.wanted = 0;
      this.#reservations.set(attemptId, { state, lane, sinceMs: nowMs });
      return true;
    }
    // It used up what there was and wants more: next time twice as much, as long as it does.
    own.wanted = Math.min(Math.ceil(state.share), Math.max(own.wanted, 2 * own.taken));
    return false;
  }

  /** @returns whether the attempt has a slot of its own; if not, it is one to `queue` */
  commit(attemptId: string): boolean {
    if (!this.#reservations.has(attemptId)) return false;
    this.#committed.push(attemptId);
    return true;
  }

  /** What is to be done now; asked again until there is nothing. */
  next(moment: Moment): Step | null {
    const { nowMs } = moment;
    this.#expire(nowMs);
    const isPaced = nowMs >= this.#nextCallMs;
    if (isPaced) {
      const attemptId = this.#committed.shift();
      if (attemptId !== undefined) {
        this.#reservations.delete(attemptId);
        return { kind: 'begin', attemptId };
      }
    }
    if (this.#freeSlots() < 1) return null;
    const pendingMs = moment.intervalMs * this.#pending(moment);
    const mayKeep = Math.max(0, this.#nextCallMs - nowMs) + pendingMs <= COMMIT_AHEAD_MS;
    const state = this.#nextClass(mayKeep);
    if (state === null) return null;
    if (mayKeep && isAsking(state) && (state.isAskingNext || state.waiting.size === 0)) {
      return { kind: 'kept', workClass: state.workClass, lane: this.#keep(state, nowMs) };
    }
    // The rate is not used up right before the calls of intents that may not wait.
    if (!isPaced || pendingMs > COMMIT_AHEAD_MS) return null;
    const attemptId = takeFirst(state.waiting);
    if (attemptId === undefined) return null;
    this.#serve(state);
    state.isAskingNext = true;
    return { kind: 'begin', attemptId };
  }

  /** Spaces calls evenly. */
  began({ nowMs, intervalMs }: Moment): void {
    this.#nextCallMs = Math.max(this.#nextCallMs, nowMs) + intervalMs;
  }

  /** The slot of a call that ended, or that was not begun after all. */
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

  /** Forgets all of a lane that has not begun. */
  release(lane: number): void {
    for (const state of this.#states) {
      state.waiting.delete(lane);
      state.held -= state.asking.get(lane)?.kept ?? 0;
      state.asking.delete(lane);
    }
    for (const [attemptId, reservation] of this.#reservations) if (reservation.lane === lane) this.cancel(attemptId);
  }

  /** When `next` may have something though nothing has happened, or null. */
  lookAgainMs({ nowMs, intervalMs }: Moment): number | null {
    const instants: number[] = [];
    for (const { asking } of this.#states)
      for (const { kept, untilMs } of asking.values()) if (kept > 0) instants.push(untilMs);
    if (intervalMs > 0) {
      instants.push(this.#nextCallMs - COMMIT_AHEAD_MS, this.#nextCallMs);
      for (const { sinceMs } of this.#reservations.values()) instants.push(sinceMs + KEEP_MS);
    }
    const coming = instants.filter((instantMs) => instantMs > nowMs);
    return coming.length === 0 ? null : Math.min(...coming);
  }

  /** There is a slot, but the rate allows no call yet. */
  isRateLimited(nowMs: number): boolean {
    return this.#nextCallMs > nowMs && this.#freeSlots() > 0;
  }

  /** A class that had nothing to do begins where the others are: it has no claim to what it did not want. */
  #awake(workClass: WorkClass): ClassState {
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
    for (const [lane, own] of asking) {
      if (own.wanted === 0) continue;
      own.wanted -= 1;
      own.kept += 1;
      own.untilMs = nowMs + KEEP_MS;
      asking.delete(lane);
      asking.set(lane, own);
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

  /** What nobody came for is the others' again, and asking is over. */
  #expire(nowMs: number): void {
    for (const state of this.#states) {
      for (const [lane, { kept, untilMs }] of state.asking) {
        if (nowMs < untilMs) continue;
        state.held -= kept;
        state.pass -= kept / state.share;
        state.asking.delete(lane);
      }
    }
  }

  #freeSlots(): number {
    return this.#states.reduce((free, { held }) => free - held, this.#slots);
  }

  /** Calls of intents that may not wait and are about to be made; one whose commit takes long holds nobody up. */
  #pending({ nowMs, intervalMs }: Moment): number {
    if (intervalMs === 0) return 0;
    let count = 0;
    for (const { asking } of this.#states) for (const { kept } of asking.values()) count += kept;
    for (const { sinceMs } of this.#reservations.values()) if (nowMs < sinceMs + KEEP_MS) count += 1;
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

/** The oldest of the lane whose turn it is; the lane's next turn comes after the others'. */
function takeFirst(waiting: Map<number, string[]>): string | undefined {
  for (const [lane, attemptIds] of waiting) {
    const attemptId = attemptIds.shift();
    waiting.delete(lane);
    if (attemptIds.length > 0) waiting.set(lane, attemptIds);
    return attemptId;
  }
  return undefined;
}
