/**
 * The calls of this process. They belong to the process, not to a lane: a lane that is acquired again adopts its calls
 * by attempt id, and their answers wait for it.
 *
 *   claim     the right to an intent: bounded in all, per lane, and by what the service allows of the operation
 *   begin     the intent is committed: the call waits for a slot (own slots, as many as connections, so that nothing
 *             queues between the last check and the socket)
 *   running   the gate was passed right before; the answer comes within the call's deadline
 *   ended     the answer is kept until the lane has committed what follows from it
 *   settle    forgets the attempt, and gives its claim back
 *   drop      the lane is lost or acquired anew: what never began is forgotten, what did is remembered without a claim,
 *             so that an intent found again in the ledger is never taken for one whose call did not begin
 */
import type { PaymentApi } from '../api/payment-api.ts';
import type { ChangeRequest, Reading } from '../api/types.ts';
import type { Clock } from '../api/clock.ts';
import type { CommandType } from '../records/commands.ts';
import type { CommandTraces, TracedCommand } from './command-traces.ts';

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

/** Why no intent may be made now; the causes of lag. */
export type ClaimRefusal = 'no-slot' | 'breaker' | 'held' | 'rate-limit' | 'unconfirmed';

interface Attempt {
  readonly operation: CommandType;
  readonly lane: number;
  stage: 'claimed' | 'waiting' | 'running' | 'ended';
  order: CallOrder | null;
  owner: CallOwner | null;
  end: CallEnd | null;
  /** Whether it counts against the limits; a dropped lane's does not. */
  holdsClaim: boolean;
}

/** What this process knows of an intent of its own. */
export type Adoption =
  | 'adopted'
  /** No call of it was ever begun. */
  | 'never-begun'
  /** Too much was forgotten to be sure: treat it as another process's. */
  | 'unknown';

/** Begun attempts remembered for lanes that were dropped; an owner elsewhere settles theirs within minutes. */
const DROPPED_MAX = 20_000;

