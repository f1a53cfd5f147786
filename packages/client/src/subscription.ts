/**
 * Subscribes to results and status events: decoded records with their headers, from committed transactions alone.
 *
 * Stages: open -> events are handled, one at a time or several keys at once, with heartbeats meanwhile -> ended, by `close`, at the end of what
 * was there, or because an event was given up: the group is left, and what was not handled is the next subscriber's.
 *
 * A registry that does not answer is no fault of a record: the same record is tried again until it can be read or the
 * subscription is closed. A record that cannot be read at all is handed over as such, so that nothing passes unseen.
 */
import { openTopicReader, type ReaderStart, type TopicReader } from './kafka/topic-reader.ts';
import type { PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { RegistryError } from 'payment-processor-contract/registry-failure';
import { jsonCopyOf, recordOfTopic, topicNames, type TopicNames } from 'payment-processor-contract/topics';
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
import { notice, type Noticing } from './notices.ts';
import { onceRemembered, RecentIds, type SeenEvents } from './seen-events.ts';
import { registryOf, type PublisherSettings } from './settings.ts';

export interface ConnectionOptions extends Noticing {
  /**
   * `avro` (if not given): the topics themselves, which needs SCHEMA_REGISTRY_URL. `json`: their copies, which need no
   * registry; whoever runs the processor also runs its `mirror`.
   */
  format?: 'avro' | 'json';
  /** How patient the connection is; half a minute if not given. */
  retry?: typeof PATIENT_RETRY;
}

export interface SubscriptionOptions extends ConnectionOptions, HandlerOptions {
  streams: readonly Stream[];
  start: ReaderStart;
  /** True: ends after what was there when it began. */
  untilEnd?: boolean;
  /** Events of this key alone; of the topics only its lane is read. Not with a group. */
  key?: string;
  /** Leaves out events whose `uniqueId` is among these; `true`: among the last 10,000 that this subscription handled. */
  deduplicate?: boolean | SeenEvents;
  /** Handlers of so many keys of a partition at once, of one key in order; 1 if not given. */
  concurrency?: number;
  /**
   * With a group, when offsets are committed: `interval` (if not given), within about a second and when the subscription
   * ends; `each`, before the next event. What was handled after the last commit comes again after a crash.
   */
  commit?: 'interval' | 'each';
  /**
   * A subscriber that is gone without leaving is missed after this long; 10,000 if not given. The brokers have bounds of
   * their own (`group.min.session.timeout.ms`, 6,000 unless changed). It does not limit the handler.
   */
  sessionTimeoutMs?: number;
  /** What one fetch takes of a partition at most, bytes; 1,048,576 if not given. */
  fetchBytesMax?: number;
  /** How long `close` waits for a handler that is under way; 30,000 if not given. */
  closeTimeoutMs?: number;
}

export type Subscription = TopicReader;

const CONCURRENCY_MAX = 1_000;
const SESSION_TIMEOUT_DEFAULT_MS = 10_000;
const FETCH_BYTES_DEFAULT = 1024 * 1024;
const CLOSE_TIMEOUT_DEFAULT_MS = 30_000;
/** What a rebalance waits beyond the time of an event: for `onGiveUp`, for the commit, and for the member to join. */
const REBALANCE_SLACK_MS = GIVE_UP_TIMEOUT_MS + 10_000;

/**
 * @returns once the subscription has its place: with start `now`, what is published from here on is seen
 * @throws PaymentClientError
 */
export async function subscribe(settings: PublisherSettings, options: SubscriptionOptions): Promise<Subscription> {
  return withClientErrors(async () => {
    checkOptions(options);
    return open(settings, options);
  });
}

async function open(settings: PublisherSettings, options: SubscriptionOptions): Promise<Subscription> {
  const limits = limitsOf(options);
  const names = topicNames(settings.TOPIC_PREFIX);
  const { decode, nameOf } = sourceOf(settings, names, options.format ?? 'avro');
  const { deduplicate = false } = options;
  const seen = deduplicate === true ? new RecentIds() : deduplicate === false ? null : deduplicate;
  const kafka = clientKafka(settings, 'payment-events-subscriber', options.retry);
  const closing = new AbortController();
  const streams = new Map(options.streams.map((stream) => [nameOf(topicOf(stream, names)), stream]));
  const reader = await openTopicReader(kafka, {
    topics: [...streams.keys()],
    start: options.start,
    untilEnd: options.untilEnd ?? false,
    groupPrefix: `${settings.TOPIC_PREFIX}-subscriber`,
    limits,
    concurrency: options.concurrency ?? 1,
    commit: options.commit ?? 'interval',
    ...(options.key === undefined ? {} : { laneOfKey: options.key }),
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
  // Callers that ignore it must not be ended by it.
  ended.catch(() => undefined);
  return {
    ended,
    pause: () => reader.pause(),
    resume: () => reader.resume(),
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
    throw new PaymentClientError('INVALID_OPTION', `${field} cannot be had with a group`, { field });
  }
  requireText('key', key);
  if (format !== undefined) requireOneOf('format', format, ['avro', 'json']);
  requireFunction('onEvent', onEvent);
  if (options.commit !== undefined) requireOneOf('commit', options.commit, ['interval', 'each']);
  requireWhole('concurrency', options.concurrency ?? 1, 1, CONCURRENCY_MAX);
  checkHandlerOptions(options);
}

/** How values are read, and from which topic instead of the original. */
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
  throw new RegistryError("reading needs SCHEMA_REGISTRY_URL: set it, or ask for format 'json' where a mirror runs", {
    failure: null,
  });
}

function limitsOf(options: SubscriptionOptions): {
  sessionTimeoutMs: number;
  rebalanceTimeoutMs: number;
  bytesPerPartitionMax: number;
  closeTimeoutMs: number;
} {
  const sessionTimeoutMs = options.sessionTimeoutMs ?? SESSION_TIMEOUT_DEFAULT_MS;
  const bytesPerPartitionMax = options.fetchBytesMax ?? FETCH_BYTES_DEFAULT;
  const closeTimeoutMs = options.closeTimeoutMs ?? CLOSE_TIMEOUT_DEFAULT_MS;
  requireWhole('sessionTimeoutMs', sessionTimeoutMs, 1_000, 3_600_000);
  requireWhole('fetchBytesMax', bytesPerPartitionMax, 1_024, 64 * 1024 * 1024);
  requireWhole('closeTimeoutMs', closeTimeoutMs, 0, 3_600_000);
  const rebalanceTimeoutMs = (options.handlingTimeoutMs ?? HANDLING_TIMEOUT_DEFAULT_MS) + REBALANCE_SLACK_MS;
  return { sessionTimeoutMs, rebalanceTimeoutMs, bytesPerPartitionMax, closeTimeoutMs };
}
