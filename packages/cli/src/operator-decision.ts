/**
 * Publishes an operator's decision on a result and waits for what the processor makes of it: the next revision, or a dead
 * letter that says why it was refused.
 *
 * Stages: both readers have their place -> the decision is published -> the result or the refusal comes, or the time is
 * up -> readers and publisher are closed. All three belong to one call of `submitDecision`; which reply is its own,
 * `decision-reply.ts` tells.
 */
import { randomUUID } from 'node:crypto';
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import { RecordPublisher, type PublishedAt } from 'payment-processor-client/internal/kafka/record-publisher';
import { AVRO_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { RECORD_NAMESPACE } from 'payment-processor-contract/schemas';
import { topicNames } from 'payment-processor-contract/topics';
import type { OperatorDecision } from 'payment-processor-contract/types';
import { CLI_RETRY, cliKafka } from './context.ts';
import { oncePublished } from './failures.ts';
import { DecisionReplies, type DecisionReply } from './decision-reply.ts';

export interface SubmitOptions {
  /** Longest wait for the reply, from the publication on. */
  timeoutMs: number;
  onPublished: (at: PublishedAt & { topic: string }) => void;
}

/** @throws RegistryError, PublishError, or the Kafka client's error */
export async function submitDecision(
  settings: ClientSettings,
  key: string,
  decision: OperatorDecision,
  options: SubmitOptions,
): Promise<DecisionReply> {
  const topics = topicNames(settings.TOPIC_PREFIX);
  const topic = topics.operatorDecisions;
  const kafka = cliKafka(settings);
  const registry = createRegistry(settings);
  await registry.ready(topic);
  const value = registry.encode(topic, decision);
  const id = randomUUID();
  const replies = new DecisionReplies(topic, key, { ...decision, id });
  const reply = Promise.withResolvers<DecisionReply>();
  // A publication that fails leaves it unawaited.
  reply.promise.catch(() => undefined);
  const settle = (found: DecisionReply | null): void => {
    if (found !== null) reply.resolve(found);
  };
  const opened = await Promise.allSettled([
    RecordPublisher.connect(kafka, [topic], CLI_RETRY),
    subscribe(settings, {
      streams: ['results'],
      key,
      start: { from: 'now' },
      retry: CLI_RETRY,
      onEvent: (event) => {
        if (event.kind === 'result') settle(replies.takeResult(event));
      },
    }),
    openTopicReader(kafka, {
      topics: [topics.deadLetters],
      laneOfKey: key,
      start: { from: 'now' },
      untilEnd: false,
      groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
      onRecord: (record) => settle(replies.takeLetter(record)),
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
    const at = await publisher.value.publish({
      topic,
      key: Buffer.from(key),
      value,
      headers: {
        ce_specversion: '1.0',
        ce_id: id,
        ce_type: `${RECORD_NAMESPACE}.OperatorDecision`,
        ce_source: 'payment-cli',
        ce_time: new Date().toISOString(),
        ce_subject: key,
        'content-type': AVRO_CONTENT_TYPE,
      },
    });
    options.onPublished({ topic, ...at });
    settle(replies.published(at));
    timer = setTimeout(() => settle(replies.timeUp()), options.timeoutMs);
    return await oncePublished('the decision was published', reply.promise);
  } finally {
    clearTimeout(timer);
    await Promise.all(opened.map(async (part) => (part.status === 'fulfilled' ? part.value.close() : undefined)));
  }
}
