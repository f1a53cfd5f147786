/**
 * How late the poller is: from a change at the service to its observation, and the calls per minute, by the number of
 * open transactions. In virtual time, with the poller and reducer as they are.
 *
 *   node proofs/bench/poller.ts [--json]
 *
 * The transactions are open all the time, created over the last minutes or hours, and change at random instants; or they
 * come and go, a quarter of them made by others, so that as many are open at any time. Where some are executed, those are of
 * the hours before the measurement, and their delay is that from COMPLETED, ten seconds after the execution.
 *
 * Names of scenes, or parts of them, choose among them.
 */
import { spreadOf } from '../spread.ts';
import { SimulatedService, PLAIN_MANNER, type Change, type Payment } from '../../test/status/simulated-service.ts';
import type { Observation } from '../../src/status/observation.ts';
import { PollerWorld, SETTINGS } from '../../test/status/poller-world.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');
const MINUTE_MS = 60_000;
const WARM_UP_MS = 20 * MINUTE_MS;
/** Of the time measured: what changes later may not have been seen at its end. */
const SEEN_SHARE = 0.8;
/** Of those that come and go, every so-manieth is made by others. */
const OTHERS_EVERY = 4;

interface Scene {
  name: string;
  open: number;
  /** The oldest was created so long before the measurement. */
  createdOverMs: number;
  measuredMs: number;
  callsPerMinuteMax: number;
  /** They come and go, each open for so long. */
  lifeMs?: number;
  /** So many quotes a minute, created over the hours before, are executed by commands. */
  executedPerMinute?: number;
}

/** Of those that are executed: created over so long, and COMPLETED after so long. */
const EXECUTED_CREATED_OVER_MS = 360 * MINUTE_MS;
const EXECUTED_SETTLE_MS = 10_000;

const SCENES: Scene[] = [
  { name: '100 young', open: 100, createdOverMs: MINUTE_MS, measuredMs: 10 * MINUTE_MS, callsPerMinuteMax: 120 },
  ...[1, 10, 60].map((executedPerMinute) => ({
    name: `500 young, ${executedPerMinute} old executed a minute`,
    open: 500,
    createdOverMs: MINUTE_MS,
    measuredMs: 10 * MINUTE_MS,
    callsPerMinuteMax: 120,
    executedPerMinute,
  })),
  { name: '1,000 young', open: 1_000, createdOverMs: MINUTE_MS, measuredMs: 5 * MINUTE_MS, callsPerMinuteMax: 120 },
  ...[120, 180, 240, 300].map((callsPerMinuteMax) => ({
    name: `1,000 coming and going, ${callsPerMinuteMax} calls`,
    open: 1_000,
    createdOverMs: 5 * MINUTE_MS,
    measuredMs: 10 * MINUTE_MS,
    callsPerMinuteMax,
    lifeMs: MINUTE_MS,
  })),
  {
    name: '1,000 over an hour',
    open: 1_000,
    createdOverMs: 60 * MINUTE_MS,
    measuredMs: 10 * MINUTE_MS,
    callsPerMinuteMax: 120,
  },
  { name: '10,000 young', open: 10_000, createdOverMs: MINUTE_MS, measuredMs: 10 * MINUTE_MS, callsPerMinuteMax: 120 },
  {
    name: '10,000 over 6 hours',
    open: 10_000,
    createdOverMs: 360 * MINUTE_MS,
    measuredMs: 30 * MINUTE_MS,
    callsPerMinuteMax: 120,
  },
  {
    name: '10,000 young, 1,200 calls',
    open: 10_000,
    createdOverMs: MINUTE_MS,
    measuredMs: 5 * MINUTE_MS,
    callsPerMinuteMax: 1_200,
  },
  {
    name: '100,000 over 24 hours',
    open: 100_000,
    createdOverMs: 1_440 * MINUTE_MS,
    measuredMs: 60 * MINUTE_MS,
    callsPerMinuteMax: 120,
  },
  {
    name: '100,000 over 24 hours, 600 calls',
    open: 100_000,
    createdOverMs: 1_440 * MINUTE_MS,
    measuredMs: 45 * MINUTE_MS,
    callsPerMinuteMax: 600,
  },
];

