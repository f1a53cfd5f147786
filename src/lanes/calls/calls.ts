/**
 * The calls of this process. They belong to the process, not to a lane. A lane that is acquired again adopts its calls by
 * attempt id, and their answers wait for it.
 *
 *   claim     the right to an intent: bounded per class of work and lane, and by what the operation's breaker allows;
 *             an intent whose call must start at once also reserves a slot
 *   prepare   keeps the request. The lane builds it before it commits the intent: a request that cannot be built fails only its entry
 *   begin     the intent is committed: the call waits for a slot; `CallScheduler` picks the next one. There are as many slots
 *             as connections, so that nothing queues between the last check and the socket
 *   running   the call has just passed the gate; the answer comes within the call's deadline
 *   ended     the claim is returned; the answer is kept until the lane has committed its consequences
 *   settle    forgets the attempt
 *   drain     the lane goes to another process: calls that still wait end at once, as never begun. The next owner could not know
 *             that they never began
 *   release   the lane is lost or acquired again: forgets attempts that never began. Remembers those that began, without
 *             their claims: otherwise a new owner would take their intents for calls that never began
 */
import type { PaymentApi } from '../../api/payment-api.ts';
import type { ChangeRequest, Reading } from '../../api/types.ts';
import type { Clock } from 'payment-processor-contract/clock';
import type { CommandType } from 'payment-processor-contract/commands';
import type { TracedCommand } from '../../consumers/command-intake.ts';
import { CallScheduler, type Moment } from './call-scheduler.ts';
import { timesOf, type CallSpan } from './call-times.ts';
import { ClaimLimits, type Claim, type Claimed, type ClaimRefusal } from './claim-limits.ts';
import type { CommandTraces } from '../command-traces.ts';

export type CallEnd =
  | { kind: 'answered'; reading: Reading; span: CallSpan }
  /** It never began: the gate, the service's state, a drain or the loss of its lane prevented it. */
  | { kind: 'not-begun'; reason: string };

/** Gets a call's outcome, and decides right before its start whether it may begin. */
export interface CallOwner {
  /** Null when the call may begin, else why not. */
  gate(): string | null;
  ended(attemptId: string, end: CallEnd): void;
}

export interface PreparedCall {
  readonly request: ChangeRequest;
  readonly idempotencyKey: string;
}

export interface CallOrder {
  readonly attemptId: string;
  readonly command: TracedCommand;
  /** From 1, over all steps of the command. */
  readonly attempt: number;
}

interface Attempt extends Claimed {
  stage: 'claimed' | 'waiting' | 'running' | 'ended';
  call: PreparedCall | null;
  order: CallOrder | null;
  owner: CallOwner | null;
  end: CallEnd | null;
  /** Counts against the limits until its call ends or its lane is lost. */
  holdsClaim: boolean;
  isOfLostLane: boolean;
}

/** What this process knows about one of its own intents. */
export type Adoption =
  | 'adopted'
  /** Its call never began. */
  | 'never-begun'
  /** This process has forgotten too much to be sure: treat the intent as another process's. */
  | 'unknown';

/** Limit on begun attempts remembered for lost lanes. New owners settle their intents within minutes, so the oldest can go. */
const RELEASED_MAX = 20_000;

export interface CallsOptions {
  readonly api: Pick<PaymentApi, 'perform' | 'closure' | 'allowance' | 'onChange'>;
  readonly slots: number;
  /** Whether the group has confirmed this process recently: else the gate would refuse every call. */
  readonly isConfirmed: () => boolean;
  /** Calls per second of this process, read at each call; Infinity: no limit. */
  readonly ratePerSecond: () => number;
  readonly traces: Pick<CommandTraces, 'called'>;
  readonly clock: Clock;
}

export class Calls {
  readonly #options: CallsOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #scheduler: CallScheduler;
  readonly #limits: ClaimLimits;
  readonly #capacityListeners = new Set<() => void>();
  /** A claim was refused since the listeners were last called. */
  #isCapacityAwaited = false;
  #running = 0;
  #released = 0;
  #hasForgotten = false;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: CallsOptions) {
    this.#options = options;
    this.#scheduler = new CallScheduler(options.slots);
    this.#limits = new ClaimLimits(options);
    options.api.onChange(() => this.#announceCapacity());
  }

