/**
 * Taking lanes over with many remembered keys: `node proofs/bench/take-over.ts --keys 1000000 [--kills 3] [--lanes 6]
 * [--rate 30] [--json]`. Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own.
 *
 *   written   a ledger of that many finished keys, straight into its topic
 *   cold      two processors start without a store, one after the other
 *   kills     under a steady load the owner of lane 0 is killed with SIGKILL, and started again with its store (warm)
 *   hand-over the same with SIGTERM
 *
 * Exit code 1 when a lane of a killed member had no result within KAFKA_SESSION_TIMEOUT_MS + 3 s.
 */
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { Stack } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { SteadyLoad } from './steady-load.ts';
import { SESSION_TIMEOUT_MS, USUAL_TIMES } from './usual-times.ts';
import { memoryOf, type Memory } from './process-memory.ts';
import { storeBytes, writeLedger } from './take-over-ledger.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '1000000' },
    kills: { type: 'string', default: '3' },
    lanes: { type: 'string', default: '6' },
    rate: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
  },
});
const keys = Number(values.keys);
const lanes = Number(values.lanes);

/** What the take-over may need beside the session time-out. */
const TAKE_OVER_MS_MAX = SESSION_TIMEOUT_MS + 3_000;
/** A restore of a million keys on a busy machine. */
const COLD_MS_MAX = 1_200_000;
const PROCESSORS = 2;
/** Of the load, before something is done to a processor. */
const STEADY_MS = 3_000;

interface Start {
  readyMs: number;
  /** Until it knew every key, whether or not its lanes were open before. */
  wholeMs: number;
}

interface TakeOver {
  /** From the signal, by lane of the member that ended, until the first result of a command published after it. */
  firstResultMs: number[];
  survivor: Memory;
}

interface Report {
  keys: number;
  lanes: number;
  limitMs: number;
  cold: (Start & { keysPerSecond: number; memory: Memory })[];
  kills: TakeOver[];
  warm: Start[];
  handOver: TakeOver;
  storeMebibytes: number;
  storeBytesPerKey: number;
}

const onProgress = (line: string): void => console.error(line);
const kafka = await kafkaAtHand(onProgress);
try {
  const stack = await Stack.open({
    name: 'take-over',
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    lanes,
    settings: USUAL_TIMES,
  });
  try {
    const report = await measure(stack);
    console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
    if (slowestMs(report.kills) > TAKE_OVER_MS_MAX) process.exitCode = 1;
  } catch (error) {
    onProgress(stack.logs());
    throw error;
  } finally {
    await stack.close();
  }
} finally {
  await kafka.stop();
}

async function measure(stack: Stack): Promise<Report> {
  await writeLedger(stack, { keys, lanes }, onProgress);
  const processors: RunningProcessor[] = [];
  const cold: Report['cold'] = [];
  while (processors.length < PROCESSORS) {
    const { processor, start } = await started(stack);
    processors.push(processor);
    const keysPerSecond = Math.round((keys / start.wholeMs) * 1000);
    cold.push({ ...start, keysPerSecond, memory: memoryOf(processor.pid) });
    onProgress(`cold start: ready after ${start.readyMs} ms, ${keysPerSecond} keys/s`);
  }
  const load = new SteadyLoad(stack, lanes, Number(values.rate));
  const kills: TakeOver[] = [];
  const warm: Start[] = [];
  try {
    for (let kill = 1; kill <= Number(values.kills); kill += 1) {
      const takeOver = await ended(load, processors, (victim) => victim.kill9());
      kills.push(takeOver);
      onProgress(`kill ${kill}: first results after ${takeOver.firstResultMs.join(', ')} ms`);
      const { processor, start } = await started(stack);
      processors.push(processor);
      warm.push(start);
      onProgress(`warm start: ready after ${start.readyMs} ms`);
    }
    const handOver = await ended(load, processors, async (victim) => {
      await victim.stop();
    });
    const bytes = storeBytes(stack.environment['STATE_DIR'] ?? '', PROCESSORS);
    return {
      keys,
      lanes,
      limitMs: TAKE_OVER_MS_MAX,
      cold,
      kills,
      warm,
      handOver,
      storeMebibytes: Math.round(bytes / 1024 / 1024),
      storeBytesPerKey: Math.round(bytes / keys),
    };
  } finally {
    await load.stop();
  }
}

