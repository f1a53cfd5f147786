/**
 * What happens to processors, brokers, registry and service during a run: one disturbance at a time, drawn from the
 * seed, with a pause after each. Each is repaired before the next, so two brokers of three are always up.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from 'payment-processor-local-kafka/start';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import type { Fault } from '../../test/support/sandbox-control.ts';
import type { Stack } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { loseCoordinator, type CoordinatorOutage } from './coordinator-outage.ts';
import type { ChaosOptions } from './chaos-scenario.ts';
import type { Member } from './fleet.ts';
import type { Awaited } from './result-watch.ts';
import { API_TIMEOUT_MS, SESSION_TIMEOUT_MS, type Place, type Rig } from './rig.ts';
import type { Weather } from './weather.ts';

export interface Scene extends Rig, Pick<Place, 'engine' | 'onProgress'> {
  readonly weather: Weather;
  /** The service's next faults. */
  readonly faults: () => readonly Fault[];
  readonly random: () => number;
}

export interface Recovery {
  what: 'kill' | 'freeze';
  /** On the wall clock. */
  atMs: number;
  firstResult: Awaited;
}

/** Time for a restarted broker to read its log and catch up on a busy machine. */
const BROKER_WHOLE_MS_MAX = 90_000;
const PAUSE_MS_MAX = 4_000;
/** How long a kill waits for a call at most. */
const CALL_MS_MAX = 2_000;
const LOOK_MS = 10;

type Disturbance = (scene: Scene, recoveries: Recovery[]) => Promise<void>;

export const DISTURBANCES = {
  'processor killed': { weight: 6, run: killProcessor },
  'processor frozen past its session': { weight: 4, run: freezeProcessor },
  'rolling restart': { weight: 2, run: restartAll },
  'a further processor joins and leaves': { weight: 2, run: joinAndLeave },
  'broker killed': { weight: 3, run: (scene) => disturbBroker(scene, 'kill') },
  'broker stopped': { weight: 2, run: (scene) => disturbBroker(scene, 'stop') },
  'broker frozen': { weight: 2, run: freezeBroker },
  'registry frozen': { weight: 1, run: freezeRegistry },
  'service unreachable': { weight: 2, run: cutService },
  'service silent': { weight: 1, run: haltService },
  'service answers 503': { weight: 2, run: (scene) => storm(scene, 503) },
  'credentials refused': { weight: 1, run: (scene) => storm(scene, 401) },
  'other faults': { weight: 3, run: changeWeather },
} satisfies Record<string, { weight: number; run: Disturbance }>;
export type DisturbanceName = keyof typeof DISTURBANCES;

export interface Disturbed {
  readonly counts: Record<string, number>;
  readonly recoveries: Recovery[];
  readonly coordinatorOutages: CoordinatorOutage[];
}

/** Disturbs in these ways until `untilMs` (performance.now), counting each kind. */
export async function disturb(
  scene: Scene,
  {
    coordinatorEveryMs,
    disturbances: names,
    pauseMsMax = PAUSE_MS_MAX,
  }: Pick<ChaosOptions, 'coordinatorEveryMs' | 'disturbances' | 'pauseMsMax'>,
  untilMs: number,
): Promise<Disturbed> {
  const counts: Record<string, number> = {};
  const recoveries: Recovery[] = [];
  const coordinatorOutages: CoordinatorOutage[] = [];
  let coordinatorDueMs = performance.now() + coordinatorEveryMs;
  const total = names.reduce((sum, name) => sum + DISTURBANCES[name].weight, 0);
  const begin = (name: string): void => {
    scene.onProgress(`${new Date().toISOString()} ${name}`);
    counts[name] = (counts[name] ?? 0) + 1;
  };
  for (;;) {
    await delay(scene.random() * pauseMsMax);
    if (performance.now() >= untilMs) break;
    if (performance.now() >= coordinatorDueMs) {
      coordinatorDueMs += coordinatorEveryMs;
      begin('coordinator of transactions lost');
      coordinatorOutages.push(await loseCoordinator(scene));
    }
    let place = scene.random() * total;
    const name = names.find((candidate) => (place -= DISTURBANCES[candidate].weight) < 0);
    if (name === undefined) continue;
    begin(name);
    await DISTURBANCES[name].run(scene, recoveries);
  }
  return { counts, recoveries, coordinatorOutages };
}