  /** Calls the listener when an intent that was refused may have become possible. */
  onCapacity(listener: () => void): void {
    this.#capacityListeners.add(listener);
  }

  /** The number of lanes that share the intents, evenly. */
  setOpenLanes(count: number): void {
    this.#limits.setOpenLanes(count);
  }

  /** Claims the right to an intent. @returns null when granted, else why not; `onCapacity` tells when to try again */
  claim(claim: Claim): ClaimRefusal | null {
    const refusal = this.#limits.refusal(claim) ?? (claim.mayWait || this.#takeSlot(claim) ? null : 'no-slot');
    if (refusal === null) this.#claim(claim.attemptId, claim);
    else this.#isCapacityAwaited = true;
    return refusal === 'no-slot' && this.#scheduler.isRateLimited(this.#moment().nowMs) ? 'rate-limit' : refusal;
  }

  /** No call of the operation may begin: its breaker is open, or the service is held. */
  isClosed(operation: CommandType): boolean {
    return this.#options.api.closure(operation) !== null;
  }

  prepare(attemptId: string, call: PreparedCall): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) throw new Error(`attempt ${attemptId} was never claimed`);
    attempt.call = call;
  }

  /** Begins a prepared call as soon as a slot is free. Its intent must be committed. */
  begin(order: CallOrder, owner: CallOwner): void {
    const attempt = this.#attempts.get(order.attemptId);
    if (attempt === undefined) throw new Error(`attempt ${order.attemptId} was never claimed`);
    // A lane may commit an entry again while its call runs, to note a copy. But one intent is one call.
    if (attempt.stage !== 'claimed') return;
    Object.assign(attempt, { stage: 'waiting', order, owner });
    if (!this.#scheduler.commit(order.attemptId))
      this.#scheduler.queue(order.attemptId, attempt.workClass, attempt.lane);
    this.#pump();
  }

  /** For an intent of this process that a lane finds in the ledger: the owner takes over its call, if there is one. */
  adopt(attemptId: string, owner: CallOwner): Adoption {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return this.#hasForgotten ? 'unknown' : 'never-begun';
    attempt.owner = owner;
    if (attempt.end !== null) owner.ended(attemptId, attempt.end);
    return 'adopted';
  }

  /** Forgets the attempt: its consequences are committed, it had none, or its intent was never committed. */
  settle(attemptId: string): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt === undefined) return;
    if (attempt.stage === 'running') throw new Error(`attempt ${attemptId} is still running`);
    this.#forget(attemptId, attempt);
    if (this.#scheduler.cancel(attemptId)) this.#pump();
  }

  /** The lane begins no more calls. Drain again if it has committed an intent since. */
  drain(lane: number, reason: string): void {
    this.#scheduler.release(lane);
    for (const [attemptId, attempt] of this.#attempts) {
      if (attempt.lane !== lane || attempt.stage !== 'waiting') continue;
      this.#ended(attemptId, attempt, { kind: 'not-begun', reason });
    }
    this.#pump();
  }

  /** The lane discards its memory, and does not know whether its last transaction was committed. */
  release(lane: number): void {
    for (const [attemptId, attempt] of this.#attempts) {
      if (attempt.lane !== lane || attempt.isOfLostLane) continue;
      attempt.owner = null;
      if (wasBegun(attempt)) this.#remember(attempt);
      else this.#forget(attemptId, attempt);
    }
    this.#scheduler.release(lane);
    this.#pump();
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
      call: null,
      order: null,
      owner: null,
      end: null,
      holdsClaim: true,
      isOfLostLane: false,
    };
    this.#attempts.set(attemptId, attempt);
    this.#limits.granted(attempt);
  }

  #forget(attemptId: string, attempt: Attempt): void {
    this.#attempts.delete(attemptId);
    if (attempt.isOfLostLane) this.#released -= 1;
    this.#giveBack(attempt);
  }

  #giveBack(attempt: Attempt): void {
    if (!attempt.holdsClaim) return;
    attempt.holdsClaim = false;
    this.#limits.givenBack(attempt, wasBegun(attempt));
    this.#announceCapacity();
  }

  #remember(attempt: Attempt): void {
    attempt.isOfLostLane = true;
    this.#giveBack(attempt);
    this.#released += 1;
    if (this.#released <= RELEASED_MAX) return;
    for (const [attemptId, other] of this.#attempts) {
      if (!other.isOfLostLane || other.stage === 'running') continue;
      this.#hasForgotten = true;
      this.#forget(attemptId, other);
      return;
    }
  }

  /** Begins the calls that may begin. @param claiming the current claimant: no announcement is needed for a slot kept for it */
  #pump(claiming: Pick<Claim, 'workClass' | 'lane'> | null = null): void {
    let isKeptElsewhere = false;
    let moment = this.#moment();
    for (;;) {
      const step = this.#scheduler.next(moment);
      if (step === null) break;
      if (step.kind === 'begin') this.#run(step.attemptId);
      else if (step.lane !== claiming?.lane || step.workClass !== claiming.workClass) isKeptElsewhere = true;
      moment = this.#moment();
    }
    this.#setTimer(moment);
    if (isKeptElsewhere) this.#announceCapacity();
  }

  #run(attemptId: string): void {
    const attempt = this.#attempts.get(attemptId);
    if (attempt?.stage !== 'waiting') throw new Error(`attempt ${attemptId} is not waiting`);
    const { call: prepared, order } = attempt;
    if (prepared === null || order === null) throw new Error(`attempt ${attemptId} is not prepared`);
    const { api, clock, traces } = this.#options;
    const gate = (): string | null => (attempt.owner === null ? 'its lane was lost or released' : attempt.owner.gate());
    const closure = api.closure(attempt.operation);
    const reason = closure === null ? gate() : closure.reason;
    if (reason !== null) {
      this.#end(attemptId, attempt, { kind: 'not-begun', reason });
      return;
    }
    attempt.stage = 'running';
    this.#running += 1;
    this.#scheduler.began(this.#moment());
    if (this.#limits.began(attempt)) this.#announceCapacity();
    const beganMonotonicMs = clock.monotonicMs();
    // Checked again at the socket: opening a connection may have taken time.
    const options = { idempotencyKey: prepared.idempotencyKey, beforeSending: gate };
    void api.perform(prepared.request, options).then((reading) => {
      this.#running -= 1;
      const span = { beganMonotonicMs, endedMonotonicMs: clock.monotonicMs() };
      const call = { operation: attempt.operation, attempt: order.attempt, reading, ...timesOf(span, clock) };
      // Traced before the lane gets the outcome, so that the call of a lost lane is traced too.
      traces.called(order.command, call);
      this.#end(attemptId, attempt, { kind: 'answered', reading, span });
      this.#pump();
    });
  }

  #end(attemptId: string, attempt: Attempt, end: CallEnd): void {
    this.#scheduler.free(attempt.workClass);
    this.#ended(attemptId, attempt, end);
  }

  #ended(attemptId: string, attempt: Attempt, end: CallEnd): void {
    attempt.stage = 'ended';
    attempt.end = end;
    this.#giveBack(attempt);
    attempt.owner?.ended(attemptId, end);
  }

  #moment(): Moment {
    const { clock, ratePerSecond } = this.#options;
    return { nowMs: clock.monotonicMs(), intervalMs: 1000 / ratePerSecond() };
  }

  /** @param moment when nothing more could begin; a call that has become due since then begins at once */
  #setTimer(moment: Moment): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const atMs = this.#scheduler.lookAgainMs(moment);
    this.#timer = atMs === null ? null : setTimeout(() => this.#pump(), atMs - moment.nowMs);
  }

  #announceCapacity(): void {
    if (!this.#isCapacityAwaited) return;
    this.#isCapacityAwaited = false;
    for (const listener of this.#capacityListeners) listener();
  }
}

function wasBegun(attempt: Attempt): boolean {
  return attempt.stage === 'running' || attempt.end?.kind === 'answered';
}
