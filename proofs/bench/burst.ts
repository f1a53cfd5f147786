/**
 * Memory of one processor in a burst: `node proofs/bench/burst.ts --commands 15000 [--node-options "..."] [--json]`.
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own.
 *
 * The processor starts, all commands are published at once, and every one is waited for. Its memory is looked at
 * throughout, as the kernel counts it. With --node-options the processor gets them as NODE_OPTIONS, to compare.
 * Exit code 1 when it had more than the bound.
 */
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import { transferInOf } from '../../test/support/commands.ts';
import { Stack } from '../../test/support/stack.ts';
import { memoryOf, type Memory } from './process-memory.ts';

const { values } = parseArgs({
  options: {
    commands: { type: 'string', default: '15000' },
    'node-options': { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
  },
});

/** Resident, of which pages of mapped files can be taken back at any time. */
const RESIDENT_MEBIBYTES_MAX = 400;
const LOOK_MS = 100;
const RESULTS_MS_MAX = 900_000;
/** Back to rest: buffers and connections are still there, the burst's garbage may go. */
const REST_MS = 5_000;
const PUBLISHED_TOGETHER = 500;

interface Report {
  commands: number;
  publishedSeconds: number;
  /** From the first publish to the last result. */
  answeredSeconds: number;
  commandsPerSecond: number;
  idle: Memory;
  /** When most was resident. */
  most: Memory;
  atRest: Memory;
}

const onProgress = (line: string): void => console.error(line);
const kafka = await kafkaAtHand(onProgress);
try {
  const stack = await Stack.open({
    name: 'burst',
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    lanes: 6,
    settings: {
      KAFKA_SESSION_TIMEOUT_MS: '6000',
      KAFKA_HEARTBEAT_INTERVAL_MS: '1000',
      API_TIMEOUT_MS: '10000',
      ...(values['node-options'] === '' ? {} : { NODE_OPTIONS: values['node-options'] }),
    },
  });
  try {
    const report = await measure(stack, Number(values.commands));
    console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
    if (report.most.residentMax > RESIDENT_MEBIBYTES_MAX) process.exitCode = 1;
  } finally {
    await stack.close();
  }
} finally {
  await kafka.stop();
}

async function measure(stack: Stack, commands: number): Promise<Report> {
  const processor = await stack.startProcessor();
  const idle = memoryOf(processor.pid);
  let most = idle;
  const timer = setInterval(() => {
    const now = memoryOf(processor.pid);
    if (now.resident > most.resident) most = now;
  }, LOOK_MS);
  try {
    const beganMs = performance.now();
    for (let first = 0; first < commands; first += PUBLISHED_TOGETHER) {
      const keys = Array.from({ length: Math.min(PUBLISHED_TOGETHER, commands - first) }, (_, at) => `b-${first + at}`);
      await Promise.all(keys.map((key) => stack.publisher.publish('transfer-in', key, transferInOf(key))));
    }
    const publishedMs = performance.now();
    await stack.journal.until(() => stack.journal.resultCount() >= commands, `${commands} results`, RESULTS_MS_MAX);
    const answeredMs = performance.now();
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const atRest = memoryOf(processor.pid);
    const answeredSeconds = (answeredMs - beganMs) / 1000;
    return {
      commands,
      publishedSeconds: Number(((publishedMs - beganMs) / 1000).toFixed(1)),
      answeredSeconds: Number(answeredSeconds.toFixed(1)),
      commandsPerSecond: Math.round(commands / answeredSeconds),
      idle,
      most: { ...most, residentMax: atRest.residentMax },
      atRest,
    };
  } finally {
    clearInterval(timer);
  }
}

function textOf({
  answeredSeconds,
  atRest,
  commands,
  commandsPerSecond,
  idle,
  most,
  publishedSeconds,
}: Report): string {
  const line = (name: string, { anonymous, files, resident, residentMax }: Memory): string =>
    `${name.padEnd(12)}${resident} MiB resident: ${anonymous} anonymous + ${files} of files; at most so far ${residentMax}`;
  return [
    `${commands} commands published in ${publishedSeconds} s, answered in ${answeredSeconds} s (${commandsPerSecond}/s)`,
    line('idle', idle),
    line('most', most),
    line('at rest', atRest),
  ].join('\n');
}