interface Figures {
  scene: string;
  changes: number;
  unseen: number;
  delayP50Seconds: number;
  delayP99Seconds: number;
  delayMaxSeconds: number;
  executedP50Seconds: number;
  executedP99Seconds: number;
  executedMaxSeconds: number;
  callsPerMinute: number;
  callsInAnyMinuteMax: number;
  cpuSecondsPerHour: number;
}

/** One change each, from open to open, so that as many are watched all the time; late enough to be seen. */
function standing({ createdOverMs, measuredMs, open }: Scene, measuredFromMs: number, random: () => number): Payment[] {
  return Array.from({ length: open }, (_, index) => {
    const createdMs = START_MS + 1_000 + Math.floor(random() * createdOverMs);
    const changedMs = measuredFromMs + Math.floor(random() * measuredMs * SEEN_SHARE);
    const changes: [Change, ...Change[]] = [change(createdMs, 'PENDING'), change(changedMs, 'PROCESSING')];
    return { id: `Transaction:${index}`, changes };
  });
}

/** Old ones, each executed at some instant of the measurement. */
function executed(
  { executedPerMinute = 0, measuredMs }: Scene,
  measuredFromMs: number,
  random: () => number,
): Payment[] {
  return Array.from({ length: Math.floor((executedPerMinute * measuredMs) / MINUTE_MS) }, (_, index) => {
    const createdMs = START_MS - Math.floor(random() * EXECUTED_CREATED_OVER_MS);
    const executedMs = measuredFromMs + Math.floor(random() * measuredMs * SEEN_SHARE);
    const changes: [Change, ...Change[]] = [
      change(createdMs, 'PENDING'),
      change(executedMs, 'PROCESSING'),
      change(executedMs + EXECUTED_SETTLE_MS, 'COMPLETED'),
    ];
    return { id: `Transaction:executed-${index}`, changes };
  });
}

function comingAndGoing(open: number, lifeMs: number, endMs: number, random: () => number): Payment[] {
  const beginMs = START_MS + 1_000;
  return Array.from({ length: Math.floor((open * (endMs - beginMs)) / lifeMs) }, (_, index) => {
    const createdMs = beginMs + Math.floor(random() * (endMs - beginMs));
    const sentMs = createdMs + Math.floor(lifeMs * 0.4);
    const changes: [Change, ...Change[]] = [
      change(createdMs, 'PROCESSING'),
      change(sentMs, 'SENT'),
      change(createdMs + lifeMs, 'COMPLETED'),
    ];
    return { id: `Transaction:${index}`, changes };
  });
}

function change(atMs: number, status: string): Change {
  return { atMs, status, failureReason: null };
}

