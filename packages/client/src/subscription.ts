/**
 * Subscribes to results and status events: decoded records with their headers, only from committed transactions.
 *
 * Stages: open -> events are handled, one at a time or several keys at once, with heartbeats meanwhile -> ended, by `close`,
 * at the end of existing events (`untilEnd`), or because an event was given up. The member then leaves the group, and the
 * next subscriber gets the unhandled events.
 *
 * A registry outage is not a record's fault: the subscription retries the record until it can be read or the subscription is
 * closed. It delivers an unreadable record as such, so that none is skipped silently.
 */
import { laneOfKey } from './kafka/topic-bounds.ts';
import {
  openTopicReader,
  type ReaderLimits,
  type ReaderStart,
  type TopicReader,
  type TopicReaderOptions,
} from './kafka/topic-reader.ts';
import { RegistryError } from 'payment-processor-contract/registry-failure';
import {
  jsonCopyOf,
  recordOfTopic,
  topicNames,
  topicsOfLanes,
  type TopicNames,
} from 'payment-processor-contract/topics';
import {
  PaymentClientError,
  requireFunction,
  requireOneOf,
  requireText,
  requireWhole,
  withClientErrors,
} from './client-error.ts';
import { clientKafka } from './connection.ts';
import { avroDecoder, jsonDecoder, readEvent, STREAMS, topicOf, type Decoder, type Stream } from './events.ts';
import {
  checkHandlerOptions,
  handleEvent,
  GIVE_UP_TIMEOUT_MS,
  HANDLING_TIMEOUT_DEFAULT_MS,
  type HandlerOptions,
} from './handling.ts';
import { notice } from './notices.ts';
import type { PublisherOptions } from './publisher.ts';
import { onceRemembered, RecentIds, type SeenEvents } from './seen-events.ts';
import { registryOf, type PublisherSettings } from './settings.ts';

export interface ConnectionOptions extends PublisherOptions {
  /**
   * `avro` (default): the topics themselves, which requires SCHEMA_REGISTRY_URL. `json`: their copies, which require no
   * registry; the processor's operator must run `mirror`.
   */
  format?: 'avro' | 'json';
}

export interface SubscriptionOptions extends ConnectionOptions, HandlerOptions {
  streams: readonly Stream[];
  start: ReaderStart;
  /** True: ends after the events that existed at the start. */
  untilEnd?: boolean;
  /** Only events of this key; reads only its lane. Not with a group. */
  key?: string;
  /** Skips events whose `uniqueId` is among these; `true`: among the last 10,000 that this subscription handled. */
  deduplicate?: boolean | SeenEvents;
  /** How many keys of a partition are handled concurrently; events of one key stay in order. Default: 1. */
  concurrency?: number;
  /**
   * With a group, when to commit offsets: `interval` (default), within about a second and when the subscription ends; `each`,
   * before the next event. After a crash, events handled since the last commit come again.
   */
  commit?: 'interval' | 'each';
  /**
   * Session timeout: the group drops a silent subscriber after this time. Default: 10,000. The brokers have their own bounds
   * (`group.min.session.timeout.ms`, default 6,000). It does not limit the handler.
   */
  sessionTimeoutMs?: number;
  /** Maximum bytes of one fetch per partition; default: 1,048,576. */
  fetchBytesMax?: number;
  /** How long `close` waits for a running handler; default: 30,000. */
  closeTimeoutMs?: number;
}

export type Subscription = Omit<TopicReader, 'caughtUp'>;

const CONCURRENCY_MAX = 1_000;
const SESSION_TIMEOUT_DEFAULT_MS = 10_000;
const FETCH_BYTES_DEFAULT = 1024 * 1024;
const CLOSE_TIMEOUT_DEFAULT_MS = 30_000;
/** Time that a rebalance waits beyond handling one event: for `onGiveUp`, the commit, and the member to join. */
const REBALANCE_SLACK_MS = GIVE_UP_TIMEOUT_MS + 10_000;

/**
 * @returns once the subscription has its position: with start `now`, it sees every event published from here on
 * @throws PaymentClientError
 */
export async function subscribe(settings: PublisherSettings, options: SubscriptionOptions): Promise<Subscription> {
  return withClientErrors(() => open(settings, options, options.untilEnd ?? false));
}

/** Like `subscribe`, without an end; it can wait until it has caught up. Not with a group. */
export async function subscribeLive(
  settings: PublisherSettings,
  options: Omit<SubscriptionOptions, 'untilEnd'>,
): Promise<TopicReader> {
  return withClientErrors(() => open(settings, options, false));
}

/** Like `subscribe`, to the end of all that was written: it waits for open transactions, so that they hide nothing. */
export async function subscribeUntilWritten(
  settings: PublisherSettings,
  options: Omit<SubscriptionOptions, 'untilEnd'>,
): Promise<Subscription> {
  return withClientErrors(() => open(settings, options, 'written'));
}

