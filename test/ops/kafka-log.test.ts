/** kafkajs's log lines are passed on with their reason, never as errors, because kafkajs retries by itself. */
import kafkajs, { type LogEntry, type logLevel as KafkaLogLevel } from 'kafkajs';
import { expect, test } from 'vitest';
import { kafkaLogEvent } from 'payment-processor-contract/kafka/kafka-log';

const { logLevel } = kafkajs;

function entry(level: KafkaLogLevel, message: string, error?: unknown): LogEntry {
  const log = { timestamp: '', message, ...(error === undefined ? {} : { error }) };
  return { namespace: 'Connection', level, label: '', log };
}

test.each([
  [logLevel.ERROR, 'Connection error: connect ECONNREFUSED', undefined, 'warn'],
  [
    logLevel.ERROR,
    'Response Heartbeat(key: 12, version: 3)',
    'The group is rebalancing, so a rejoin is needed',
    'debug',
  ],
  [logLevel.ERROR, 'Response OffsetCommit(key: 8, version: 5)', 'Specified group generation id is not valid', 'debug'],
  [logLevel.ERROR, 'Response Fetch(key: 1, version: 11)', 'The coordinator is not aware of this member', 'warn'],
  [logLevel.WARN, 'The group is rebalancing, re-joining', undefined, 'debug'],
  [logLevel.INFO, 'Consumer has joined the group', undefined, 'debug'],
])('at level %i, %s (%s): %s', (level, message, problem, told) => {
  expect(kafkaLogEvent(entry(level, message, problem), 'a client')).toEqual({
    level: told,
    message,
    fields: { namespace: 'Connection', client: 'a client', ...(problem === undefined ? {} : { problem }) },
  });
});

test("with an error's text, cut to the limit of a line", () => {
  const { fields } = kafkaLogEvent(entry(logLevel.ERROR, 'x', new Error('y'.repeat(9_000))), 'a client');
  expect(fields['problem']).toBe('y'.repeat(500));
});
