/**
 * The lag proof: `node proofs/gameday/lag-parts.ts [--only held,no-slot] [--json]`.
 *
 * Produces each cause of lag in two processors while commands wait. Once publishing has stopped, it reads the parts
 * of payments_not_admitted_messages from both and sums them by command. Then it freezes the processes
 * (SIGSTOP) and asks Kafka's own kafka-consumer-groups for the lag of each topic. Exit code 0 if they are equal for every
 * cause; 1 if not, or if a cause was not seen; 2 for wrong arguments.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { kafkaToolsJava } from 'payment-processor-local-kafka/kafka-tools';
import { startEngine, type Engine } from 'payment-processor-local-kafka/start';
import type { NotAdmittedCause } from '../../src/ops/lag.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { unseenSchemaEncoder } from '../chaos/unseen-schema.ts';
import { createQuoteOf, keysOfLane, transferInOf } from '../../test/support/commands.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { LANES, Stack } from '../../test/support/stack.ts';
import { Endings } from './endings.ts';
import { describeGroup, type DescribedPartition } from './consumer-groups.ts';
import { LAG_TRIALS, type LagScene, type LagTrial } from './lag-causes.ts';

interface LagRow {
  readonly cause: string;
  readonly name: string;
  /** By command: the parts by cause, summed over both processes. */
  readonly ours: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** By command, as Kafka's tool prints it; partitions without a committed offset do not count. */
  readonly kafka: Readonly<Record<string, number>>;
  /** Partitions that hold commands and have no committed offset. */
  readonly uncommitted: number;
  readonly isEqual: boolean;
  /** Number of comparisons until they were equal, or until the limit. */
  readonly looks: number;
  readonly problem: string | null;
}

const EXIT_CODE_ARGUMENTS = 2;
const PROCESSORS = 2;
/** Commands of each of two types. */
const COMMANDS = 30;
/** How long to wait until the cause is seen and the parts are stable. */
const SEEN_MS_MAX = 45_000;
const LOOK_MS = 500;
/** Partition ends are refreshed every 2 s: figures stable for longer than that are settled. */
const STILL_LOOKS = 6;
/** While a transaction is in flight, our position is ahead of the group's offset, so we compare again. */
const LOOKS_MAX = 4;
/** Lanes taken over wait for calls of 40 s, then settle their doubt. */
const ANSWERED_MS_MAX = 180_000;
/** Enough to name a few commands. */
const PROBLEM_CHARACTERS_MAX = 200;
const STALLED_INBOX = new URL('stalled-inbox.ts', import.meta.url).href;

const { values } = parseArgs({
  options: { only: { type: 'string', default: '' }, json: { type: 'boolean', default: false } },
});
const wanted = values.only.split(',').filter((name) => name !== '');
const trials = LAG_TRIALS.filter((trial) => wanted.length === 0 || wanted.includes(causeText(trial)));
if (wanted.some((name) => !LAG_TRIALS.some((trial) => causeText(trial) === name))) {
  console.error(`--only takes causes: ${LAG_TRIALS.map(causeText).join(', ')}`);
  process.exit(EXIT_CODE_ARGUMENTS);
}
const onProgress = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

const directory = await mkdtemp(join(tmpdir(), 'payment-lag-'));
const endings = new Endings(onProgress);
let hasFailed = true;
try {
  await kafkaToolsJava(onProgress);
  const engine = await startEngine({ directory: join(directory, 'engine'), onProgress });
  endings.add(() => engine.stop());
  const stack = await Stack.open({
    name: 'lag',
    kafkaBrokers: engine.brokers,
    schemaRegistryUrl: engine.registryUrl,
    settings: { STATE_DIR: join(directory, 'state'), KAFKA_SESSION_TIMEOUT_MS: '6000' },
  });
  endings.add(async () => {
    if (hasFailed) await writeFile(join(directory, 'processors.log'), stack.logs());
    await stack.close();
  });
  const rows: LagRow[] = [];
  for (const [index, trial] of trials.entries()) rows.push(await runTrial(engine, stack, trial, index));
  hasFailed = rows.some(({ isEqual, problem }) => !isEqual || problem !== null);
  console.log(values.json ? JSON.stringify(rows, null, 2) : tableOf(rows));
} finally {
  await endings.endAll();
  if (hasFailed) onProgress(`logs are in ${directory}`);
  else await rm(directory, { recursive: true, force: true });
  process.exitCode = hasFailed ? 1 : 0;
}

