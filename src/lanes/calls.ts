/**
 * The calls of this process. They belong to the process, not to a lane: a lane that is acquired again adopts its calls
 * by attempt id, and their answers wait for it.
 *
 *   claim     the right to an intent: bounded per class of work and lane, and by what the service allows of the
 *             operation; where the intent may not wait for its call, a slot goes with it
 *   begin     the intent is committed: the call waits for a slot (own slots, as many as connections, so that nothing
 *             queues between the last check and the socket); whose it is next, `CallScheduler` says
 *   running   the gate was passed right before; the answer comes within the call's deadline
 *   ended     the answer is kept until the lane has committed what follows from it
 *   settle    forgets the attempt, and gives its claim back
 *   drop      the lane is lost or acquired anew: what never began is forgotten, what did is remembered without a claim,
 *             so that an intent found again in the ledger is never taken for one whose call did not begin
 */
import type { PaymentApi } from '../api/payment-api.ts';
import type { ChangeRequest, Reading } from '../api/types.ts';
import type { Clock } from 'payment-processor-contract/clock';
import type { TracedCommand } from '../consumers/command-intake.ts';
import { CallScheduler, type Moment } from './call-scheduler.ts';
import { ClaimLimits, type Claim, type Claimed, type ClaimRefusal } from './claim-limits.ts';
import type { CommandTraces } from './command-traces.ts';

export type CallEnd =
  | { kind: 'answered'; reading: Reading; beganMs: number; endedMs: number }
  /** The gate or the service's state kept it from being begun. */
  | { kind: 'not-begun'; reason: string };

/** Who hears of a call, and is asked right before it begins. */
export interface CallOwner {
  /** Null when the call may begin, else why not. */
  gate(): string | null;
  ended(attemptId: string, end: CallEnd): void;
}

export interface CallOrder {
  readonly attemptId: string;
  readonly request: ChangeRequest;
  readonly idempotencyKey: string;
  readonly command: TracedCommand;
  /** From 1, over all steps of the command. */
  readonly attempt: number;
}

interface Attempt extends Claimed {
  stage: 'claimed' | 'waiting' | 'running' | 'ended';
  order: CallOrder | null;
  owner: CallOwner | null;
  end: CallEnd | null;
  /** Whether it counts against the limits; that of a lane that was given up does not. */
  holdsClaim: boolean;
}

/** What this process knows of an intent of its own. */
export type Adoption =
  | 'adopted'
  /** No call of it was ever begun. */
  | 'never-begun'
  /** Too much was forgotten to be sure: treat it as another process's. */
  | 'unknown';

/** Begun attempts remembered for lanes that were given up; an owner elsewhere settles theirs within minutes. */
const RELEASED_MAX = 20_000;

export interface CallsOptions {
  readonly api: Pick<PaymentApi, 'perform' | 'closure' | 'allowance' | 'onChange'>;
  readonly slots: number;
  /** Whether the group has confirmed this process lately: else the gate would turn every call away. */
  readonly isConfirmed: () => boolean;
  /** Calls per second of this process, asked at each call; Infinity: no limit. */
  readonly ratePerSecond: () => number;
  readonly traces: Pick<CommandTraces, 'called'>;
  readonly clock: Clock;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #scheduler: CallScheduler;
  readonly #limits: ClaimLimits;
  readonly #spaceListeners = new Set<() => void>();
  #running = 0;
  #released = 0;
  #hasForgotten = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#scheduler = new CallScheduler(options.slots);
    this.#limits = new ClaimLimits(options);
    options.api.onChange(() => this.#announceSpace());
  }

  /** Told when an intent may be possible that was not before. */
  onSpace(listener: () => void): void {
    this.#spaceListeners.add(listener);
  }

  /** Lanes share the intents evenly. */
  setOpenLanes(count: number): void {
    this.#limits.setOpenLanes(count);
  }

  /** Claims the right to an intent. @returns null when granted, else why not; `onSpace` tells when to try again */
  claim(claim: Claim): ClaimRefusal | null {
    const refusal = this.#limits.refusal(claim) ?? (claim.mayWait || this.#takeSlot(claim) ? null : 'no-slot');
    if (refusal === null) this.#claim(claim.attemptId, claim);
    return refusal === 'no-slot' && this.#scheduler.isRateLimited(this.#moment().nowMs) ? 'rate-limit' : refusal;
  }

