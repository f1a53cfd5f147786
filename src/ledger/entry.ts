/**
 * An entry of the ledger: everything that is known of one command, from admission to its result.
 *
 *   (admission) -> INTENT -> DONE
 *                  INTENT -> PARKED -> INTENT        told to wait, or never sent
 *                            PARKED -> DOUBTFUL      in doubt, and no longer settled by the same call
 *                  INTENT -> DOUBTFUL -> PARKED      safe to repeat, or proven not executed
 *                            DOUBTFUL -> DONE        settled, or UNKNOWN past the limit
 *                  INTENT -> QUOTED -> INTENT        two-step: the quote is recorded, its execution follows
 *
 * Entries are plain data, owned by the lane of their key; `decide` makes the next one from the last.
 */
import type { ServiceError } from '../api/types.ts';
import type { CommandType, Outcome } from 'payment-processor-contract/commands';

/** The call that an entry is at. A two-step quote creates first and executes then; all others are one call. */
export type Step = 'SINGLE' | 'CREATE' | 'EXECUTE';

export type Phase =
  /** A call may be on its way since `atMs`; `timeoutMs` is its deadline, kept for an owner with other settings. */
  | {
      readonly state: 'INTENT';
      readonly attemptId: string;
      readonly processId: string;
      readonly atMs: number;
      readonly timeoutMs: number;
    }
  /** To be tried at `untilMs`. */
  | { readonly state: 'PARKED'; readonly untilMs: number; readonly reason: string }
  /** Took effect or not; not acted on before `settleAtMs`. */
  | {
      readonly state: 'DOUBTFUL';
      readonly settleAtMs: number;
      readonly reason: string;
      readonly refusal: HeldRefusal | null;
    }
  /** The quote is recorded; to be executed as soon as a call slot is free. */
  | { readonly state: 'QUOTED' }
  | { readonly state: 'DONE'; readonly outcome: Outcome; readonly completedMs: number; readonly result: StoredEvent };

/** A refusal that came while an earlier call was in doubt: the service's last word, once it is clear that none took effect. */
export interface HeldRefusal {
  readonly httpStatus: number;
  readonly error: ServiceError;
  readonly rawResponse: string;
}

export type EntryState = Phase['state'];

/** A published event, kept so that a copy gets the same again. */
export interface StoredEvent {
  /** The value's bytes, in the wire format. */
  readonly value: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where a message came from, first of all; a moved command keeps its original place. */
export interface Origin {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestampMs: number;
}

/** Each of the headers below, in characters; a longer one counts as absent. */
export const CARRIED_LENGTH_MAX = 1024;

/** Headers of the command that its results and events carry on. */
export interface Carried {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly 'correlation-id'?: string;
}

/** A copy that came while the entry was unfinished; answered when it is done. */
export interface Copy {
  readonly commandId: string | null;
}

/** What a two-step quote knows after its first step. Null: the service did not say. */
export interface Quoted {
  readonly quoteId: string;
  readonly transactionId: string;
  readonly customerId: string | null;
  readonly expiresAtMs: number | null;
  /** When its answer came, by our clock. */
  readonly receivedMs: number;
  readonly sourceAccountId: string | null;
  readonly destinationAccountId: string | null;
  /** Digits of an int64, smallest unit. */
  readonly receivingAmount: string | null;
  readonly receivingCurrencyCode: string | null;
}

/**
 * Why it is certain that none of so many attempts took effect, although one was in doubt. It holds as long as the entry
 * has no more attempts than that: see `proofOf`.
 */
export type Unexecuted =
  /** A look-up, asked for after the settling time of the last of them. */
  | { readonly by: 'LOOK_UP'; readonly attempts: number }
  /** An operator decided NOT_EXECUTED, which made this revision of the result. */
  | { readonly by: 'OPERATOR'; readonly attempts: number; readonly revision: number };

export interface Entry {
  readonly key: string;
  readonly commandType: CommandType;
  /** Revision of the result that this entry works for, or has. */
  readonly revision: number;
  /** Of type and canonical fields; of the raw bytes for a command that could not be read. */
  readonly fingerprint: string;
  /** Canonical JSON of the fields; null when they could not be read, or are needed no more. */
  readonly fieldsJson: string | null;
  readonly commandId: string | null;
  readonly origin: Origin;
  readonly carried: Carried;
  /** The instant after which no call may start: the publisher's, or when the command is too old. */
  readonly deadlineMs: number;
  /** The publisher's alone (`expires-at`); it holds for an operator's retry too. */
  readonly expiresAtMs: number | null;
  /** The publisher's could not be read: nobody knows until when a call may start. */
  readonly isExpiryUnreadable: boolean;
  readonly step: Step;
  /** Whether the command asks for immediate execution of its quote. */
  readonly immediate: boolean;
  /** Waits of this step in a row, for the back-off. */
  readonly waits: number;
  /** Calls that may have been sent, over all steps. */
  readonly attempts: number;
  /** Calls of this step that were answered to come again later: by the service, or by whatever stands before it. */
  readonly turnedAway: number;
  /**
   * When the first call of this step began that may have taken effect by its own account; null: each that was sent was
   * answered that it did not.
   */
  readonly firstSentMs: number | null;
  /** By when the last such call had ended, or its deadline had passed; null with `firstSentMs`. */
  readonly lastEndedMs: number | null;
  /** Why none of them took effect all the same, where it still holds. */
  readonly unexecuted: Unexecuted | null;
  readonly quoted: Quoted | null;
  /** Quotes in a row that ran out on arrival: before their execution could be begun, however soon. */
  readonly quotesRunOut: number;
  readonly copies: readonly Copy[];
  /** How often this entry made our own code fail (invariant I6). */
  readonly drops: number;
  /** Operators' decisions so far, who and why; they go with every result that follows. */
  readonly audit: readonly string[];
  /** `ce_id` of the decision that the revision comes of; null: it comes of none, or of one without an id. */
  readonly decisionId: string | null;
  readonly phase: Phase;
}

/** An entry about to get its next phase. */
export type UnphasedEntry = Omit<Entry, 'phase'>;

/** Of a step none of whose calls was made yet. */
export const NO_CALLS = { turnedAway: 0, firstSentMs: null, lastEndedMs: null, unexecuted: null } as const;

/** Of an entry that nothing has happened to yet. */
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

/** From where it is certain that nothing took effect, although a call was in doubt; null: it is not. */
export function proofOf(entry: UnphasedEntry): Unexecuted | null {
  return entry.unexecuted?.attempts === entry.attempts ? entry.unexecuted : null;
}

/** Copies noted in an unfinished entry; further ones are answered by the one result that all readers see. */
export const COPIES_MAX = 16;

/** When the entry wants to be looked at again, or null. */
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