function between({ random }: Scene, lowMs: number, highMs: number): number {
  return Math.floor(lowMs + random() * (highMs - lowMs));
}

function anyMember({ fleet, random }: Scene): Member | undefined {
  return fleet.members[Math.floor(random() * fleet.members.length)];
}

function anyBroker(scene: Scene): ReturnType<Engine['broker']> {
  const engine = engineOf(scene);
  return engine.broker(Math.floor(scene.random() * engine.brokers.length));
}

async function killProcessor(scene: Scene, recoveries: Recovery[]): Promise<void> {
  const member = anyMember(scene);
  if (member === undefined) return;
  const startsAfterMs = between(scene, 0, 4_000);
  // A kill proves most while a call is under way.
  for (let waitedMs = 0; !scene.link.hasChange() && waitedMs < CALL_MS_MAX; waitedMs += LOOK_MS) await delay(LOOK_MS);
  const lanes = member.processor.assignedLanes();
  await scene.fleet.kill(member);
  note('kill', lanes, scene, recoveries);
  await delay(startsAfterMs);
  await scene.fleet.start();
}

async function freezeProcessor(scene: Scene, recoveries: Recovery[]): Promise<void> {
  const member = anyMember(scene);
  if (member === undefined) return;
  const lanes = member.processor.assignedLanes();
  scene.link.doubtCallsUnderWay();
  member.processor.freeze();
  note('freeze', lanes, scene, recoveries);
  await delay(between(scene, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS * 3));
  member.processor.thaw();
}

function note(what: Recovery['what'], lanes: readonly number[], { results }: Scene, recoveries: Recovery[]): void {
  if (lanes.length > 0) recoveries.push({ what, atMs: Date.now(), firstResult: results.nextResultIn(lanes) });
}

async function restartAll(scene: Scene): Promise<void> {
  for (const member of scene.fleet.members.slice()) {
    await scene.fleet.stop(member);
    await scene.fleet.start();
    await delay(between(scene, 0, 3_000));
  }
}

async function joinAndLeave(scene: Scene): Promise<void> {
  const member = await scene.fleet.start();
  await delay(between(scene, 3_000, 10_000));
  await scene.fleet.stop(member);
}

async function disturbBroker(scene: Scene, how: 'kill' | 'stop'): Promise<void> {
  const broker = anyBroker(scene);
  const awayMs = between(scene, 500, 8_000);
  await broker[how]();
  await delay(awayMs);
  await broker.start();
  await brokersWhole(scene.stack);
}

async function freezeBroker(scene: Scene): Promise<void> {
  const broker = anyBroker(scene);
  broker.pause();
  await delay(between(scene, 1_000, 9_000));
  broker.resume();
  await brokersWhole(scene.stack);
}

async function freezeRegistry(scene: Scene): Promise<void> {
  const { registry } = engineOf(scene);
  registry.pause();
  await delay(between(scene, 2_000, 6_000));
  registry.resume();
}

async function cutService(scene: Scene): Promise<void> {
  await scene.link.cut();
  await delay(between(scene, 500, 5_000));
  await scene.link.restore();
}

async function haltService(scene: Scene): Promise<void> {
  scene.link.halt();
  await delay(between(scene, 500, API_TIMEOUT_MS * 2));
  scene.link.resume();
}

async function storm(scene: Scene, httpStatus: number): Promise<void> {
  await scene.weather.replace([{ kind: 'status', httpStatus }]);
  await delay(between(scene, 1_000, 5_000));
  await changeWeather(scene);
}

async function changeWeather({ faults, weather }: Scene): Promise<void> {
  await weather.replace(faults());
}

/** The engine whose brokers and registry are the run's own. */
export function engineOf({ engine }: Scene): Engine {
  if (engine === null) throw new Error('the brokers belong to others: they are not to be disturbed');
  return engine;
}

/** Waits until every partition is in sync on all of its brokers, so that the next broker may fail. */
export async function brokersWhole(stack: Stack): Promise<void> {
  await eventually(
    async () => {
      const partitions = await withAdmin(stack.kafka, async (admin) => {
        const { topics } = await admin.fetchTopicMetadata();
        return topics.flatMap(({ partitions: all }) => all);
      }).catch(() => null);
      return partitions?.filter(({ isr, replicas }) => isr.length < replicas.length).length ?? null;
    },
    (behind) => behind === 0,
    'every partition to be on all brokers again',
    BROKER_WHOLE_MS_MAX,
  );
}
