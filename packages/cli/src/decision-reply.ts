/**
 * Separates the reply to one operator's decision from replies to others. Pure.
 *
 *   its result    names it, by the `ce_id` of its message, and says the same: carried out
 *   its refusal   the dead letter of its place
 *   neither yet   a result of the same revision may be there, of another's decision: the refusal of this one follows
 */
import type { PaymentEvent } from 'payment-processor-client/internal/events';
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { auditOf, type OperatorOrder } from '../../../src/ledger/operator.ts';
import type { PublishedAt } from 'payment-processor-client/internal/kafka/record-publisher';
import { DECISION_HEADER } from '../../../src/producers/result-events.ts';

export type DecidedResult = Extract<PaymentEvent, { kind: 'result' }>;

export type DecisionReply =
  | { kind: 'decided'; result: DecidedResult }
  | { kind: 'refused'; dlqReason: string; problem: string }
  /** @param result of the revision that the decision was to make; it does not name the decision */
  | { kind: 'no-reply'; result: DecidedResult | null };

/** Dead letters of decisions on this key that come before the place of ours is known. */
const EARLY_LETTERS_MAX = 1_000;

export class DecisionReplies {
  readonly #topic: string;
  readonly #key: string;
  readonly #order: OperatorOrder;
  readonly #early: TopicRecord[] = [];
  #at: PublishedAt | null = null;
  #next: DecidedResult | null = null;

  /** @param topic of decisions */
  constructor(topic: string, key: string, order: OperatorOrder) {
    this.#topic = topic;
    this.#key = key;
    this.#order = order;
  }

  /** @returns what came before its place was known; null: nothing of it */
  published(at: PublishedAt): DecisionReply | null {
    this.#at = at;
    for (const record of this.#early.splice(0)) {
      const reply = this.takeLetter(record);
      if (reply !== null) return reply;
    }
    return null;
  }

  takeResult(result: DecidedResult): DecisionReply | null {
    if (result.value.revision !== this.#order.expectedRevision + 1) return null;
    if (isMadeBy(result, this.#order)) return { kind: 'decided', result };
    this.#next = result;
    return null;
  }

  takeLetter(record: TopicRecord): DecisionReply | null {
    const { headers, key } = record;
    if (headers['dlq-topic'] !== this.#topic || key?.toString() !== this.#key) return null;
    if (this.#at === null) {
      if (this.#early.length < EARLY_LETTERS_MAX) this.#early.push(record);
      return null;
    }
    const { offset, partition } = this.#at;
    if (headers['dlq-partition'] !== String(partition) || headers['dlq-offset'] !== offset.toString()) return null;
    return { kind: 'refused', dlqReason: headers['dlq-reason'] ?? '', problem: headers['dlq-message'] ?? '' };
  }

  timeUp(): DecisionReply {
    return { kind: 'no-reply', result: this.#next };
  }
}

/** Whether the result comes of this very decision, and of all that it says. */
function isMadeBy({ headers, value }: DecidedResult, order: OperatorOrder): boolean {
  const { transaction, warnings } = value;
  const isTransaction = order.decision !== 'EXECUTED' || (transaction?.id ?? null) === order.transactionId;
  return headers[DECISION_HEADER] === order.id && warnings.includes(auditOf(order)) && isTransaction;
}
