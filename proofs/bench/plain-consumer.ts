/**
 * The contrast: a plain consumer under the kill stream of `proofs/chaos/kill-run.ts`.
 * `node proofs/bench/plain-consumer.ts --commands 100 --kills 5 [--seed 1] [--send-keys] [--json]`.
 *
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own. Counts what was lost, doubled, or told
 * wrongly; it judges nobody, so the exit code is 0 whatever it finds.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import { seededRandom } from '../../dev/sandbox/faults.ts';
import { openTopicReader } from '../../src/consumers/outside/topic-reader.ts';
import { prepareCommands, shuffled, slowCalls, type KillCommand } from '../chaos/kill-commands.ts';
import { effectsOf, movedOf } from '../chaos/kill-judgement.ts';
import { CLIENT_SECRET, TOKEN_ID } from '../../test/support/sandbox-control.ts';
import { LANES, Stack } from '../../test/support/stack.ts';
import { Watch } from '../../test/support/watch.ts';

const CONSUMER = fileURLToPath(new URL('plain-consumer-process.ts', import.meta.url));
const RESULTS_MS_MAX = 180_000;
/** After the last awaited result, for those that come twice. */
const LATE_RESULTS_MS = 3_000;

const { values } = parseArgs({
  options: {
    commands: { type: 'string', default: '100' },
    kills: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    'send-keys': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

const kafka = await kafkaAtHand((line) => console.error(line));
try {
  const stack = await Stack.open({
    name: 'plain',
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    sandbox: { quoteLifetimeMs: 3_600_000, approvalMs: 3_600_000, settleMs: 0 },
  });
  try {
    const report = await run(stack);
    console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
  } finally {
    await stack.close();
  }
} finally {
  await kafka.stop();
}

async function run(stack: Stack) {
  const seed = Number(values.seed);
  const kills = Number(values.kills);
  const commands = shuffled(await prepareCommands(stack, Number(values.commands)), seed);
  await slowCalls(stack);
  const resultTopic = `${stack.settings.TOPIC_PREFIX}.plain-results`;
  const admin = stack.kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: resultTopic, numPartitions: LANES }], waitForLeaders: true });
  await admin.disconnect();
  const results = new Map<string, string[]>();
  const watch = new Watch();
  let count = 0;
  const reader = await openTopicReader(stack.kafka, {
    topics: [resultTopic],
    start: { from: 'beginning' },
    untilEnd: false,
    groupPrefix: stack.settings.TOPIC_PREFIX,
    onRecord: ({ key, value }) => {
      const { outcome } = JSON.parse(value?.toString() ?? '{}') as { outcome: string };
      const name = key?.toString() ?? '';
      results.set(name, [...(results.get(name) ?? []), outcome]);
      count += 1;
      watch.changed();
    },
  });
  const beganMs = performance.now();
  let consumer = start(stack, resultTopic);
  try {
    await publishAndKill(
      stack,
      commands,
      kills,
      seed,
      async (wanted, isLast) => {
        await watch.until(
          () => (isLast ? results.size : count) >= wanted,
          RESULTS_MS_MAX,
          () => `${wanted} results`,
        );
        if (isLast) return;
        await end(consumer);
        consumer = start(stack, resultTopic);
      },
      () => count,
    );
    await new Promise((resolve) => setTimeout(resolve, LATE_RESULTS_MS));
  } finally {
    await end(consumer);
    await reader.close();
  }
  return {
    kills,
    seed,
    keysSent: values['send-keys'],
    elapsedMs: Math.round(performance.now() - beganMs),
    ...(await tally(stack, commands, results)),
  };
}

async function publishAndKill(
  stack: Stack,
  commands: readonly KillCommand[],
  kills: number,
  seed: number,
  reached: (wanted: number, isLast: boolean) => Promise<void>,
  soFar: () => number,
): Promise<void> {
  const random = seededRandom(seed);
  const rounds = kills + 1;
  for (let round = 0; round < rounds; round += 1) {
    const from = Math.floor((round * commands.length) / rounds);
    const part = commands.slice(from, Math.floor(((round + 1) * commands.length) / rounds));
    const before = soFar();
    const published = Promise.all(
      part.map(({ fields, key, type }) => stack.publisher.publishUntyped(type, key, fields, { contentType: 'json' })),
    );
    if (round < kills) await reached(before + Math.ceil(part.length * (0.1 + 0.5 * random())), false);
    await published;
  }
  await reached(commands.length, true);
}

function start(stack: Stack, resultTopic: string): ChildProcess {
  const { commands } = stack.topics;
  const topics = (['transfer-in', 'execute-quote', 'reject-transaction'] as const).map(
    (type) => `${type}=${commands[type]}`,
  );
  return spawn(process.execPath, [CONSUMER], {
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_NO_WARNINGS: '1',
      KAFKA_BROKERS: stack.settings.KAFKA_BROKERS.join(','),
      GROUP_ID: `${stack.settings.TOPIC_PREFIX}-plain`,
      COMMAND_TOPICS: topics.join(','),
      RESULT_TOPIC: resultTopic,
      API_BASE_URL: stack.sandbox.baseUrl,
      API_CREDENTIALS: `${TOKEN_ID}:${CLIENT_SECRET}`,
      SEND_KEYS: String(values['send-keys']),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function end(consumer: ChildProcess): Promise<void> {
  if (consumer.exitCode !== null || consumer.signalCode !== null) return;
  const ended = once(consumer, 'exit');
  consumer.kill('SIGKILL');
  await ended;
}

async function tally(stack: Stack, commands: readonly KillCommand[], results: ReadonlyMap<string, readonly string[]>) {
  const effects = await stack.service.effects();
  const books = await stack.service.books();
  const counts = {
    commands: commands.length,
    withoutResult: 0,
    severalResults: 0,
    doubleEffects: 0,
    failedButTookEffect: 0,
    succeededWithoutEffect: 0,
  };
  let movedTooMuch = 0n;
  for (const command of commands) {
    const found = results.get(command.key) ?? [];
    const moved = movedOf(command, books);
    // Money first: without a key, the books alone tell how often a transfer took effect.
    const times = moved === null ? effectsOf(command, effects) : Number(moved / command.effectAmount);
    if (found.length === 0) counts.withoutResult += 1;
    if (found.length > 1) counts.severalResults += 1;
    if (times > 1) {
      counts.doubleEffects += 1;
      movedTooMuch += command.effectAmount * BigInt(times - 1);
    }
    if (found.at(-1) === 'FAILED' && times > 0) counts.failedButTookEffect += 1;
    if (found.at(-1) === 'SUCCEEDED' && times === 0) counts.succeededWithoutEffect += 1;
  }
  return { ...counts, movedTooMuch: movedTooMuch.toString() };
}

function textOf(report: Awaited<ReturnType<typeof run>>): string {
  return Object.entries(report)
    .map(([name, value]) => `${name.padEnd(26)}${value}`)
    .join('\n');
}
