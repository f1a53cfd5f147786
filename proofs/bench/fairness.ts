/**
 * How long executions, rejections and two-step quotes wait behind a backlog of transfers:
 * `node proofs/bench/fairness.ts [--transfers 10000] [--urgent 10] [--concurrency 20] [--rps 0] [--delay 20] [--json]`.
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own.
 *
 * The transfers are in Kafka before the one processor starts. Once some are answered, executions, rejections and two-step
 * quotes come, --urgent of each, one every PACE_MS; each is timed from its publishing to its result. --urgent 0 measures
 * the transfers alone, --rps 0 means no API_MAX_RPS, --delay is the service's time per call in milliseconds.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import type { CommandInput } from '../../src/client/index.ts';
import type { CommandType } from '../../src/records/commands.ts';
import { accountOf, createQuoteOf, executionOf, rejectionOf } from '../../test/support/commands.ts';
import { Stack } from '../../test/support/stack.ts';

const { values } = parseArgs({
  options: {
    transfers: { type: 'string', default: '10000' },
    urgent: { type: 'string', default: '10' },
    concurrency: { type: 'string', default: '20' },
    rps: { type: 'string', default: '0' },
    delay: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
});

const CHANGES: readonly CommandType[] = ['transfer-in', 'create-quote', 'execute-quote', 'reject-transaction'];
const PUBLISHED_TOGETHER = 500;
const JSON_HEADERS = { 'content-type': 'application/json' };
const PACE_MS = 100;
const LOOK_MS = 20;
/** Transfers answered before the first urgent command comes. */
const BEGUN = 100;
const RESULTS_MS_MAX = 900_000;

interface Waits {
  commands: number;
  medianMs: number;
  mostMs: number;
}

interface Report {
  transfers: number;
  /** From the first result of a transfer to the last. */
  transfersPerSecond: number;
  waits: Record<string, Waits>;
  /** Calls of the service that made a quote, for the two-step quotes. */
  quotesMade: number;
}

type Urgent = { [Type in CommandType]: { type: Type; key: string; input: CommandInput<Type> } }[CommandType];

const onProgress = (line: string): void => console.error(line);
const kafka = await kafkaAtHand(onProgress);
try {
  const stack = await Stack.open({
    name: 'fairness',
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    lanes: 6,
    settings: {
      KAFKA_SESSION_TIMEOUT_MS: '20000',
      KAFKA_HEARTBEAT_INTERVAL_MS: '1000',
      API_TIMEOUT_MS: '10000',
      API_MAX_CONCURRENCY: values.concurrency,
      ...(values.rps === '0' ? {} : { API_MAX_RPS: values.rps }),
    },
  });
  try {
    const report = await measure(stack, Number(values.transfers), Number(values.urgent));
    console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
  } finally {
    await stack.close();
  }
} finally {
  await kafka.stop();
}

async function measure(stack: Stack, transfers: number, urgentEach: number): Promise<Report> {
  const urgent = await urgentCommands(stack, urgentEach);
  const delayMs = Number(values.delay);
  await stack.service.addFaults(...CHANGES.map((operation) => ({ kind: 'delay', operation, delayMs })));
  for (let first = 0; first < transfers; first += PUBLISHED_TOGETHER) {
    const keys = Array.from({ length: Math.min(PUBLISHED_TOGETHER, transfers - first) }, (_, at) => `t-${first + at}`);
    await stack.publishRaw(
      'transfer-in',
      ...keys.map((key) => ({ key, value: transferOf(key), headers: JSON_HEADERS })),
    );
  }
  const made = (await stack.service.effects()).totals['create-quote']?.calls ?? 0;
  await stack.startProcessor();
  const answered = (count: number): Promise<void> =>
    stack.journal.until(() => stack.journal.resultCount() >= count, `${count} results`, RESULTS_MS_MAX);
  await answered(1);
  const beganMs = performance.now();
  await answered(Math.min(BEGUN, transfers));
  const publishedMs = new Map<string, number>();
  const answeredMs = seenTimes(stack);
  for (const { type, key, input } of urgent) {
    publishedMs.set(key, performance.now());
    await stack.publisher.publish(type, key, input);
    await delay(PACE_MS);
  }
  await answered(transfers + urgent.length);
  const seconds = (performance.now() - beganMs) / 1000;
  const answeredAtMs = answeredMs.stop();
  const waitMs = ({ key }: Urgent): number => (answeredAtMs.get(key) ?? NaN) - (publishedMs.get(key) ?? NaN);
  return {
    transfers,
    transfersPerSecond: Math.round(transfers / seconds),
    waits: Object.fromEntries(
      [...new Set(urgent.map(({ type }) => type))].map((type) => [
        type,
        waitsOf(urgent.filter((command) => command.type === type).map(waitMs)),
      ]),
    ),
    quotesMade: ((await stack.service.effects()).totals['create-quote']?.calls ?? 0) - made,
  };
}

/** In JSON: ten thousand are written at once. */
function transferOf(key: string): string {
  return JSON.stringify({
    source: { accountId: 'ExternalAccount:payer-x' },
    destination: { accountId: accountOf(key) },
  });
}

async function urgentCommands(stack: Stack, each: number): Promise<Urgent[]> {
  const commands: Urgent[] = [];
  for (let index = 0; index < each; index += 1) {
    const [execution, rejection, quote] = [`e-${index}`, `r-${index}`, `q-${index}`];
    commands.push(
      { type: 'execute-quote', key: execution, input: await executionOf(stack, execution) },
      { type: 'reject-transaction', key: rejection, input: await rejectionOf(stack, rejection) },
      { type: 'create-quote', key: quote, input: { ...createQuoteOf(quote), immediatelyExecute: true } },
    );
  }
  return commands;
}

/** When the result of each key was first seen, looked for every LOOK_MS until it is stopped. */
function seenTimes(stack: Stack): { stop: () => Map<string, number> } {
  const atMs = new Map<string, number>();
  let seen = 0;
  const look = (): Map<string, number> => {
    const fresh = stack.journal.results().slice(seen);
    seen += fresh.length;
    for (const { key } of fresh) if (!atMs.has(key)) atMs.set(key, performance.now());
    return atMs;
  };
  const timer = setInterval(look, LOOK_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return look();
    },
  };
}

function waitsOf(waitsMs: readonly number[]): Waits {
  const sorted = waitsMs.map(Math.round).sort((left, right) => left - right);
  return { commands: sorted.length, medianMs: sorted[sorted.length >> 1] ?? NaN, mostMs: sorted.at(-1) ?? NaN };
}

function textOf({ quotesMade, transfers, transfersPerSecond, waits }: Report): string {
  return [
    `${transfers} transfers, ${transfersPerSecond}/s`,
    ...Object.entries(waits).map(
      ([type, { commands, medianMs, mostMs }]) =>
        `${type.padEnd(20)}${commands} commands waited ${medianMs} ms (median), ${mostMs} ms at most`,
    ),
    `${quotesMade} quotes made`,
  ].join('\n');
}
