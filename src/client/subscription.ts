/**
 * Subscribes to results and status events: decoded records with their headers, from committed transactions alone.
 *
 * A registry that does not answer is no fault of a record: the same record is tried again until it can be read or the
 * subscription is closed. A record that cannot be read at all is handed over as such, so that nothing passes unseen.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  openTopicReader,
  type ReaderStart,
  type TopicReader,
  type TopicRecord,
} from '../consumers/outside/topic-reader.ts';
import { createKafka, PATIENT_RETRY } from '../producers/kafka-client.ts';
import type { RecordRegistry } from '../records/registry.ts';
import { topicNames, type TopicNames } from '../records/topics.ts';
import type { CommandResult, QuoteStatusChanged, TransactionStatusChanged } from '../records/types.ts';
import { RecentIds } from './recent-ids.ts';
import { createRegistry, type ClientSettings } from './settings.ts';

/** Where a record lies, and what its headers say. */
export interface Envelope {
  topic: string;
  partition: number;
  offset: bigint;
  timestampMs: number;
  /** The command's key, the transaction's id or the quote's id. */
  key: string;
  /** `ce_id`: equal for copies of one event. */
  id: string | null;
  /** All headers, as text. */
  headers: Record<string, string>;
}

export type PaymentEvent = Envelope &
  (
    | { kind: 'result'; value: CommandResult }
    | { kind: 'transaction-status'; value: TransactionStatusChanged }
    | { kind: 'quote-status'; value: QuoteStatusChanged }
    | { kind: 'unreadable'; problem: string; bytes: Buffer | null }
  );

export type Stream = 'results' | 'transaction-status' | 'quote-status';

export interface SubscriptionOptions {
  streams: readonly Stream[];
  start: ReaderStart;
  /** True: ends after what was there when it began. */
  untilEnd?: boolean;
  /** Events of this key alone; of the topics only its lane is read. Not with a group. */
  key?: string;
  /** Leaves out events whose `ce_id` was among the last 10,000. */
  deduplicate?: boolean;
  /** Called when the registry cannot be asked, before it is tried again. */
  onRegistryOutage?: (problem: string) => void;
  /** Awaited before the next event; what it throws ends the subscription. */
  onEvent: (event: PaymentEvent) => Promise<void> | void;
  /** How patient the connection is; half a minute if not given. */
  retry?: typeof PATIENT_RETRY;
}

export type Subscription = TopicReader;

/** How long until the registry is asked again. */
const REGISTRY_RETRY_MS = 1_000;

/**
 * @returns once the subscription has its place: with start `now`, what is published from here on is seen
 * @throws the Kafka client's error when no broker answers; an Error naming the topics that do not exist
 */
export async function subscribe(settings: ClientSettings, options: SubscriptionOptions): Promise<Subscription> {
  const names = topicNames(settings.TOPIC_PREFIX);
  const registry = createRegistry(settings);
  const recent = options.deduplicate === true ? new RecentIds() : null;
  const kafka = createKafka(settings, 'payment-events-subscriber', { retry: options.retry ?? PATIENT_RETRY });
  const closing = new AbortController();
  const streams = new Map(options.streams.map((stream) => [topicOf(stream, names), stream]));
  const reader = await openTopicReader(kafka, {
    topics: [...streams.keys()],
    start: options.start,
    untilEnd: options.untilEnd ?? false,
    groupPrefix: `${settings.TOPIC_PREFIX}-subscriber`,
    ...(options.key === undefined ? {} : { laneOfKey: options.key }),
    onRecord: async (record) => {
      const stream = streams.get(record.topic);
      if (stream === undefined) return;
      if (options.key !== undefined && options.key !== record.key?.toString()) return;
      const event = await readEvent(record, stream, registry, closing.signal, options.onRegistryOutage);
      if (event === null) throw new Error('the subscription was closed before this record could be read');
      if (event.id !== null && recent?.isCopy(event.id) === true) return;
      await options.onEvent(event);
      if (event.id !== null) recent?.remember(event.id);
    },
  });
  return {
    ended: reader.ended,
    close: async () => {
      closing.abort();
      await reader.close();
    },
  };
}

function topicOf(stream: Stream, names: TopicNames): string {
  switch (stream) {
    case 'results':
      return names.results;
    case 'transaction-status':
      return names.transactionStatusChanged;
    case 'quote-status':
      return names.quoteStatusChanged;
  }
}

/** Null: closed while the registry did not answer. */
async function readEvent(
  record: TopicRecord,
  stream: Stream,
  registry: RecordRegistry,
  closing: AbortSignal,
  onRegistryOutage: ((problem: string) => void) | undefined,
): Promise<PaymentEvent | null> {
  const envelope: Envelope = {
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    timestampMs: record.timestampMs,
    key: record.key?.toString() ?? '',
    id: record.headers['ce_id'] ?? null,
    headers: record.headers,
  };
  const unreadable = (problem: string): PaymentEvent => ({
    ...envelope,
    kind: 'unreadable',
    problem,
    bytes: record.value,
  });
  if (record.value === null) return unreadable('the record has no value');
  while (!closing.aborted) {
    const decoded = await registry.decode(record.topic, record.value);
    switch (decoded.kind) {
      case 'record':
        return eventOf(stream, envelope, decoded.value);
      case 'unreadable':
      case 'unknown-schema':
        return unreadable(decoded.problem);
      case 'unavailable':
        onRegistryOutage?.(decoded.problem);
        await delay(REGISTRY_RETRY_MS, undefined, { signal: closing }).catch(() => undefined);
    }
  }
  return null;
}

/** The registry has resolved the value into our own record of the topic. */
function eventOf(stream: Stream, envelope: Envelope, value: unknown): PaymentEvent {
  switch (stream) {
    case 'results':
      return { ...envelope, kind: 'result', value: value as CommandResult };
    case 'transaction-status':
      return { ...envelope, kind: 'transaction-status', value: value as TransactionStatusChanged };
    case 'quote-status':
      return { ...envelope, kind: 'quote-status', value: value as QuoteStatusChanged };
  }
}
