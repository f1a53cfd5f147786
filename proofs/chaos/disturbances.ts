/**
 * What happens to processors, brokers, registry and service during a run: one disturbance at a time, drawn from the
 * seed, with a pause after each. Each leaves things whole again before the next: two brokers of three are always up.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../dev/engine/start.ts';
import { withAdmin } from '../../src/producers/admin-session.ts';
import type { Stack } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { loseCoordinator, type CoordinatorOutage } from './coordinator-outage.ts';
import type { Fleet, Member } from './fleet.ts';
import type { Awaited, ResultWatch } from './result-watch.ts';
import type { ServiceLink } from './service-link.ts';
import { badDay, type Weather } from './weather.ts';

export interface Scene {
  readonly engine: Engine;
  readonly stack: Stack;
  readonly fleet: Fleet;
  readonly link: ServiceLink;
  readonly weather: Weather;
  readonly results: ResultWatch;
  readonly random: () => number;
  readonly sessionTimeoutMs: number;
  readonly apiTimeoutMs: number;
  readonly settlingTimeMs: number;
  readonly onProgress: (line: string) => void;
}

export interface Recovery {
  what: 'kill' | 'freeze';
  lanes: readonly number[];
  firstResult: Awaited;
}

/** A broker that comes back on a busy machine reads its log and catches up. */
const BROKER_WHOLE_MS_MAX = 90_000;
const PAUSE_MS_MAX = 4_000;

type Disturbance = (scene: Scene, recoveries: Recovery[]) => Promise<void>;

const DISTURBANCES: Readonly<Record<string, { weight: number; run: Disturbance }>> = {
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
};

export interface Disturbed {
  readonly counts: Record<string, number>;
  readonly recoveries: Recovery[];
  readonly coordinatorOutages: CoordinatorOutage[];
}

/**
 * Disturbs until `untilMs` (performance.now), counting each kind.
 * @param coordinatorEveryMs how often the coordinator of transactions is lost for a minute; Infinity: never
 */
export async function disturb(scene: Scene, untilMs: number, coordinatorEveryMs: number): Promise<Disturbed> {
  const counts: Record<string, number> = {};
  const recoveries: Recovery[] = [];
  const coordinatorOutages: CoordinatorOutage[] = [];
  let coordinatorDueMs = performance.now() + coordinatorEveryMs;
  const total = Object.values(DISTURBANCES).reduce((sum, { weight }) => sum + weight, 0);
  const begin = (name: string): void => {
    scene.onProgress(`${new Date().toISOString()} ${name}`);
    counts[name] = (counts[name] ?? 0) + 1;
  };
  while (performance.now() < untilMs) {
    if (performance.now() >= coordinatorDueMs) {
      coordinatorDueMs += coordinatorEveryMs;
      begin('coordinator of transactions lost');
      coordinatorOutages.push(await loseCoordinator(scene));
    }
    let place = scene.random() * total;
    const drawn = Object.entries(DISTURBANCES).find(([, { weight }]) => (place -= weight) < 0);
    if (drawn === undefined) continue;
    const [name, { run }] = drawn;
    begin(name);
    await run(scene, recoveries);
    await delay(scene.random() * PAUSE_MS_MAX);
  }
  return { counts, recoveries, coordinatorOutages };
}

function between({ random }: Scene, lowMs: number, highMs: number): number {
  return Math.floor(lowMs + random() * (highMs - lowMs));
}

function anyMember({ fleet, random }: Scene): Member | undefined {
  return fleet.members[Math.floor(random() * fleet.members.length)];
}

async function killProcessor(scene: Scene, recoveries: Recovery[]): Promise<void> {
  const member = anyMember(scene);
  if (member === undefined) return;
  const lanes = member.processor.assignedLanes();
  const startsAfterMs = between(scene, 0, 4_000);
  await scene.fleet.kill(member);
  if (lanes.length > 0) recoveries.push({ what: 'kill', lanes, firstResult: scene.results.nextResultIn(lanes) });
  await delay(startsAfterMs);
  await scene.fleet.start();
}

async function freezeProcessor(scene: Scene, recoveries: Recovery[]): Promise<void> {
  const member = anyMember(scene);
  if (member === undefined) return;
  const lanes = member.processor.assignedLanes();
  scene.link.doubtCallsUnderWay();
  scene.fleet.freeze(member);
  if (lanes.length > 0) recoveries.push({ what: 'freeze', lanes, firstResult: scene.results.nextResultIn(lanes) });
  await delay(between(scene, scene.sessionTimeoutMs, scene.sessionTimeoutMs * 3));
  scene.fleet.thaw(member);
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
  const broker = scene.engine.broker(Math.floor(scene.random() * scene.engine.brokers.length));
  const awayMs = between(scene, 500, 8_000);
  await broker[how]();
  await delay(awayMs);
  await broker.start();
  await brokersWhole(scene.stack);
}

async function freezeBroker(scene: Scene): Promise<void> {
  const broker = scene.engine.broker(Math.floor(scene.random() * scene.engine.brokers.length));
  broker.pause();
  await delay(between(scene, 1_000, 9_000));
  broker.resume();
  await brokersWhole(scene.stack);
}

async function freezeRegistry(scene: Scene): Promise<void> {
  scene.engine.registry.pause();
  await delay(between(scene, 2_000, 6_000));
  scene.engine.registry.resume();
}

async function cutService(scene: Scene): Promise<void> {
  await scene.link.cut();
  await delay(between(scene, 500, 5_000));
  await scene.link.restore();
}

async function haltService(scene: Scene): Promise<void> {
  scene.link.halt();
  await delay(between(scene, 500, scene.apiTimeoutMs * 2));
  scene.link.resume();
}

async function storm(scene: Scene, httpStatus: number): Promise<void> {
  await scene.weather.replace([{ kind: 'status', httpStatus }]);
  await delay(between(scene, 1_000, 5_000));
  await changeWeather(scene);
}

async function changeWeather({ weather, random, apiTimeoutMs, settlingTimeMs }: Scene): Promise<void> {
  await weather.replace(badDay(random, apiTimeoutMs, settlingTimeMs));
}

/** Every partition is on all of its brokers again: the next one may go. */
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
