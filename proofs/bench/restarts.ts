/**
 * How late results are while processors come and go: `node proofs/bench/restarts.ts [--lanes 6,24] [--rate 10] [--rounds 3]
 * [--json]`. Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own.
 *
 *   quiet     two processors under a steady load, nothing happens
 *   rolling   each of the two in turn: SIGTERM, end, started again with its store, ready
 *   grown     a third is started
 *   shrunk    it gets SIGTERM
 *   killed    one of the two gets SIGKILL, and is started again; what was published before is left out, for a call that was
 *             under way is in doubt until that is settled
 *
 * Exit code 1 when a lane of a killed member had no result within KAFKA_SESSION_TIMEOUT_MS + 2 s.
 */
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { Stack } from '../../test/support/stack.ts';
import { spreadOf, type Spread } from '../spread.ts';
import { SteadyLoad } from './steady-load.ts';
import { SESSION_TIMEOUT_MS, USUAL_TIMES } from './usual-times.ts';

const { values } = parseArgs({
  options: {
    lanes: { type: 'string', default: '6,24' },
    rate: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
});

const KILLED_MS_MAX = SESSION_TIMEOUT_MS + 2_000;
/** Long enough for code to be compiled and connections to be made. */
const WARM_UP_MS = 10_000;
/** Before and after each change. */
const STEADY_MS = 3_000;

type SceneName = 'quiet' | 'rolling' | 'grown' | 'shrunk' | 'killed';

interface Scene {
  lanes: number;
  scene: SceneName;
  /** From publishing to the result, of what was published in the scene and a little before and after. */
  latencyMs: Spread;
}

const onProgress = (line: string): void => console.error(line);
const kafka = await kafkaAtHand(onProgress);
try {
  const scenes: Scene[] = [];
  for (const lanes of values.lanes.split(',').map(Number)) scenes.push(...(await measuredWith(lanes)));
  console.log(values.json ? JSON.stringify(scenes, null, 2) : textOf(scenes));
  if (scenes.some(({ latencyMs, scene }) => scene === 'killed' && latencyMs.max > KILLED_MS_MAX)) process.exitCode = 1;
} finally {
  await kafka.stop();
}

async function measuredWith(lanes: number): Promise<Scene[]> {
  const stack = await Stack.open({
    name: 'restarts',
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    lanes,
    settings: USUAL_TIMES,
  });
  const processors = [await stack.startProcessor(), await stack.startProcessor()];
  const load = new SteadyLoad(stack, lanes, Number(values.rate));
  try {
    await pause(WARM_UP_MS);
    const latencies = new Map<SceneName, number[]>();
    for (let round = 1; round <= Number(values.rounds); round += 1) {
      for (const [scene, play] of scenesOf(stack, processors)) {
        let fromMs = performance.now();
        await pause(STEADY_MS);
        if (scene === 'killed') fromMs = performance.now();
        await play();
        await pause(STEADY_MS);
        const found = await load.latenciesMs(fromMs, performance.now());
        latencies.set(scene, [...(latencies.get(scene) ?? []), ...found]);
        onProgress(`${lanes} lanes, round ${round}, ${scene}: at most ${spreadOf(found).max} ms`);
      }
    }
    return [...latencies].map(([scene, found]) => ({ lanes, scene, latencyMs: spreadOf(found) }));
  } catch (error) {
    onProgress(stack.logs());
    throw error;
  } finally {
    await load.stop();
    await stack.close();
  }
}

function scenesOf(stack: Stack, processors: RunningProcessor[]): [SceneName, () => Promise<void>][] {
  const end = async (how: 'stop' | 'kill9'): Promise<void> => {
    await processors.shift()?.[how]();
  };
  const start = async (): Promise<void> => {
    processors.push(await stack.startProcessor());
  };
  const inTurn = async (): Promise<void> => {
    await end('stop');
    await start();
    await pause(STEADY_MS);
  };
  return [
    ['quiet', () => pause(STEADY_MS)],
    ['rolling', () => inTurn().then(inTurn)],
    ['grown', start],
    ['shrunk', () => end('stop')],
    ['killed', () => end('kill9').then(start)],
  ];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function textOf(scenes: readonly Scene[]): string {
  return [
    '| lanes | scene | commands | p50, ms | p99, ms | at most, ms |',
    '| --- | --- | --- | --- | --- | --- |',
    ...scenes.map(
      ({ lanes, latencyMs: { count, max, p50, p99 }, scene }) =>
        `| ${lanes} | ${scene} | ${count} | ${p50} | ${p99} | ${max} |`,
    ),
  ].join('\n');
}