async function runTrial(ofEngine: Engine, ofStack: Stack, trial: LagTrial, index: number): Promise<LagRow> {
  onProgress(`${causeText(trial)}: ${trial.name}`);
  const stallFile = join(directory, 'stalled');
  const settings = { ...trial.settings };
  const environment = {
    ...settings,
    NODE_OPTIONS: `${settings['NODE_OPTIONS'] ?? ''} --import ${STALLED_INBOX}`,
    STALL_FILE: stallFile,
  };
  const spawn = (): Promise<RunningProcessor[]> =>
    Promise.all(Array.from({ length: PROCESSORS }, () => ofStack.spawnProcessor(environment)));
  let processors = await spawn();
  // Waits once more, because a starved machine may need longer than a test does.
  await Promise.all(processors.map((processor) => processor.ready().catch(() => processor.ready())));
  const scene: LagScene = {
    stack: ofStack,
    engine: ofEngine,
    processors,
    encodeUnseen: await unseenSchemaEncoder(ofStack),
    stall: async (topic) => (topic === null ? rm(stallFile, { force: true }) : writeFile(stallFile, topic)),
  };
  // So that every lane of these topics has been read, and the group has an offset there.
  await publish(scene, trial, `warm-${index}`, LANES, false);
  await trial.before?.(scene);
  if (trial.isLast === true) {
    await ofStack.endProcessors();
    processors = await spawn();
  }
  const keys = await publish(scene, trial, `${causeText(trial)}-${index}`, trial.commands ?? COMMANDS, true);
  const row = await compare(scene, trial, processors);
  await trial.end?.(scene);
  onProgress(`  ${row.isEqual ? 'equal' : 'NOT EQUAL'}: ${JSON.stringify(row.ours)} ${JSON.stringify(row.kafka)}`);
  const problem =
    trial.isLast === true
      ? row.problem
      : await ofStack.journal.resultsOfAll(keys, ANSWERED_MS_MAX).then(
          () => row.problem,
          (error: unknown) => `${causeText(trial)}: ${String(error).slice(0, PROBLEM_CHARACTERS_MAX)}`,
        );
  await ofStack.endProcessors();
  return { ...row, problem };
}

/** Publishes the same number of commands of two types, over all lanes. @returns their keys */
async function publish(
  { encodeUnseen, stack: ofStack }: LagScene,
  trial: LagTrial,
  name: string,
  count: number,
  isWaiting: boolean,
): Promise<string[]> {
  const keys: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const [key = ''] = keysOfLane(`${name}-${number}`, number % LANES, 1);
    const [quoteKey = ''] = keysOfLane(`${name}-${number}-quote`, number % LANES, 1);
    const value = isWaiting && trial.isUnseen === true ? await encodeUnseen('transfer-in', transferInOf(key)) : null;
    if (value === null) await ofStack.publisher.publish('transfer-in', key, transferInOf(key));
    else await ofStack.publishRaw('transfer-in', { key, value });
    await ofStack.publisher.publish('create-quote', quoteKey, createQuoteOf(quoteKey));
    keys.push(key, quoteKey);
  }
  if (!isWaiting) await ofStack.journal.resultsOfAll(keys, ANSWERED_MS_MAX);
  return keys;
}

async function compare(scene: LagScene, trial: LagTrial, processors: readonly RunningProcessor[]): Promise<LagRow> {
  const seen = await untilStill(trial, processors);
  await trial.after?.(scene);
  for (let looks = 1; ; looks += 1) {
    const { after, cause } = trial;
    const ours = after === undefined || cause === null ? await partsOf(processors) : await partsWith(cause, processors);
    for (const processor of processors) processor.freeze();
    try {
      await trial.beforeKafkaIsAsked?.(scene);
      const group = scene.stack.environment['KAFKA_GROUP_ID'] ?? '';
      const described = await describeGroup(scene.engine.brokers, group, onProgress);
      const { kafka, uncommitted } = byCommand(scene.stack, described);
      const isEqual = COMMAND_TYPES.every((type) => totalOf(ours[type]) === kafka[type]);
      // If nothing of the cause is left, equality proves nothing.
      const isThere = cause === null || Object.values(ours).some((causes) => (causes[cause] ?? 0) > 0);
      if (isEqual || looks >= LOOKS_MAX || after !== undefined) {
        const problem = seen && isThere ? null : `the cause ${causeText(trial)} was not seen`;
        return { cause: causeText(trial), name: trial.name, ours, kafka, uncommitted, isEqual, looks, problem };
      }
    } finally {
      for (const processor of processors) processor.thaw();
    }
    await delay(LOOK_MS * STILL_LOOKS);
  }
}

