/**
 * What each error code means to a transactional producer: the one place that judges brokers' answers. Pure.
 *
 * A retry sends the same bytes, so it does no harm. Registering a partition twice changes nothing. The broker
 * recognises a batch that it already has by its sequence. Initialising an id again fences only our previous try. Ending
 * a transaction again has the same outcome.
 */

/** Why a producer cannot be used any more. */
export type CommitFailure =
  /** Another producer has the id, or the broker has aborted the transaction. */
  | 'fenced'
  /** The broker refuses the records, and would refuse them again. */
  | 'refused'
  /** Any other error. Whether all was committed may be unknown. */
  | 'not-committed';

export type BrokerVerdict =
  | { readonly kind: 'done' }
  /** The broker has the batch already, and does not say at which offset. */
  | { readonly kind: 'duplicate'; readonly name: string }
  /** Retry the same broker in a moment. */
  | { readonly kind: 'busy'; readonly name: string }
  /** Retry with the broker that fresh metadata names. */
  | { readonly kind: 'moved'; readonly name: string }
  | { readonly kind: 'failed'; readonly name: string; readonly failure: CommitFailure; readonly topic?: string };

type Kind = Exclude<BrokerVerdict['kind'], 'failed'> | CommitFailure;

/** By code: Kafka's name for it, and what it means here. */
const CODES: Readonly<Record<number, readonly [name: string, kind: Kind]>> = {
  0: ['NONE', 'done'],
  2: ['CORRUPT_MESSAGE', 'refused'],
  // Brokers learn of a new topic at different times.
  3: ['UNKNOWN_TOPIC_OR_PARTITION', 'moved'],
  5: ['LEADER_NOT_AVAILABLE', 'moved'],
  6: ['NOT_LEADER_FOR_PARTITION', 'moved'],
  // Replicas are late, or the broker is cut off from them and no longer leads. The batch may be written: the retry then
  // finds it by its sequence.
  7: ['REQUEST_TIMED_OUT', 'moved'],
  10: ['MESSAGE_TOO_LARGE', 'refused'],
  13: ['NETWORK_EXCEPTION', 'moved'],
  14: ['COORDINATOR_LOAD_IN_PROGRESS', 'busy'],
  15: ['COORDINATOR_NOT_AVAILABLE', 'moved'],
  16: ['NOT_COORDINATOR', 'moved'],
  17: ['INVALID_TOPIC_EXCEPTION', 'not-committed'],
  18: ['RECORD_LIST_TOO_LARGE', 'refused'],
  19: ['NOT_ENOUGH_REPLICAS', 'moved'],
  20: ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'moved'],
  29: ['TOPIC_AUTHORIZATION_FAILED', 'not-committed'],
  31: ['CLUSTER_AUTHORIZATION_FAILED', 'not-committed'],
  32: ['INVALID_TIMESTAMP', 'not-committed'],
  35: ['UNSUPPORTED_VERSION', 'not-committed'],
  42: ['INVALID_REQUEST', 'not-committed'],
  44: ['POLICY_VIOLATION', 'refused'],
  // Earlier records are missing.
  45: ['OUT_OF_ORDER_SEQUENCE_NUMBER', 'not-committed'],
  46: ['DUPLICATE_SEQUENCE_NUMBER', 'duplicate'],
  47: ['INVALID_PRODUCER_EPOCH', 'fenced'],
  // The coordinator has no such transaction open, or has aborted it.
  48: ['INVALID_TXN_STATE', 'not-committed'],
  49: ['INVALID_PRODUCER_ID_MAPPING', 'fenced'],
  50: ['INVALID_TRANSACTION_TIMEOUT', 'not-committed'],
  // The previous transaction is still ending.
  51: ['CONCURRENT_TRANSACTIONS', 'busy'],
  53: ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'not-committed'],
  // Another partition of the request has an error, and that error counts.
  55: ['OPERATION_NOT_ATTEMPTED', 'busy'],
  56: ['KAFKA_STORAGE_ERROR', 'moved'],
  59: ['UNKNOWN_PRODUCER_ID', 'not-committed'],
  74: ['FENCED_LEADER_EPOCH', 'moved'],
  75: ['UNKNOWN_LEADER_EPOCH', 'moved'],
  76: ['UNSUPPORTED_COMPRESSION_TYPE', 'not-committed'],
  87: ['INVALID_RECORD', 'refused'],
  90: ['PRODUCER_FENCED', 'fenced'],
};

/** An unlisted code fails the transaction, because we do not know which records were written. */
export function verdictOf(errorCode: number): BrokerVerdict {
  const [name, kind] = CODES[errorCode] ?? [`UNKNOWN_ERROR_${errorCode}`, 'not-committed'];
  if (kind === 'done') return { kind };
  if (kind === 'duplicate' || kind === 'busy' || kind === 'moved') return { kind, name };
  return { kind: 'failed', name, failure: kind };
}

/** A broker's answer has an error code, or lacks what we need. `type` is Kafka's name of the code, as in kafkajs. */
export class BrokerAnswerError extends Error {
  readonly type: string;
  readonly failure: CommitFailure;
  /** Undefined: the error is not about a topic. */
  readonly topic: string | undefined;

  constructor(name: string, failure: CommitFailure, topic?: string) {
    super(`the broker's answer: ${name}${topic === undefined ? '' : ` for ${topic}`}`);
    this.type = name;
    this.failure = failure;
    this.topic = topic;
  }
}