  /** Begins a claimed call as soon as a slot is free. Its intent must be committed. */
  begin(order: CallOrder, owner: CallOwner): void {
    const attempt = this.#attempts.get(order.attemptId);
    if (attempt === undefined) throw new Error(`attempt ${order.attemptId} was never claimed`);
    // An entry may be committed again while its call is on its way, to note a copy: one intent is one call.
    if (attempt.stage !== 'claimed') return;
    Object.assign(attempt, { stage: 'waiting', order, owner });
    if (!this.#scheduler.commit(order.attemptId))
      this.#scheduler.queue(order.attemptId, attempt.workClass, attempt.lane);
    this.#pump();
  }

  /** For an intent of this process that a lane finds in the ledger: hands its call, if there is one, to the new owner. */
  adopt(attemptId: string, owner: CallOwner): Adoption {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return this.#hasForgotten ? 'unknown' : 'never-begun';
    attempt.owner = owner;
    if (attempt.end !== null) owner.ended(attemptId, attempt.end);
    return 'adopted';
  }

  /** The lane has committed what follows from the attempt. */
  settle(attemptId: string): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return;
    if (attempt.stage === 'running') throw new Error(`attempt ${attemptId} is still running`);
    this.#forget(attemptId, attempt);
    if (this.#scheduler.cancel(attemptId)) this.#pump();
    this.#announceSpace();
  }

  /** The lane's working state is thrown away, with whatever its last transaction may or may not have committed. */
  release(lane: number): void {
    for (const [attemptId, attempt] of this.#attempts) {
      if (attempt.lane !== lane || !attempt.holdsClaim) continue;
      attempt.owner = null;
      if (wasBegun(attempt)) this.#remember(attempt);
      else this.#forget(attemptId, attempt);
    }
    this.#scheduler.release(lane);
    this.#pump();
    this.#announceSpace();
  }

  /** Attempts of the lane whose call has begun and not ended. */
  runningOf(lane: number): number {
    let count = 0;
    for (const attempt of this.#attempts.values()) if (attempt.lane === lane && attempt.stage === 'running') count += 1;
    return count;
  }

  running(): number {
    return this.#running;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #takeSlot({ attemptId, workClass, lane, commit }: Claim): boolean {
    const { nowMs } = this.#moment();
    this.#scheduler.ask(workClass, lane, commit, nowMs);
    this.#pump({ workClass, lane });
    return this.#scheduler.take(attemptId, workClass, lane, nowMs);
  }

  #claim(attemptId: string, { operation, workClass, lane }: Claimed): void {
    const attempt: Attempt = {
      operation,
      workClass,
      lane,
      stage: 'claimed',
      order: null,
      owner: null,
      end: null,
      holdsClaim: true,
    };
    this.#attempts.set(attemptId, attempt);
    this.#limits.claimed(attempt);
  }

  #forget(attemptId: string, attempt: Attempt): void {
    this.#attempts.delete(attemptId);
    if (attempt.holdsClaim) this.#limits.givenBack(attempt);
    else this.#released -= 1;
  }

  #remember(attempt: Attempt): void {
    attempt.holdsClaim = false;
    this.#limits.givenBack(attempt);
    this.#released += 1;
    if (this.#released <= RELEASED_MAX) return;
    for (const [attemptId, other] of this.#attempts) {
      if (other.holdsClaim || other.stage === 'running') continue;
      this.#hasForgotten = true;
      this.#forget(attemptId, other);
      return;
    }
  }

  /** Begins what may begin. @param claiming who claims just now, and need not be told of what is kept for it */
  #pump(claiming: Pick<Claim, 'workClass' | 'lane'> | null = null): void {
    let isKeptElsewhere = false;
    let moment = this.#moment();
    for (;;) {
      const step = this.#scheduler.next(moment);
      if (step === null) break;
      if (step.kind === 'begin') this.#runWaiting(step.attemptId);
      else if (step.lane !== claiming?.lane || step.workClass !== claiming.workClass) isKeptElsewhere = true;
      moment = this.#moment();
    }
    this.#setTimer(moment);
    if (isKeptElsewhere) this.#announceSpace();
  }

  #runWaiting(attemptId: string): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.stage !== 'waiting' || attempt.order === null) throw new Error(`attempt ${attemptId} is not waiting`);
    this.#run(attemptId, attempt, attempt.order);
  }

  #run(attemptId: string, attempt: Attempt, order: CallOrder): void {
    const { api, clock, traces } = this.#options;
    const closure = api.closure(attempt.operation);
    const reason =
      closure === null ? (attempt.owner === null ? 'its lane was given up' : attempt.owner.gate()) : closure.reason;
    if (reason !== null) {
      this.#end(attemptId, attempt, { kind: 'not-begun', reason });
      return;
    }
    attempt.stage = 'running';
    this.#running += 1;
    this.#scheduler.began(this.#moment());
    const beganMs = clock.nowMs();
    // Asked again at the socket: a connection may have had to be made first.
    const beforeSending = (): string | null =>
      attempt.owner === null ? 'its lane was given up' : attempt.owner.gate();
    void api.perform(order.request, { idempotencyKey: order.idempotencyKey, beforeSending }).then((reading) => {
      this.#running -= 1;
      const endedMs = clock.nowMs();
      // Before the lane hears of it: a call is told of though its lane was lost.
      traces.called(order.command, { operation: attempt.operation, attempt: order.attempt, reading, beganMs, endedMs });
      this.#end(attemptId, attempt, { kind: 'answered', reading, beganMs, endedMs });
      this.#pump();
    });
  }

  #end(attemptId: string, attempt: Attempt, end: CallEnd): void {
    this.#scheduler.free(attempt.workClass);
    attempt.stage = 'ended';
    attempt.end = end;
    attempt.owner?.ended(attemptId, end);
  }

  #moment(): Moment {
    const { clock, ratePerSecond } = this.#options;
    return { nowMs: clock.monotonicMs(), intervalMs: 1000 / ratePerSecond() };
  }

  /** @param moment when there was nothing more to do: what became due since is due at once */
  #setTimer(moment: Moment): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const atMs = this.#scheduler.lookAgainMs(moment);
    this.#timer = atMs === null ? null : setTimeout(() => this.#pump(), atMs - moment.nowMs);
  }

  #announceSpace(): void {
    for (const listener of this.#spaceListeners) listener();
  }
}

function wasBegun(attempt: Attempt): boolean {
  return attempt.stage === 'running' || attempt.end?.kind === 'answered';
}