async function open(
  settings: PublisherSettings,
  options: SubscriptionOptions,
  untilEnd: TopicReaderOptions['untilEnd'],
): Promise<TopicReader> {
  checkOptions(options);
  const limits = limitsOf(options);
  const names = topicNames(settings.TOPIC_PREFIX);
  const { decode, nameOf } = sourceOf(settings, names, options.format ?? 'avro');
  const { deduplicate = false } = options;
  const seen = deduplicate === true ? new RecentIds() : deduplicate === false ? null : deduplicate;
  const kafka = clientKafka(settings, 'payment-events-subscriber', options.retry);
  const closing = new AbortController();
  const streams = new Map(options.streams.map((stream) => [nameOf(topicOf(stream, names)), stream]));
  const peers = options.format === 'json' ? [...streams.keys()] : topicsOfLanes(names);
  const reader = await openTopicReader(kafka, {
    topics: [...streams.keys()],
    start: options.start,
    untilEnd,
    groupPrefix: `${settings.TOPIC_PREFIX}-subscriber`,
    limits,
    concurrency: options.concurrency ?? 1,
    commit: options.commit ?? 'interval',
    ...(options.key === undefined ? {} : { lane: await laneOfKey(kafka, peers, options.key) }),
    onOutage: (problem) => notice(options, { kind: 'kafka-outage', problem }),
    onRecord: async (record) => {
      const stream = streams.get(record.topic);
      if (stream === undefined) return;
      if (options.key !== undefined && options.key !== record.key?.toString()) return;
      const event = await readEvent(record, stream, decode, closing.signal, (problem) =>
        notice(options, { kind: 'registry-outage', problem }),
      );
      if (event === null) throw new PaymentClientError('CLOSED', 'closed before this record could be read');
      await onceRemembered(seen, event, () => handleEvent(event, options, closing.signal));
    },
  });
  const ended = withClientErrors(() => reader.ended);
  // An ignored rejection must not end the caller's process.
  ended.catch(() => undefined);
  return {
    ended,
    pause: () => reader.pause(),
    resume: () => reader.resume(),
    caughtUp: (place, signal) => reader.caughtUp(place, signal),
    close: async () => {
      closing.abort();
      await reader.close();
    },
  };
}

function checkOptions(options: SubscriptionOptions): void {
  const { format, key, onEvent, start, streams } = options;
  if (!Array.isArray(streams) || streams.length === 0) requireOneOf('streams', streams, STREAMS);
  for (const stream of streams) requireOneOf('streams', stream, STREAMS);
  requireOneOf('start.from', (start as ReaderStart | undefined)?.from, ['beginning', 'now', 'time', 'group']);
  if (start.from === 'time') requireWhole('start.ms', start.ms, 0, Number.MAX_SAFE_INTEGER);
  if (start.from === 'group') requireText('start.groupId', start.groupId);
  if (start.from === 'group' && (key !== undefined || options.untilEnd === true)) {
    const field = key === undefined ? 'untilEnd' : 'key';
    throw new PaymentClientError('INVALID_OPTION', `${field} cannot be combined with a group`, { field });
  }
  requireText('key', key);
  if (format !== undefined) requireOneOf('format', format, ['avro', 'json']);
  requireFunction('onEvent', onEvent);
  if (options.commit !== undefined) requireOneOf('commit', options.commit, ['interval', 'each']);
  requireWhole('concurrency', options.concurrency ?? 1, 1, CONCURRENCY_MAX);
  checkHandlerOptions(options);
}

/** How to read values, and from which topic. */
function sourceOf(
  settings: PublisherSettings,
  names: TopicNames,
  format: 'avro' | 'json',
): { decode: Decoder; nameOf: (topic: string) => string } {
  if (format === 'json') {
    const originals = new Map([...recordOfTopic(names).keys()].map((topic) => [jsonCopyOf(topic), topic]));
    return { decode: jsonDecoder(names, (topic) => originals.get(topic) ?? topic), nameOf: jsonCopyOf };
  }
  const registry = registryOf(settings);
  if (registry !== null) return { decode: avroDecoder(registry), nameOf: (topic) => topic };
  throw new RegistryError(
    "reading needs SCHEMA_REGISTRY_URL: set it, or use format 'json' if the processor's operator runs `mirror`",
    {
      failure: null,
    },
  );
}

function limitsOf(options: SubscriptionOptions): ReaderLimits {
  const sessionTimeoutMs = options.sessionTimeoutMs ?? SESSION_TIMEOUT_DEFAULT_MS;
  const bytesPerPartitionMax = options.fetchBytesMax ?? FETCH_BYTES_DEFAULT;
  const closeTimeoutMs = options.closeTimeoutMs ?? CLOSE_TIMEOUT_DEFAULT_MS;
  requireWhole('sessionTimeoutMs', sessionTimeoutMs, 1_000, 3_600_000);
  requireWhole('fetchBytesMax', bytesPerPartitionMax, 1_024, 64 * 1024 * 1024);
  requireWhole('closeTimeoutMs', closeTimeoutMs, 0, 3_600_000);
  const rebalanceTimeoutMs = (options.handlingTimeoutMs ?? HANDLING_TIMEOUT_DEFAULT_MS) + REBALANCE_SLACK_MS;
  return { sessionTimeoutMs, rebalanceTimeoutMs, bytesPerPartitionMax, closeTimeoutMs };
}