async function started(stack: Stack): Promise<{ processor: RunningProcessor; start: Start }> {
  const beganMs = performance.now();
  const processor = await stack.spawnProcessor();
  await processor.ready(COLD_MS_MAX);
  const readyMs = Math.round(performance.now() - beganMs);
  // A lane is open when its own part has been read; a standby knows the others' as well.
  await eventually(
    () => remembered(processor),
    (count) => count >= keys,
    `${keys} keys remembered`,
    COLD_MS_MAX,
  );
  return { processor, start: { readyMs, wholeMs: Math.round(performance.now() - beganMs) } };
}

async function remembered(processor: RunningProcessor): Promise<number> {
  return Number(/^payments_keys_remembered (\S+)$/m.exec(await processor.metrics())?.[1] ?? 0);
}

/** Ends the owner of lane 0, the poller; waits until each of its lanes has a result again. */
async function ended(
  load: SteadyLoad,
  processors: RunningProcessor[],
  end: (victim: RunningProcessor) => Promise<void>,
): Promise<TakeOver> {
  await load.steady(STEADY_MS);
  const victim = processors.find((processor) => processor.assignedLanes().includes(0));
  if (victim === undefined) throw new Error('lane 0 belongs to nobody');
  processors.splice(processors.indexOf(victim), 1);
  const victimLanes = victim.assignedLanes();
  const atMs = performance.now();
  const gone = end(victim);
  const firstResultMs = await Promise.all(victimLanes.map((lane) => load.firstResultMs(lane, atMs)));
  await gone;
  const [survivor] = processors;
  if (survivor === undefined) throw new Error('nobody is left');
  return { firstResultMs, survivor: memoryOf(survivor.pid) };
}

function slowestMs(takeOvers: readonly TakeOver[]): number {
  return Math.max(0, ...takeOvers.flatMap(({ firstResultMs }) => firstResultMs));
}

function textOf(report: Report): string {
  const line = (name: string, ...figures: (string | number)[]): string =>
    name.padEnd(24) + figures.map((figure) => String(figure).padEnd(14)).join('');
  const memory = ({ anonymous, files, resident, residentMax }: Memory): string[] => [
    `${resident}`,
    `${anonymous} + ${files}`,
    `${residentMax}`,
  ];
  return [
    `${report.keys} keys in ${report.lanes} lanes; store ${report.storeMebibytes} MiB, ${report.storeBytesPerKey} bytes/key`,
    line('start', 'ready, ms', 'whole, ms', 'keys/s', 'resident MiB', 'anon + files', 'at most'),
    ...report.cold.map(({ keysPerSecond, memory: used, readyMs, wholeMs }) =>
      line('cold', readyMs, wholeMs, keysPerSecond, ...memory(used)),
    ),
    ...report.warm.map(({ readyMs, wholeMs }) => line('warm', readyMs, wholeMs)),
    line('end of the other', 'first, ms', 'last lane, ms', '', 'resident MiB', 'anon + files', 'at most'),
    ...[...report.kills.map((kill) => ['SIGKILL', kill] as const), ['SIGTERM', report.handOver] as const].map(
      ([name, { firstResultMs, survivor }]) =>
        line(name, Math.min(...firstResultMs), slowestMs([{ firstResultMs, survivor }]), '', ...memory(survivor)),
    ),
    slowestMs(report.kills) <= report.limitMs
      ? `every lane of a killed member had a result within ${report.limitMs} ms`
      : `a lane of a killed member had no result within ${report.limitMs} ms`,
  ].join('\n');
}