async function measure(scene: Scene): Promise<Figures> {
  const random = randomOf(scene.open);
  const measuredFromMs = START_MS + scene.createdOverMs + MINUTE_MS;
  const endMs = measuredFromMs + scene.measuredMs;
  const { lifeMs } = scene;
  const isStanding = lifeMs === undefined;
  const payments = isStanding
    ? standing(scene, measuredFromMs, random)
    : comingAndGoing(scene.open, lifeMs, endMs, random);
  const old = executed(scene, measuredFromMs, random);
  const service = new SimulatedService([...payments, ...old], PLAIN_MANNER);
  const world = new PollerWorld({
    settings: { ...SETTINGS, callsPerMinuteMax: scene.callsPerMinuteMax },
    startMs: START_MS,
    list: (filter, nowMs) => service.list(filter, nowMs),
  });
  // What the answers of our own commands show.
  const isOurs = (index: number): boolean => isStanding || index % OTHERS_EVERY !== 0;
  const commanded = (atMs: number, key: string, seen: Pick<Observation, 'transaction' | 'quote'>): void =>
    world.time.at(atMs + 50, () => {
      world.commit({
        ...seen,
        requestBeganMs: atMs - 20,
        requestEndedMs: atMs + 20,
        observedBy: 'COMMAND',
        observer: 'lanes',
        commandKey: key,
        carried: {},
      });
    });
  for (const [index, payment] of payments.entries()) {
    const createdMs = payment.changes[0].atMs;
    if (isOurs(index)) commanded(createdMs, payment.id, { transaction: service.view(payment, createdMs), quote: null });
  }
  for (const payment of old) {
    const [created, began] = payment.changes;
    commanded(created.atMs, payment.id, { transaction: service.view(payment, created.atMs), quote: null });
    if (began !== undefined) {
      commanded(began.atMs, `${payment.id}.execute`, { transaction: null, quote: service.executedQuote(payment) });
    }
  }
  // Long enough to be at its usual pace; the hours before it would show nothing else.
  await world.time.runUntil(Math.max(START_MS, measuredFromMs - WARM_UP_MS));
  world.start();
  await world.time.runUntil(measuredFromMs);
  const cpuBefore = process.cpuUsage();
  await world.time.runUntil(endMs);
  const cpu = process.cpuUsage(cpuBefore);
  world.end();
  const seenMs = new Map(
    world.transactionEvents.map(({ transactionId, status, observedAt }) => [
      `${transactionId} ${status}`,
      Number(observedAt),
    ]),
  );
  const delaysOf = (changes: readonly { atMs: number; key: string }[]): number[] =>
    changes.flatMap(({ atMs, key }) => {
      const seen = seenMs.get(key);
      return seen === undefined ? [] : [seen - atMs];
    });
  const executedDelay = spreadOf(
    delaysOf(old.map(({ changes, id }) => ({ atMs: changes.at(-1)!.atMs, key: `${id} COMPLETED` }))),
  );
  const measuredToMs = measuredFromMs + scene.measuredMs * SEEN_SHARE;
  const changes = payments.flatMap(({ changes, id }, index) =>
    changes
      .slice(isOurs(index) ? 1 : 0)
      .filter(({ atMs }) => atMs >= measuredFromMs && atMs <= measuredToMs)
      .map(({ atMs, status }) => ({ atMs, key: `${id} ${status}` })),
  );
  const delays = delaysOf(changes);
  const delay = spreadOf(delays);
  const calls = world.callTimes.filter((atMs) => atMs >= measuredFromMs);
  return {
    scene: scene.name,
    changes: changes.length,
    unseen: changes.length - delays.length,
    delayP50Seconds: delay.p50 / 1000,
    delayP99Seconds: delay.p99 / 1000,
    delayMaxSeconds: delay.max / 1000,
    executedP50Seconds: executedDelay.p50 / 1000,
    executedP99Seconds: executedDelay.p99 / 1000,
    executedMaxSeconds: executedDelay.max / 1000,
    callsPerMinute: Math.round((calls.length / scene.measuredMs) * MINUTE_MS * 10) / 10,
    callsInAnyMinuteMax: mostInAMinute(world.callTimes),
    cpuSecondsPerHour: Math.round(((cpu.user + cpu.system) / 1e6 / scene.measuredMs) * 3_600_000),
  };
}

function mostInAMinute(times: readonly number[]): number {
  let most = 0;
  let first = 0;
  for (const [index, time] of times.entries()) {
    while ((times[first] ?? time) <= time - MINUTE_MS) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

/** From 0 up to 1; the same numbers for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const isJson = process.argv.includes('--json');
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
for (const scene of SCENES) {
  if (wanted.length > 0 && !wanted.some((part) => scene.name.includes(part))) continue;
  const figures = await measure(scene);
  if (isJson) console.log(JSON.stringify(figures));
  else {
    console.log(
      `${figures.scene.padEnd(34)} delay p50 ${figures.delayP50Seconds} s, p99 ${figures.delayP99Seconds} s, max ${figures.delayMaxSeconds} s; ` +
        (scene.executedPerMinute === undefined
          ? ''
          : `executed p50 ${figures.executedP50Seconds} s, p99 ${figures.executedP99Seconds} s, max ${figures.executedMaxSeconds} s; `) +
        `unseen ${figures.unseen}; ${figures.callsPerMinute} calls a minute, most ${figures.callsInAnyMinuteMax}; CPU ${figures.cpuSecondsPerHour} s an hour`,
    );
  }
}
