/**
 * An entry of the ledger: everything that we know about one command, from admission to its result.
 * DESIGN.md, "States", has its states and their transitions.
 *
 * Entries are plain data, owned by the lane of their key; `decide` derives the next version.
 */
import type { ServiceError } from '../api/types.ts';
import type { CommandType, Outcome } from 'payment-processor-contract/commands';

/** An entry's current call. A two-step quote is created first and then executed; all other commands are one call. */
export type Step = 'SINGLE' | 'CREATE' | 'EXECUTE';

export type Phase =
  /** A call may have been under way since `atMs`. `timeoutMs` is kept because the next owner's setting may differ. */
  | {
      readonly state: 'INTENT';
      readonly attemptId: string;
      readonly processId: string;
      readonly atMs: number;
      readonly timeoutMs: number;
    }
  /** To be tried next at `untilMs`. */
  | { readonly state: 'PARKED'; readonly untilMs: number; readonly reason: string }
  /** The call may have taken effect; the lane does nothing before `settleAtMs`. */
  | {
      readonly state: 'DOUBTFUL';
      readonly settleAtMs: number;
      readonly reason: string;
      readonly refusal: HeldRefusal | null;
    }
  /** The quote is recorded; its execution begins as soon as a call slot is free. */
  | { readonly state: 'QUOTED' }
  | { readonly state: 'DONE'; readonly outcome: Outcome; readonly completedMs: number; readonly result: StoredEvent };

/** A refusal that came while an earlier call was in doubt. It becomes the result once it is clear that no call took effect. */
export interface HeldRefusal {
  readonly httpStatus: number;
  readonly error: ServiceError;
  readonly rawResponse: string;
}

export type EntryState = Phase['state'];

