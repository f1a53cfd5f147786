/**
 * How late results are while processors come and go: `node proofs/bench/restarts.ts [--keys 1000000] [--lanes 6,24] [--rate 10]
 * [--rounds 3] [--json]`. Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own.
 *
 *   written   with `--keys`: a ledger of that many finished keys, straight into its topic
 *   cold      two processors start without a store, one after the other, each until it knows every key
 *   quiet     two processors under a steady load, nothing happens
 *   rolling   each of the two in turn: SIGTERM, end, started again with its store, ready
 *   grown     a third is started
 *   shrunk    it gets SIGTERM
 *   killed    one of the two gets SIGKILL, and is started again; what was published before is left out, for a call that was
 *             under way is in doubt until that is settled
 *
 * Exit code 1 when a lane of a killed member had no result within KAFKA_SESSION_TIMEOUT_MS + 3 s.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { withStackAtHand } from '../kafka-at-hand.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import type { Stack } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { sumOf } from '../soak/sampler.ts';
import { spreadOf, type Spread } from '../spread.ts';
import { memoryOf, type Memory } from './process-memory.ts';
import { SteadyLoad } from '../steady-load.ts';
import { storeBytes, writeLedger } from './take-over-ledger.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '0' },
    lanes: { type: 'string', default: '6,24' },
    rate: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});

const keys = Number(values.keys);
const SESSION_TIMEOUT_MS = 6_000;
/** As in operation, where a stack's own are short for tests. */
const USUAL_TIMES = {
  KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
  KAFKA_HEARTBEAT_INTERVAL_MS: '1000',
  API_TIMEOUT_MS: '10000',
  SETTLING_TIME_MS: '10000',
};
const KILLED_MS_MAX = SESSION_TIMEOUT_MS + 3_000;
/** Long enough for code to be compiled and connections to be made. */
const WARM_UP_MS = 10_000;
/** A restore of a million keys on a busy machine. */
const COLD_MS_MAX = 1_200_000;
/** Before and after each change. */
const STEADY_MS = 3_000;

type SceneName = 'quiet' | 'rolling' | 'grown' | 'shrunk' | 'killed';

interface Measured {
  lanes: number;
  cold: ColdStart[];
  /** From publishing to the result, of commands published in the scene and a little before and after. */
  latencyMs: Partial<Record<SceneName, Spread>>;
  /** Of the largest store, for each key. */
  storeBytesPerKey: number | null;
}

interface ColdStart {
  readyMs: number;
  /** Until it knew every key, whether or not its lanes were open before. */
  keysPerSecond: number;
  memory: Memory;
}

const onProgress = (line: string): void => console.error(line);
const all: Measured[] = [];
for (const lanes of values.lanes.split(',').map(Number))
  all.push(
    await withStackAtHand({ name: 'restarts', lanes, settings: USUAL_TIMES }, (stack) => measuredWith(stack, lanes)),
  );
console.log(values.json ? JSON.stringify(all, null, 2) : all.map(textOf).join('\n'));
if (all.some(({ latencyMs: { killed } }) => (killed?.max ?? Infinity) > KILLED_MS_MAX)) process.exitCode = 1;

async function measuredWith(stack: Stack, lanes: number): Promise<Measured> {
  if (keys > 0) await writeLedger(stack, { keys, lanes }, onProgress);
  const processors: RunningProcessor[] = [];
  const cold = [await coldStart(stack, processors), await coldStart(stack, processors)];
  const load = new SteadyLoad(stack, 'load', Number(values.rate));
  load.begin();
  try {
    await sleep(WARM_UP_MS);
    const latencies = new Map<SceneName, number[]>();
    for (let round = 1; round <= Number(values.rounds); round += 1) {
      for (const [scene, play] of scenesOf(stack, processors)) {
        let fromMs = performance.now();
        await sleep(STEADY_MS);
        if (scene === 'killed') fromMs = performance.now();
        await play();
        await sleep(STEADY_MS);
        const found = await load.latenciesMs(fromMs, performance.now());
        if (load.failed > 0) throw new Error(`${load.failed} commands could not be published`);
        latencies.set(scene, [...(latencies.get(scene) ?? []), ...found]);
        onProgress(`${lanes} lanes, round ${round}, ${scene}: at most ${spreadOf(found).max} ms`);
      }
    }
    const bytes = storeBytes(stack.environment['STATE_DIR'] ?? '', processors.length);
    return {
      lanes,
      cold,
      latencyMs: Object.fromEntries([...latencies].map(([scene, found]) => [scene, spreadOf(found)])),
      storeBytesPerKey: keys > 0 ? Math.round(bytes / keys) : null,
    };
  } finally {
    await load.pause();
  }
}

async function coldStart(stack: Stack, processors: RunningProcessor[]): Promise<ColdStart> {
  const beganMs = performance.now();
  const processor = await stack.spawnProcessor();
  processors.push(processor);
  await processor.ready(COLD_MS_MAX);
  const readyMs = Math.round(performance.now() - beganMs);
  // A lane is open when its own part has been read; a standby knows the others' as well.
  await eventually(
    async () => sumOf(await processor.metrics(), 'payments_keys_remembered') ?? 0,
    (count) => count >= keys,
    `${keys} keys remembered`,
    COLD_MS_MAX,
  );
  const wholeMs = performance.now() - beganMs;
  onProgress(`cold start: ready after ${readyMs} ms, every key known after ${Math.round(wholeMs)} ms`);
  return { readyMs, keysPerSecond: Math.round((keys / wholeMs) * 1_000), memory: memoryOf(processor.pid) };
}

function scenesOf(stack: Stack, processors: RunningProcessor[]): [SceneName, () => Promise<void>][] {
  const end = async (how: 'stop' | 'kill9'): Promise<void> => {
    await processors.shift()?.[how]();
  };
  const start = async (): Promise<void> => {
    const processor = await stack.spawnProcessor();
    processors.push(processor);
    // A third has no store yet, and reads every key first.
    await processor.ready(COLD_MS_MAX);
  };
  const inTurn = async (): Promise<void> => {
    await end('stop');
    await start();
    await sleep(STEADY_MS);
  };
  return [
    ['quiet', () => sleep(STEADY_MS)],
    ['rolling', () => inTurn().then(inTurn)],
    ['grown', start],
    ['shrunk', () => end('stop')],
    ['killed', () => end('kill9').then(start)],
  ];
}

function textOf({ cold, lanes, latencyMs, storeBytesPerKey }: Measured): string {
  const starts = cold.map(
    ({ keysPerSecond, memory, readyMs }) =>
      `cold start: ready after ${readyMs} ms, ${keysPerSecond} keys/s, ${memory.resident} MiB, ${memory.anonymous} without files`,
  );
  return [
    ...starts,
    ...(storeBytesPerKey === null ? [] : [`store: ${storeBytesPerKey} bytes a key`]),
    '| lanes | scene | commands | p50, ms | p99, ms | at most, ms |',
    '| --- | --- | --- | --- | --- | --- |',
    ...Object.entries(latencyMs).map(
      ([scene, { count, max, p50, p99 }]) => `| ${lanes} | ${scene} | ${count} | ${p50} | ${p99} | ${max} |`,
    ),
  ].join('\n');
}
