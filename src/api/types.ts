/** The data of the payment API: requests, answers, and how answers are read. */
import type { CommandType } from 'payment-processor-contract/commands';
import type {
  CreateQuote,
  ExecuteQuote,
  Quote,
  RejectTransaction,
  SimulateUmaReceive,
  Transaction,
  TransferIn,
} from 'payment-processor-contract/types';

/** Every operation of the API. The operation of a command has the name of its type. */
export type Operation = CommandType | 'list-transactions';

/** A call that changes something, with the fields of its command. */
export type ChangeRequest =
  | { operation: 'create-quote'; fields: CreateQuote }
  | { operation: 'execute-quote'; fields: Pick<ExecuteQuote, 'quoteId'> }
  | { operation: 'transfer-in'; fields: TransferIn }
  | { operation: 'reject-transaction'; fields: RejectTransaction }
  | { operation: 'simulate-uma-receive'; fields: SimulateUmaReceive };

/** Parameters of GET /transactions, in the order of the service's API description. */
export const FILTER_NAMES = [
  'customerId',
  'platformCustomerId',
  'senderAccountIdentifier',
  'receiverAccountIdentifier',
  'status',
  'type',
  'reference',
  'startDate',
  'endDate',
  'limit',
  'cursor',
  'sortOrder',
] as const;
/** Dates are ISO 8601. */
export type TransactionFilter = { [Name in (typeof FILTER_NAMES)[number]]?: Name extends 'limit' ? number : string };

/** The outcome of one HTTP call. The client never throws. */
export type Answer =
  | {
      kind: 'response';
      httpStatus: number;
      retryAfter: string | null;
      location: string | null;
      body: string;
      /** The body is incomplete. */
      cut: boolean;
      /** We cut it, at the length that the request allows. */
      isTooLong?: boolean;
    }
  /** It is certain that no byte of the request reached the service. */
  | { kind: 'never-sent'; reason: string }
  /** It may have reached the service, but not even a status came back. */
  | { kind: 'lost'; reason: string };

/** The error in a body, as far as we can read it. */
export interface ServiceError {
  /** The string `code` of an error object; null if the body has none. */
  code: string | null;
  message: string;
  /** JSON of `details`, as received; null if the body has none, or it is too long. */
  details: string | null;
}

/**
 * The class of an answer to a POST (`reading.ts`). It does not depend on whether an earlier attempt is in doubt: the ledger takes
 * that into account.
 */
export type Reading =
  | {
      kind: 'accepted';
      httpStatus: number;
      quote: Quote | null;
      transaction: Transaction | null;
      rawResponse: string | null;
      warnings: string[];
    }
  | { kind: 'doubt'; httpStatus: number | null; reason: string; rawResponse: string | null }
  | { kind: 'redirected'; httpStatus: number; reason: string }
  | { kind: 'unauthorized'; httpStatus: number; reason: string }
  /** 403, 404, 405. `serviceFails`: GET /transactions fails as well; false also if we do not know. */
  | { kind: 'not-here'; httpStatus: number; serviceFails: boolean; error: ServiceError; rawResponse: string }
  | { kind: 'told-to-wait'; httpStatus: number; retryAfterMs: number | null; reason: string }
  | { kind: 'conflict'; httpStatus: number; error: ServiceError; rawResponse: string }
  | { kind: 'refused'; httpStatus: number; error: ServiceError; rawResponse: string }
  | { kind: 'never-sent'; reason: string };

/** The settings that may be wrong when this process cannot use the service. */
export const SERVICE_SETTINGS = ['API_BASE_URL', 'API_TOKEN_ID', 'NODE_EXTRA_CA_CERTS'] as const;
export type ServiceSetting = (typeof SERVICE_SETTINGS)[number];

/** Why the service is held. */
export interface HoldCause {
  /** The problem, and its remedy if a setting is wrong. */
  readonly reason: string;
  /** Null: no setting is known to be wrong. */
  readonly setting: ServiceSetting | null;
}

/** How the service is doing, as far as this process knows. */
export type ServiceState =
  | { kind: 'unchecked' }
  | { kind: 'serving' }
  /** Only checks are sent. */
  | ({ kind: 'held'; sinceMs: number } & HoldCause);

/** The service refuses this process or does not answer it, as far as we know, or was not checked yet. */
export interface Unserved extends HoldCause {
  /** No check has succeeded since the process started. */
  readonly isFromStart: boolean;
  /** Monotonic. */
  readonly sinceMs: number;
  /**
   * The last refusal was of this process's POST (HTTP 401). A successful check does not disprove it; another POST's
   * answer does.
   */
  readonly isChangeRefused: boolean;
}

/** Why no call of an operation may be made now. */
export type Closure = { cause: 'held'; reason: string } | { cause: 'breaker'; reason: string };

/** The outcome of GET /transactions. */
export type ListReading =
  | {
      kind: 'page';
      data: Transaction[];
      hasMore: boolean;
      /** Null if the service gave none; absent, null and '' are the same. */
      nextCursor: string | null;
      totalCount: bigint | null;
      /** A transaction was left out, or `hasMore` and `nextCursor` do not say how the list continues. */
      isIncomplete: boolean;
      warnings: string[];
    }
  | {
      kind: 'failed';
      cause: ListFailure;
      reason: string;
      httpStatus: number | null;
      retryAfterMs: number | null;
      /** We read no page of this length: one with a lower `limit` may be shorter. */
      isTooLong?: boolean;
      /** Code and message of a refusal, else null. They may quote the query of an operator, so no log has them. */
      serviceSays: string | null;
    };

export const LIST_FAILURES = [
  /** No call was made: the service is held or not yet checked, or the client is closed. */
  'held',
  /** Never sent, no answer, a page cut off or too long, or a status that says nothing (`http-status.ts`). */
  'unreachable',
  'unauthorized',
  'redirected',
  'told-to-wait',
  /** Any other 4xx, or 501. */
  'refused',
  /** A success status with something other than a page. */
  'not-understood',
] as const;
export type ListFailure = (typeof LIST_FAILURES)[number];
