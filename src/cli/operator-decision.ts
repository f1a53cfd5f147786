/**
 * Publishes an operator's decision on a result and waits for what the processor makes of it: the next revision, or a dead
 * letter that says why it was refused.
 *
 * Stages: both readers have their place -> the decision is published -> the result or the refusal comes, or the time is
 * up -> readers and publisher are closed. All three belong to one call of `submitDecision`.
 */
import { randomUUID } from 'node:crypto';
import type { CommandResult, Envelope } from '../client/events.ts';
import { createRegistry, type ClientSettings } from '../client/settings.ts';
import { subscribe } from '../client/subscription.ts';
import { openTopicReader, type TopicRecord } from '../consumers/outside/topic-reader.ts';
import { RecordPublisher, type PublishedAt } from '../producers/outside/record-publisher.ts';
import { AVRO_CONTENT_TYPE } from '../records/cloud-events.ts';
import { RECORD_NAMESPACE } from '../records/schemas.ts';
import { topicNames } from '../records/topics.ts';
import type { OperatorDecision } from '../records/types.ts';
import { CLI_RETRY, cliKafka } from './context.ts';

export type DecidedResult = Envelope & { kind: 'result'; value: CommandResult };

export type DecisionReply =
  | { kind: 'decided'; result: DecidedResult }
  | { kind: 'refused'; dlqReason: string; problem: string }
  | { kind: 'no-reply' };

export interface SubmitOptions {
  /** Longest wait for the reply, from the publication on. */
  timeoutMs: number;
  onPublished: (at: PublishedAt & { topic: string }) => void;
}

/**
 * The next revision may be another operator's, whose decision came first: then the refusal of this one was written before
 * or with it, and is read within this time.
 */
const REFUSAL_GRACE_MS = 2_000;
/** Dead letters of decisions on this key that come before the place of ours is known. */
const EARLY_LETTERS_MAX = 1_000;

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
  const value = await createRegistry(settings).encode(topic, decision);
  const wait = new ReplyWait(topic, key, decision);
  const opened = await Promise.allSettled([
    RecordPublisher.connect(kafka, [topic], CLI_RETRY),
    subscribe(settings, {
      streams: ['results'],
      key,
      start: { from: 'now' },
      retry: CLI_RETRY,
      onEvent: (event) => {
        if (event.kind === 'result') wait.takeResult(event);
      },
    }),
    openTopicReader(kafka, {
      topics: [topics.deadLetters],
      laneOfKey: key,
      start: { from: 'now' },
      untilEnd: false,
      groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
      onRecord: (record) => wait.takeLetter(record),
    }),
  ]);
  const [publisher, results, letters] = opened;
  try {
    if (publisher.status === 'rejected') throw publisher.reason;
    if (results.status === 'rejected') throw results.reason;
    if (letters.status === 'rejected') throw letters.reason;
    results.value.ended.catch((error: unknown) => wait.fail(error));
    letters.value.ended.catch((error: unknown) => wait.fail(error));
    const at = await publisher.value.publish({
      topic,
      key: Buffer.from(key),
      value,
      headers: {
        ce_specversion: '1.0',
        ce_id: randomUUID(),
        ce_type: `${RECORD_NAMESPACE}.OperatorDecision`,
        ce_source: 'payment-cli',
        ce_time: new Date().toISOString(),
        ce_subject: key,
        'content-type': AVRO_CONTENT_TYPE,
      },
    });
    options.onPublished({ topic, ...at });
    return await wait.reply(at, options.timeoutMs);
  } finally {
    wait.close();
    await Promise.all(opened.map(async (part) => (part.status === 'fulfilled' ? part.value.close() : undefined)));
  }
}

class ReplyWait {
  readonly #topic: string;
  readonly #key: string;
  readonly #decision: OperatorDecision;
  readonly #settle = Promise.withResolvers<DecisionReply>();
  readonly #early: TopicRecord[] = [];
  #published: PublishedAt | null = null;
  #timers: NodeJS.Timeout[] = [];

  constructor(topic: string, key: string, decision: OperatorDecision) {
    this.#topic = topic;
    this.#key = key;
    this.#decision = decision;
    // A publication that fails leaves it unawaited.
    this.#settle.promise.catch(() => undefined);
  }

  reply(published: PublishedAt, timeoutMs: number): Promise<DecisionReply> {
    this.#published = published;
    for (const record of this.#early) this.takeLetter(record);
    this.#after(timeoutMs, { kind: 'no-reply' });
    return this.#settle.promise;
  }

  takeResult(result: DecidedResult): void {
    const { revision, settledBy, warnings } = result.value;
    if (revision !== this.#decision.expectedRevision + 1 || result.headers['replayed'] === 'true') return;
    const decided: DecisionReply = { kind: 'decided', result };
    const { decision, operator, reason } = this.#decision;
    const bearsOurName = warnings.some((warning) => warning.endsWith(` by ${operator}: ${reason}`));
    if (settledBy === 'OPERATOR' && bearsOurName && decision !== 'RETRY') this.#settle.resolve(decided);
    else this.#after(REFUSAL_GRACE_MS, decided);
  }

  takeLetter(record: TopicRecord): void {
    const { headers } = record;
    if (headers['dlq-topic'] !== this.#topic || record.key?.toString() !== this.#key) return;
    const published = this.#published;
    if (published === null) {
      if (this.#early.length < EARLY_LETTERS_MAX) this.#early.push(record);
      return;
    }
    const isOurs =
      headers['dlq-partition'] === String(published.partition) && headers['dlq-offset'] === published.offset.toString();
    if (!isOurs) return;
    this.#settle.resolve({
      kind: 'refused',
      dlqReason: headers['dlq-reason'] ?? '',
      problem: headers['dlq-message'] ?? '',
    });
  }

  fail(error: unknown): void {
    this.#settle.reject(error);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #after(waitMs: number, reply: DecisionReply): void {
    this.#timers.push(setTimeout(() => this.#settle.resolve(reply), waitMs));
  }
}
