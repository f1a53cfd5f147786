/**
 * A backlog of small commands that are INVALID, in many lanes, before one process: the most that there is to do for the bytes.
 * `node proofs/bench/backlog.ts [--commands 80000] [--lanes 48]`. Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine
 * of its own.
 *
 * Tells how long the event loop stood still, once the lanes were open, and whether what the metrics count is what is in the topic.
 * Exit code 1 when a result is missing or twice, is counted wrongly, or a lane was lost.
 */
import { parseArgs } from 'node:util';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import { sleep } from '../../src/consumers/signal.ts';
import type { Stack } from '../../test/support/stack.ts';
import { withStackAtHand } from '../kafka-at-hand.ts';

const { values } = parseArgs({
  options: { commands: { type: 'string', default: '80000' }, lanes: { type: 'string', default: '48' } },
});

const PUBLISHED_TOGETHER = 2_000;
const LOOK_MS = 500;
const MS_MAX = 300_000;
/** The settings' own values: a busy machine must not be taken for a lost member. */
const SESSION = { KAFKA_SESSION_TIMEOUT_MS: '10000', KAFKA_HEARTBEAT_INTERVAL_MS: '3000' };

const commands = Number(values.commands);
const stackOptions = { name: 'backlog', lanes: Number(values.lanes), isRead: false, settings: SESSION };
const report = await withStackAtHand(stackOptions, measure);
console.log(JSON.stringify(report, null, 2));
const { counted, keys, lanesLost, results } = report;
if (lanesLost > 0 || [counted, keys, results].some((count) => count !== commands)) process.exitCode = 1;

async function measure(stack: Stack) {
  for (let first = 0; first < commands; first += PUBLISHED_TOGETHER) {
    const keys = Array.from({ length: Math.min(PUBLISHED_TOGETHER, commands - first) }, (_, at) => `key-${first + at}`);
    const headers = { 'content-type': 'application/json' };
    await stack.publishRaw('transfer-in', ...keys.map((key) => ({ key, value: '{}', headers })));
  }
  const beganMs = performance.now();
  const processor = await stack.startProcessor();
  // What it took to start is not asked for.
  await processor.metrics();
  let eventLoopMsMax = 0;
  let counted = 0;
  while (counted < commands && performance.now() - beganMs < MS_MAX) {
    await sleep(LOOK_MS);
    const text = await processor.metrics();
    const delaySeconds = Number(/^nodejs_eventloop_lag_max_seconds (\S+)/m.exec(text)?.[1]);
    eventLoopMsMax = Math.max(eventLoopMsMax, Math.round(delaySeconds * 1_000));
    const series = [...text.matchAll(/^payments_results_total\{[^}]*\} (\d+)/gm)];
    counted = series.reduce((sum, [, count]) => sum + Number(count), 0);
  }
  const seconds = Math.round((performance.now() - beganMs) / 100) / 10;
  const lanesLost = processor.log().filter(({ event }) => event === 'lane-lost').length;
  return { seconds, eventLoopMsMax, counted, ...(await written(stack)), lanesLost };
}

async function written(stack: Stack): Promise<{ results: number; keys: number }> {
  const keys: string[] = [];
  const reader = await openTopicReader(stack.kafka, {
    topics: [stack.topics.results],
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: stack.settings.TOPIC_PREFIX,
    onRecord: ({ key }) => void keys.push(key?.toString() ?? ''),
  });
  await reader.ended;
  await reader.close();
  return { results: keys.length, keys: new Set(keys).size };
}