/** Intents made ahead of the call slots, so that the latency of commits is hidden. */
const INTENTS_PER_SLOT = 4;

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
  readonly #waiting: string[] = [];
  readonly #claims = new Map<CommandType, number>();
  readonly #laneClaims = new Map<number, number>();
  readonly #spaceListeners = new Set<() => void>();
  #running = 0;
  #dropped = 0;
  #hasForgotten = false;
  #openLanes = 1;
  #nextCallMs = 0;
  #rateTimer: NodeJS.Timeout | null = null;

  constructor(options: CallsOptions) {
    this.#options = options;
    options.api.onChange(() => this.#announceSpace());
  }

  /** Told when an intent may be possible that was not before. */
  onSpace(listener: () => void): void {
    this.#spaceListeners.add(listener);
  }

  /** Lanes share the intents evenly. */
  setOpenLanes(count: number): void {
    this.#openLanes = Math.max(1, count);
  }

  /**
   * Claims the right to an intent.
   * @param ahead whether the intent may wait for its call; false where doubt would need a look-up or a person
   * @returns null when granted, else why not
   */
  claim(attemptId: string, operation: CommandType, lane: number, ahead: boolean): ClaimRefusal | null {
    const refusal = this.#refusal(operation, lane, ahead);
    if (refusal === null) this.#claim(attemptId, operation, lane);
    return refusal;
  }

  /** Begins a claimed call as soon as a slot is free. Its intent must be committed. */
  begin(order: CallOrder, owner: CallOwner): void {
    const attempt = this.#attempts.get(order.attemptId);
    if (attempt === undefined) throw new Error(`attempt ${order.attemptId} was never claimed`);
    // An entry may be committed again while its call is on its way, to note a copy: one intent is one call.
    if (attempt.stage !== 'claimed') return;
    Object.assign(attempt, { stage: 'waiting', order, owner });
    this.#waiting.push(order.attemptId);
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

  /** Claims without asking, for an intent that is in the ledger already. */
  claimCommitted(attemptId: string, operation: CommandType, lane: number): void {
    if (!this.#attempts.has(attemptId)) this.#claim(attemptId, operation, lane);
  }

  /** The lane has committed what follows from the attempt. */
  settle(attemptId: string): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return;
    if (attempt.stage === 'running') throw new Error(`attempt ${attemptId} is still running`);
    this.#forget(attemptId, attempt);
    this.#announceSpace();
  }

  /** The lane's working state is thrown away, with whatever its last transaction may or may not have committed. */
  drop(lane: number): void {
    for (const [attemptId, attempt] of this.#attempts) {
      if (attempt.lane !== lane || !attempt.holdsClaim) continue;
      attempt.owner = null;
      if (wasBegun(attempt)) this.#remember(attempt);
      else this.#forget(attemptId, attempt);
    }
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
    if (this.#rateTimer !== null) clearTimeout(this.#rateTimer);
  }

  #refusal(operation: CommandType, lane: number, ahead: boolean): ClaimRefusal | null {
    const { api, slots } = this.#options;
    const closure = api.closure(operation);
    if (closure !== null) return closure.cause;
    if (!this.#options.isConfirmed()) return 'unconfirmed';
    const intentsMax = slots * INTENTS_PER_SLOT;
    const claimed = this.#attempts.size - this.#dropped;
    if ((this.#claims.get(operation) ?? 0) >= api.allowance(operation)) return 'breaker';
    if (!ahead && claimed >= slots) return 'no-slot';
    if (claimed >= intentsMax || (this.#laneClaims.get(lane) ?? 0) >= Math.ceil(intentsMax / this.#openLanes))
      return 'no-slot';
    return !ahead && this.#isRateLimited() ? 'rate-limit' : null;
  }

  #claim(attemptId: string, operation: CommandType, lane: number): void {
    this.#attempts.set(attemptId, {
      operation,
      lane,
      stage: 'claimed',
      order: null,
      owner: null,
      end: null,
      holdsClaim: true,
    });
    this.#claims.set(operation, (this.#claims.get(operation) ?? 0) + 1);
    this.#laneClaims.set(lane, (this.#laneClaims.get(lane) ?? 0) + 1);
  }

  #forget(attemptId: string, attempt: Attempt): void {
    this.#attempts.delete(attemptId);
    if (attempt.holdsClaim) this.#giveBackClaim(attempt);
    else this.#dropped -= 1;
  }

  #remember(attempt: Attempt): void {
    attempt.holdsClaim = false;
    this.#giveBackClaim(attempt);
    this.#dropped += 1;
    if (this.#dropped <= DROPPED_MAX) return;
    for (const [attemptId, other] of this.#attempts) {
      if (other.holdsClaim || other.stage === 'running') continue;
      this.#hasForgotten = true;
      this.#forget(attemptId, other);
      return;
    }
  }

  #giveBackClaim(attempt: Attempt): void {
    this.#claims.set(attempt.operation, (this.#claims.get(attempt.operation) ?? 1) - 1);
    this.#laneClaims.set(attempt.lane, (this.#laneClaims.get(attempt.lane) ?? 1) - 1);
  }

  #pump(): void {
    while (this.#waiting.length > 0 && this.#running < this.#options.slots && !this.#isRateLimited()) {
      const attemptId = this.#waiting.shift();
      const attempt = attemptId === undefined ? undefined : this.#attempts.get(attemptId);
      if (attemptId === undefined || attempt?.stage !== 'waiting' || attempt.order === null) continue;
      this.#run(attemptId, attempt, attempt.order);
    }
  }

  #run(attemptId: string, attempt: Attempt, order: CallOrder): void {
    const { api, clock, traces } = this.#options;
    const closure = api.closure(attempt.operation);
    const reason =
      closure === null ? (attempt.owner === null ? 'its lane was dropped' : attempt.owner.gate()) : closure.reason;
    if (reason !== null) {
      this.#end(attemptId, attempt, { kind: 'not-begun', reason });
      return;
    }
    attempt.stage = 'running';
    this.#running += 1;
    this.#countCall();
    const beganMs = clock.nowMs();
    // Asked again at the socket: a connection may have had to be made first.
    const beforeSending = (): string | null => (attempt.owner === null ? 'its lane was dropped' : attempt.owner.gate());
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
    attempt.stage = 'ended';
    attempt.end = end;
    attempt.owner?.ended(attemptId, end);
  }

  #isRateLimited(): boolean {
    const waitMs = this.#nextCallMs - this.#options.clock.monotonicMs();
    if (waitMs <= 0) return false;
    this.#rateTimer ??= setTimeout(() => {
      this.#rateTimer = null;
      this.#pump();
      this.#announceSpace();
    }, waitMs);
    return true;
  }

  /** Spaces calls evenly at the process's share of the group's rate. */
  #countCall(): void {
    const intervalMs = 1000 / this.#options.ratePerSecond();
    this.#nextCallMs = Math.max(this.#nextCallMs, this.#options.clock.monotonicMs()) + intervalMs;
  }

  #announceSpace(): void {
    for (const listener of this.#spaceListeners) listener();
  }
}

function wasBegun(attempt: Attempt): boolean {
  return attempt.stage === 'running' || attempt.end?.kind === 'answered';
}