/** @returns whether the cause was seen within the limit, with stable parts, or at once if they never are stable */
async function untilStill({ after, cause }: LagTrial, processors: readonly RunningProcessor[]): Promise<boolean> {
  const beganMs = performance.now();
  let last = '';
  let same = 0;
  const isQuick = cause === 'failed' || cause === 'rate-limit';
  while (performance.now() - beganMs < SEEN_MS_MAX) {
    const parts = await partsOf(processors);
    const isSeen =
      after !== undefined || cause === null || Object.values(parts).some((causes) => (causes[cause] ?? 0) > 0);
    const text = JSON.stringify(parts);
    same = text === last ? same + 1 : 0;
    last = text;
    if (isSeen && (isQuick || same >= STILL_LOOKS)) return true;
    await delay(LOOK_MS);
  }
  return false;
}

/** Once the cause is in effect. */
async function partsWith(cause: NotAdmittedCause, processors: readonly RunningProcessor[]): Promise<LagRow['ours']> {
  const beganMs = performance.now();
  for (;;) {
    const parts = await partsOf(processors);
    if (Object.values(parts).some((causes) => (causes[cause] ?? 0) > 0) || performance.now() - beganMs > SEEN_MS_MAX)
      return parts;
    await delay(LOOK_MS);
  }
}

async function partsOf(processors: readonly RunningProcessor[]): Promise<LagRow['ours']> {
  const parts: Record<string, Record<string, number>> = {};
  const texts = await Promise.all(processors.map((processor) => processor.metrics().catch(() => '')));
  for (const text of texts) {
    for (const [, labels = '', value = ''] of text.matchAll(/^payments_not_admitted_messages\{([^}]*)\} (\S+)$/gm)) {
      const command = /command="([^"]*)"/.exec(labels)?.[1] ?? '';
      const cause = /cause="([^"]*)"/.exec(labels)?.[1] ?? '';
      if (Number(value) === 0) continue;
      const causes = (parts[command] ??= {});
      causes[cause] = (causes[cause] ?? 0) + Number(value);
    }
  }
  return parts;
}

function byCommand(
  { topics }: Stack,
  described: readonly DescribedPartition[],
): { kafka: Record<CommandType, number>; uncommitted: number } {
  const entries = COMMAND_TYPES.map((type) => {
    const ofTopic = described.filter(({ topic }) => topic === topics.commands[type]);
    return [type, ofTopic.reduce((sum, { lag }) => sum + Number(lag ?? 0n), 0)];
  });
  const commandTopics = new Set(Object.values(topics.commands));
  const uncommitted = described.filter(
    ({ committedOffset, endOffset, topic }) => commandTopics.has(topic) && committedOffset === null && endOffset > 0n,
  );
  return { kafka: Object.fromEntries(entries) as Record<CommandType, number>, uncommitted: uncommitted.length };
}

function causeText({ cause }: LagTrial): string {
  return cause ?? 'none';
}

function totalOf(causes: Readonly<Record<string, number>> | undefined): number {
  return Object.values(causes ?? {}).reduce((sum, count) => sum + count, 0);
}

function tableOf(rows: readonly LagRow[]): string {
  const lines = rows.flatMap((row) => {
    const waiting = COMMAND_TYPES.filter((type) => totalOf(row.ours[type]) > 0 || row.kafka[type] !== 0);
    const commands = waiting.length > 0 ? waiting : COMMAND_TYPES.slice(0, 1);
    return commands.map((type) => {
      const causes = Object.entries(row.ours[type] ?? {}).map(([cause, count]) => `${cause} ${count}`);
      const isSame = totalOf(row.ours[type]) === row.kafka[type];
      return [
        row.cause,
        row.name,
        type,
        causes.join(' + ') || '0',
        String(row.kafka[type]),
        isSame ? 'equal' : 'NOT EQUAL',
      ];
    });
  });
  const all = [['cause', 'how', 'command', 'our parts', "Kafka's lag", ''], ...lines];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((cells) => cells[column]?.length ?? 0))) ?? [];
  const problems = rows.flatMap(({ cause, problem, uncommitted }) => [
    ...(problem === null ? [] : [problem]),
    ...(uncommitted === 0 ? [] : [`${cause}: ${uncommitted} partitions with commands have no committed offset`]),
  ]);
  const unequal = rows.filter(({ isEqual }) => !isEqual).map(({ cause }) => cause);
  const verdict = unequal.length > 0 ? `NOT EQUAL for ${unequal.join(', ')}` : 'equal for every cause';
  return [
    ...all.map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    ),
    ...problems,
    verdict,
  ].join('\n');
}
