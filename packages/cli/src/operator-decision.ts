/**
 * Publishes an operator's decision on a result and waits for the processor's reply: the next revision, or a dead letter with
 * the reason for a refusal.
 *
 * Stages: both readers have their position -> the decision is published -> the result or the refusal comes, or the time is up
 * -> readers and publisher are closed. All three belong to one call of `submitDecision`. The decision's result names the
 * message's `ce_id` and matches its content; its refusal is the dead letter with its place. Any other result of the revision
 * comes from another decision: a refusal of this one follows.
 */
import { randomUUID } from 'node:crypto';
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import type { PaymentEvent } from 'payment-processor-client/internal/events';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { openTopicReader, type TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import {
  PublishError,
  RecordPublisher,
  type PublishedAt,
} from 'payment-processor-client/internal/kafka/record-publisher';
import { eventHeaders } from 'payment-processor-contract/cloud-events';
import { topicNames } from 'payment-processor-contract/topics';
import type { OperatorDecision } from 'payment-processor-contract/types';
import { auditOf, type OperatorOrder } from '../../../src/ledger/operator.ts';
import { DECISION_HEADER } from '../../../src/producers/result-events.ts';
import { CLI_RETRY, cliKafka, laneIn } from './context.ts';
import { CliFailure } from './exit-codes.ts';
import { oncePublished, reasonOf } from './failures.ts';
import { keyCommand } from './key-command.ts';

export type DecidedResult = Extract<PaymentEvent, { kind: 'result' }>;

interface Refusal {
  readonly kind: 'refused';
  readonly dlqReason: string;
  readonly problem: string;
}

type DecisionReply =
  | { readonly kind: 'decided'; readonly result: DecidedResult }
  | Refusal
  /** @param result of the decision's next revision; it does not name the decision */
  | { readonly kind: 'no-reply'; readonly result: DecidedResult | null };

/**
 * @param timeoutMs longest wait for the reply after publishing
 * @throws CliFailure if the decision may be published; RegistryError, PublishError, or the Kafka client's error if not
 */
export async function submitDecision(
  settings: ClientSettings,
  key: string,
  decision: OperatorDecision,
  timeoutMs: number,
  onPublished: (at: PublishedAt & { topic: string }) => void,
): Promise<DecisionReply> {
  const topics = topicNames(settings.TOPIC_PREFIX);
  const topic = topics.operatorDecisions;
  const kafka = cliKafka(settings);
  const registry = createRegistry(settings);
  await registry.ready(topic);
  const value = registry.encode(topic, decision);
  const lane = await laneIn(settings, key);
  const id = randomUUID();
  let next: DecidedResult | null = null;
  /** The decision's place; null: not published, or no longer awaited. */
  const place = Promise.withResolvers<PublishedAt | null>();
  const reply = Promise.withResolvers<DecisionReply>();
  // If publishing fails, no one awaits this promise.
  reply.promise.catch(() => undefined);
  const opened = await Promise.allSettled([
    RecordPublisher.connect(kafka, [topic], CLI_RETRY),
    subscribe(settings, {
      streams: ['results'],
      key,
      start: { from: 'now' },
      retry: CLI_RETRY,
      onEvent: (event) => {
        if (event.kind !== 'result' || event.value.revision !== decision.expectedRevision + 1) return;
        if (isMadeBy(event, { ...decision, id })) reply.resolve({ kind: 'decided', result: event });
        else next = event;
      },
    }),
    openTopicReader(kafka, {
      topics: [topics.deadLetters],
      lane,
      start: { from: 'now' },
      untilEnd: false,
      groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
      onRecord: async (record) => {
        // Its dead letter may come before the place is known.
        const at = await place.promise;
        const refusal = at === null ? null : refusalIn(record, { topic, ...at });
        if (refusal !== null) reply.resolve(refusal);
      },
    }),
  ]);
  const [publisher, results, letters] = opened;
  let timer: NodeJS.Timeout | undefined;
  try {
    if (publisher.status === 'rejected') throw publisher.reason;
    if (results.status === 'rejected') throw results.reason;
    if (letters.status === 'rejected') throw letters.reason;
    results.value.ended.catch(reply.reject);
    letters.value.ended.catch(reply.reject);
    const named = { id, recordName: 'OperatorDecision', subject: key, timeMs: Date.now(), source: 'payment-cli' };
    const record = { topic, key: Buffer.from(key), partition: lane, value, headers: eventHeaders(named) };
    const at = await publisher.value.publish(record).catch((error: unknown) => {
      throw publishFailure(error, key, decision.expectedRevision);
    });
    onPublished({ topic, ...at });
    place.resolve(at);
    timer = setTimeout(() => reply.resolve({ kind: 'no-reply', result: next }), timeoutMs);
    return await oncePublished('the decision was published', reply.promise);
  } finally {
    clearTimeout(timer);
    place.resolve(null);
    await Promise.all(opened.map(async (part) => (part.status === 'fulfilled' ? part.value.close() : undefined)));
  }
}

/** The publisher's own advice is for commands, which may be published again as they are. */
export function publishFailure(error: unknown, key: string, expectedRevision: number): unknown {
  if (!(error instanceof PublishError && error.mayBeWritten)) return error;
  const next = `Check with \`${keyCommand('show', key)}\` in a minute: if revision ${expectedRevision} is still the current one, repeat the command with --expected-revision ${expectedRevision}. The processor refuses the second of two decisions on one revision`;
  return new CliFailure(
    'noResult',
    `it is not known whether the decision was published (${reasonOf(error)}): it may still be carried out. ${next}`,
  );
}

/** Whether the result comes from this very decision, with all of its content. Without an id it names what the ledger knew. */
export function isMadeBy({ headers, value }: DecidedResult, order: OperatorOrder): boolean {
  const { transaction, warnings } = value;
  const isTransaction =
    order.decision !== 'EXECUTED' || order.transactionId === null || transaction?.id === order.transactionId;
  return headers[DECISION_HEADER] === order.id && warnings.includes(auditOf(order)) && isTransaction;
}

/**
 * @param at the decision's place
 * @returns null: the dead letter belongs to another message
 */
export function refusalIn({ headers }: TopicRecord, at: PublishedAt & { readonly topic: string }): Refusal | null {
  const isOfIt =
    headers['dlq-topic'] === at.topic &&
    headers['dlq-partition'] === String(at.partition) &&
    headers['dlq-offset'] === at.offset.toString();
  if (!isOfIt) return null;
  return { kind: 'refused', dlqReason: headers['dlq-reason'] ?? '', problem: headers['dlq-message'] ?? '' };
}
