/**
 * Limits on intents: per operation (what its breaker allows), per class of work, and per class in a lane. Also limits open two-step
 * quotes.
 */
import type { PaymentApi } from '../../api/payment-api.ts';
import type { Entry } from '../../ledger/entry.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import type { WorkClass } from './work-classes.ts';

/** A lane's request to make an intent. Not the ledger's claim, which says who may write. */
export interface Claim {
  readonly attemptId: string;
  readonly operation: CommandType;
  readonly workClass: WorkClass;
  readonly lane: number;
  /** Number of the transaction that the intent is for. */
  readonly commit: number;
  /** Whether the intent may wait for its call. False if a doubt about the call would need a look-up or an operator. */
  readonly mayWait: boolean;
  /** For a new two-step quote: how many of the lane's quotes are being made or await their execution; else 0. */
  readonly quotesOpen: number;
}

/** The part of a claim that counts against the limits. */
export type Claimed = Pick<Claim, 'operation' | 'workClass' | 'lane'>;

/** Why no intent may be made now; the causes of lag. */
export const CLAIM_REFUSALS = [
  'no-slot',
  'breaker',
  'held',
  'rate-limit',
  'unconfirmed',
  'operator-hold',
  'holds-unread',
] as const;
export type ClaimRefusal = (typeof CLAIM_REFUSALS)[number];

/** What operators hold in a lane. */
export interface HeldCalls {
  /** Why no call of the entry may begin; null: no hold forbids it. */
  refusal(entry: Pick<Entry, 'commandType' | 'step' | 'immediate'>): ClaimRefusal | null;
}

/** Intents of a class, per call slot: some are committed ahead, so that a free slot need not wait for a commit. */
const INTENTS_PER_SLOT = 4;
/** Two-step quotes made ahead of their executions: few enough that all are executed long before they expire. */
const QUOTES_PER_SLOT = 2;
/**
 * Under a rate limit, a class of work has at most this many seconds' worth of intents whose calls have not begun, and
 * of open quotes. After a crash, such intents are in doubt.
 */
const INTENTS_AHEAD_SECONDS = 3;
const QUOTES_AHEAD_SECONDS = 5;

export interface ClaimLimitsOptions {
  readonly api: Pick<PaymentApi, 'closure' | 'allowance'>;
  readonly slots: number;
  /** Whether the group has confirmed this process recently: else the gate would refuse every call. */
  readonly isConfirmed: () => boolean;
  readonly ratePerSecond: () => number;
}

export class ClaimLimits {
  readonly #options: ClaimLimitsOptions;
  /** Claims per operation, per class, and per class in a lane; of the last also those whose calls have not begun. */
  readonly #claims = new Map<string, number>();
  #openLanes = 1;

  constructor(options: ClaimLimitsOptions) {
    this.#options = options;
  }

  /** Lanes share the intents evenly. */
  setOpenLanes(count: number): void {
    this.#openLanes = Math.max(1, count);
  }

  /** @returns null when there is room, else why not */
  refusal({ operation, workClass, lane, quotesOpen }: Claimed & Pick<Claim, 'quotesOpen'>): ClaimRefusal | null {
    const { api, isConfirmed, ratePerSecond, slots } = this.#options;
    // Make no quote that cannot be executed now: it would expire.
    const closure = api.closure(operation) ?? (workClass === 'quote-to-execute' ? api.closure('execute-quote') : null);
    if (closure !== null) return closure.cause;
    if (!isConfirmed()) return 'unconfirmed';
    if (this.#claimsOf(operation) >= api.allowance(operation)) return 'breaker';
    const isFull =
      this.#claimsOf(workClass) >= slots * INTENTS_PER_SLOT ||
      this.#claimsOf(laneClass(workClass, lane)) >= this.#perLane(slots * INTENTS_PER_SLOT) ||
      this.#isAheadOfRate(workClass, lane) ||
      quotesOpen >= this.#perLane(Math.min(slots * QUOTES_PER_SLOT, ratePerSecond() * QUOTES_AHEAD_SECONDS));
    return isFull ? 'no-slot' : null;
  }

  granted({ operation, workClass, lane }: Claimed): void {
    for (const name of [operation, workClass, laneClass(workClass, lane), notBegun(workClass, lane)])
      this.#add(name, 1);
  }

  /** @returns whether the lane had as many intents of the class ahead as the rate allows */
  began({ workClass, lane }: Claimed): boolean {
    const wasFull = this.#isAheadOfRate(workClass, lane);
    this.#add(notBegun(workClass, lane), -1);
    return wasFull;
  }

  givenBack({ operation, workClass, lane }: Claimed, hasBegun: boolean): void {
    for (const name of [operation, workClass, laneClass(workClass, lane)]) this.#add(name, -1);
    if (!hasBegun) this.#add(notBegun(workClass, lane), -1);
  }

  #add(name: string, claims: 1 | -1): void {
    this.#claims.set(name, this.#claimsOf(name) + claims);
  }

  #isAheadOfRate(workClass: WorkClass, lane: number): boolean {
    const max = this.#options.ratePerSecond() * INTENTS_AHEAD_SECONDS;
    return this.#claimsOf(notBegun(workClass, lane)) >= this.#perLane(max);
  }

  #perLane(max: number): number {
    return Math.ceil(max / this.#openLanes);
  }

  #claimsOf(name: string): number {
    return this.#claims.get(name) ?? 0;
  }
}

function laneClass(workClass: WorkClass, lane: number): string {
  return `${workClass} ${lane}`;
}

function notBegun(workClass: WorkClass, lane: number): string {
  return `${workClass} ${lane} not begun`;
}