/** A published event, kept so that a copy of the command gets the same one. */
export interface StoredEvent {
  /** The value's bytes, in the wire format. */
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where a message was first published; a moved command keeps its original place. */
export interface Origin {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestampMs: number;
}

/** Longest value of each header below, in characters; a longer one counts as absent. */
export const CARRIED_LENGTH_MAX = 1024;

/** Headers of the command that its results and events repeat. */
export interface Carried {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly 'correlation-id'?: string;
}

/** A copy that came while the entry was unfinished; answered when it is done. */
export interface Copy {
  readonly commandId: string | null;
}

/** What we know of a two-step quote after its first step. A null field: the service did not say. */
export interface Quoted {
  readonly quoteId: string;
  readonly transactionId: string;
  readonly customerId: string | null;
  readonly expiresAtMs: number | null;
  /** When its answer came, by our clock. */
  readonly receivedMs: number;
  readonly sourceAccountId: string | null;
  readonly destinationAccountId: string | null;
  /** Digits of an int64, in the smallest unit. */
  readonly receivingAmount: string | null;
  readonly receivingCurrencyCode: string | null;
}

/**
 * Proof that none of the first `attempts` attempts took effect, although one was in doubt. It holds as long as the entry has
 * no more attempts: see `proofOf`.
 */
export type Unexecuted =
  /** A look-up that was requested after the settling time of the last attempt. */
  | { readonly by: 'LOOK_UP'; readonly attempts: number }
  /** An operator decided NOT_EXECUTED, which made this revision of the result. */
  | { readonly by: 'OPERATOR'; readonly attempts: number; readonly revision: number };

export interface Entry {
  readonly key: string;
  readonly commandType: CommandType;
  /** Revision of its result, or of the result that it will get. */
  readonly revision: number;
  /** Hash of type and canonical fields; for an unreadable command, of its raw bytes. */
  readonly fingerprint: string;
  /** Canonical JSON of the fields; null if they were unreadable, or are no longer needed. */
  readonly fieldsJson: string | null;
  readonly commandId: string | null;
  readonly origin: Origin;
  readonly carried: Carried;
  /** The time after which no call may start: the publisher's limit, or when the command is too old. */
  readonly deadlineMs: number;
  /** Only the publisher's limit (`expires-at`), which also applies to an operator's retry. */
  readonly expiresAtMs: number | null;
  /** The publisher's limit was unreadable: the time limit is unknown. */
  readonly isExpiryUnreadable: boolean;
  readonly step: Step;
  /** Whether the command asks for immediate execution of its quote. */
  readonly immediate: boolean;
  /** Consecutive waits of this step, for the back-off. */
  readonly waits: number;
  /** Calls that may have been sent, over all steps. */
  readonly attempts: number;
  /** Calls of this step whose answer made us wait: a deferral, 401, a redirect. A proxy may have given it. */
  readonly turnedAway: number;
  /** When this step began its first call whose own answer did not rule out an effect; null: there was none. */
  readonly firstSentMs: number | null;
  /** When the last such call had ended, or its deadline had passed; null if `firstSentMs` is. */
  readonly lastEndedMs: number | null;
  /**
   * `callerId` of the policy for the first such call, or for the one under way: the service may keep idempotency keys for each
   * caller. Null: there was no call, or no process recorded it.
   */
  readonly calledAs: string | null;
  /** Proof that none of these calls took effect. `proofOf` says whether it holds; if not, LOOK_UP needs another one. */
  readonly unexecuted: Unexecuted | null;
  readonly quoted: Quoted | null;
  /** Quotes in a row that had expired on arrival, or nearly: before any execution could begin. */
  readonly quotesRunOut: number;
  readonly copies: readonly Copy[];
  /** How often our own code failed while it handled this entry (invariant I6). */
  readonly drops: number;
  /** Operators' latest decisions, with who and why; every later result repeats them. */
  readonly audit: readonly string[];
  /** `ce_id` of the decision that led to this revision; null: there is none, or it has no id. */
  readonly decisionId: string | null;
  readonly phase: Phase;
}

/** An entry whose next phase is not set yet. */
export type UnphasedEntry = Omit<Entry, 'phase'>;

/** Values for a step that has made no call yet. */
export const NO_CALLS = {
  turnedAway: 0,
  firstSentMs: null,
  lastEndedMs: null,
  calledAs: null,
  unexecuted: null,
} as const;

/** Values for a new entry. */
export const UNTOUCHED = {
  waits: 0,
  attempts: 0,
  ...NO_CALLS,
  quoted: null,
  quotesRunOut: 0,
  copies: [],
  drops: 0,
  audit: [],
  decisionId: null,
} as const;

/**
 * The earliest possible time of the first call that may have taken effect; null: there is none. A proxy may have
 * deferred a call that took effect, and the entry does not say when it was sent. So we take the time when the command
 * was published.
 */
export function earliestSentMs({
  firstSentMs,
  origin,
  turnedAway,
}: Pick<Entry, 'firstSentMs' | 'origin' | 'turnedAway'>): number | null {
  return turnedAway > 0 ? Math.min(firstSentMs ?? Infinity, origin.timestampMs) : firstSentMs;
}

/** The proof that nothing took effect, although a call was in doubt; null: there is none that holds. */
export function proofOf(entry: UnphasedEntry): Unexecuted | null {
  return entry.unexecuted?.attempts === entry.attempts ? entry.unexecuted : null;
}

/** Limit of copies noted in an unfinished entry. Further copies get no replay; their readers see the one result. */
export const COPIES_MAX = 16;

/** A call may have taken effect, and nothing proves that none did. */
export function isInDoubt(entry: UnphasedEntry): boolean {
  return entry.firstSentMs !== null && proofOf(entry) === null;
}

/** The state that people see: while a call in doubt is repeated, the doubt stays. */
export function shownStateOf(entry: Entry): EntryState {
  return entry.phase.state === 'INTENT' && isInDoubt(entry) ? 'DOUBTFUL' : entry.phase.state;
}

/** When the lane must next act on the entry, or null. */
export function wakeAtMs(entry: Entry): number | null {
  switch (entry.phase.state) {
    case 'PARKED':
      return entry.phase.untilMs;
    case 'DOUBTFUL':
      return entry.phase.settleAtMs;
    case 'QUOTED':
      return 0;
    case 'INTENT':
    case 'DONE':
      return null;
  }
}
