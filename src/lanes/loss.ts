/** Why a lane was lost, in a few words that can be counted. Pure. */
import { LaneProducerError } from '../producers/lane-producer.ts';

export type LaneLoss =
  /** Another producer has the lane's transactional id, or the broker has given its transaction up. */
  | 'fenced'
  /** It is not certain that the last transaction was committed. */
  | 'not-committed'
  /** The broker does not take what the lane would commit, and will not: a batch that is too large, a record that is wrong. */
  | 'refused'
  /** The group had counted this process out: the lane may have been another's. */
  | 'counted-out'
  /** An attempt to acquire it failed; it is tried again. */
  | 'not-acquired'
  /** Our own code failed: a bug. */
  | 'own-failure';

/** What the metrics count of lanes, whatever passes through them. */
export interface LaneReports {
  committed(): void;
  laneLost(reason: LaneLoss): void;
  /** Messages came again that the lane has had; they were passed over. */
  redelivered(messages: number): void;
}

/** As Kafka calls them. */
const FENCED: readonly unknown[] = [
  'INVALID_PRODUCER_EPOCH',
  'PRODUCER_FENCED',
  'INVALID_PRODUCER_ID_MAPPING',
  'TRANSACTION_COORDINATOR_FENCED',
];
const REFUSED: readonly unknown[] = [
  'MESSAGE_TOO_LARGE',
  'RECORD_LIST_TOO_LARGE',
  'INVALID_RECORD',
  'CORRUPT_MESSAGE',
  'POLICY_VIOLATION',
];
/** The client could not write it at all. */
const NOT_WRITABLE: readonly string[] = ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError'];
/** Errors within errors that are looked through: the client wraps one for its retries, and we do. */
const CAUSES_MAX = 8;

/** @param error of a transaction that did not go through */
export function lossOf(error: unknown): LaneLoss {
  if (!(error instanceof LaneProducerError)) return 'own-failure';
  let cause: unknown = error;
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    const { type } = cause as { type?: unknown };
    if (FENCED.includes(type)) return 'fenced';
    if (REFUSED.includes(type) || NOT_WRITABLE.includes(cause.name)) return 'refused';
    cause = cause.cause;
  }
  return 'not-committed';
}
