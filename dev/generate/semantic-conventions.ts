/**
 * OpenTelemetry's counterpart of each of our metrics, for people who use both: messaging and HTTP client
 * metrics of its semantic conventions, or else the name in the collector's Kafka receiver.
 */
import type { MetricName } from '../../src/ops/metrics-table.ts';

export interface Convention {
  /** Its name in the conventions or the collector. */
  readonly name: string;
  /** How ours differs, and what our labels are called there. */
  readonly difference: string;
}

/** In messaging metrics the destination's name is the topic: `TOPIC_PREFIX` and the command. */
const OF_TOPIC = '`command` is `messaging.destination.name`';

export const CONVENTIONS: Partial<Record<MetricName, Convention>> = {
  lagMessages: {
    name: 'kafka.consumer_group.lag',
    difference:
      '`command` is `topic`, `lane` is `partition`; ours counts from admission, not from the offsets of the group',
  },
  results: {
    name: 'messaging.client.sent.messages',
    difference:
      'of the results topic, without replays; `outcome` has no attribute of its own, FAILED alone is an `error.type`',
  },
  commandDurationSeconds: {
    name: 'messaging.process.duration',
    difference: `${OF_TOPIC}; ours begins at the timestamp of the command, so that it includes waiting; its \`_count\` stands for \`messaging.client.consumed.messages\``,
  },
  statusChanges: {
    name: 'messaging.client.sent.messages',
    difference: 'of the two topics of status changes, by `kind`',
  },
  deadLetters: {
    name: 'messaging.client.sent.messages',
    difference: 'of the dead-letter topic; `reason` is `error.type`',
  },
  redelivered: {
    name: 'messaging.client.consumed.messages',
    difference: 'the part of it that had been consumed before',
  },
  commits: {
    name: 'messaging.client.operation.duration',
    difference: 'its `_count` for `messaging.operation.name` = `commit`; ours has no duration',
  },
  apiCallDurationSeconds: {
    name: 'http.client.request.duration',
    difference:
      '`operation` is `url.template`, `outcome` is finer than `error.type`; ours has calls that were never sent, too',
  },
  apiResponses: {
    name: 'http.client.request.duration',
    difference: 'its `_count` by `http.response.status_code`, of which ours has the class',
  },
  callsUnderWay: { name: 'http.client.active_requests', difference: '`operation` is `url.template`' },
  pollCalls: {
    name: 'http.client.request.duration',
    difference: 'its `_count` for `url.template` = `/transactions`; `outcome` is finer than `error.type`',
  },
};
