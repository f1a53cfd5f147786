/**
 * An hour of constant load, with kills:
 *
 *   opened      topics that forget after minutes, a sandbox whose calls take 30 ms, processors `a` and `b`
 *   load        until the minutes are over; every ten seconds a look at all processes (samples.ts)
 *   disturbed   `b` every five minutes: kill -9 twice, then SIGTERM, and so on; `a` once, by SIGTERM, after two thirds
 *   settled     the load ends, every command is answered, both processes are stopped in order
 *   evidence    samples, results, and the sandbox's own counts
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from 'payment-processor-local-kafka/start';
import type { EffectsReport } from '../../test/support/sandbox-control.ts';
import { eventually } from '../../test/support/watch.ts';
import type { Fleet, Member } from '../chaos/fleet.ts';
import type { FirstResult, ResultWatch } from '../chaos/result-watch.ts';
import { withRig, type Place, type Rig } from '../chaos/rig.ts';
import type { Ports } from './process-handles.ts';
import {
  directoryMebibytes,
  processSample,
  storeMebibytesOf,
  type ProcessSample,
  type SharedSample,
} from './samples.ts';
import { shortenInternalSegments, shortenRetention, SHORT_RETENTION } from './short-retention.ts';
import { SoakLoad, type SoakCommand } from './soak-load.ts';

const LANES = 6;
const CALL_MS = 30;
const SAMPLE_MS = 10_000;
const PROGRESS_MS = 60_000;
/** Walking through thousands of segments takes a while. */
const KAFKA_SAMPLE_EVERY = 6;
/** Shorter runs are tried out with as many disturbances. */
const DISTURBANCES_PER_RUN = 12;
const ANSWERED_MS_MAX = 300_000;
const SETTINGS = {
  ...SHORT_RETENTION,
  KAFKA_SESSION_TIMEOUT_MS: '6000',
  KAFKA_HEARTBEAT_INTERVAL_MS: '1000',
  API_TIMEOUT_MS: '5000',
  SETTLING_TIME_MS: '2000',
  API_IDEMPOTENT_OPERATIONS: 'transfer-in,create-quote',
  POLL_MAX_CALLS_PER_MINUTE: '600',
};

export interface SoakOptions {
  readonly minutes: number;
  readonly commandsPerSecond: number;
}

export interface Disturbance {
  atMs: number;
  name: string;
  how: 'kill -9' | 'SIGTERM';
}

export interface SoakEvidence {
  minutes: number;
  commandsPerSecond: number;
  disturbances: readonly Disturbance[];
  processes: readonly ProcessSample[];
  shared: readonly SharedSample[];
  commands: ReadonlyMap<string, SoakCommand>;
  copied: ReadonlySet<string>;
  first: ReadonlyMap<string, FirstResult>;
  contradictions: readonly string[];
  loadFailures: readonly string[];
  leftOut: number;
  effects: EffectsReport;
  areBooksBalanced: boolean;
}

export async function runSoak(place: Place & { engine: Engine }, options: SoakOptions): Promise<SoakEvidence> {
  const rigOptions = {
    name: 'soak',
    lanes: LANES,
    sandbox: {
      settleMs: 2_000,
      approvalMs: 60_000,
      quoteLifetimeMs: 60_000,
      idempotencyRetentionMs: 600_000,
      honourKeys: ['transfer-in', 'create-quote'] as const,
    },
    settings: SETTINGS,
  };
  return withRig(place, rigOptions, async (rig) => {
    await shortenRetention(rig.stack.kafka, rig.stack.environment);
    await rig.stack.service.addFaults({ kind: 'delay', delayMs: CALL_MS, at: 'before' });
    await rig.fleet.startAll(2);
    await shortenInternalSegments(rig.stack.kafka);
    return run(place, options, rig);
  });
}

async function run(place: Place & { engine: Engine }, options: SoakOptions, rig: Rig): Promise<SoakEvidence> {
  const { fleet, results, stack } = rig;
  const { commandsPerSecond, minutes } = options;
  const { onProgress } = place;
  const load = new SoakLoad(stack, commandsPerSecond);
  const sampler = new Sampler(place, rig, load);
  const beganMs = performance.now();
  load.begin();
  const sampling = sampler.run();
  const disturbances = await disturb(fleet, beganMs, minutes * 60_000, onProgress);
  await load.pause();
  onProgress(`${load.published} commands are published`);
  await eventually(
    async () => [...load.commands.keys()].filter((key) => !results.first.has(key)).length,
    (unanswered) => unanswered === 0,
    'every command to have a result',
    ANSWERED_MS_MAX,
  ).catch((error: unknown) => onProgress(String(error)));
  await awaitReplays(load, results);
  await sampler.stop();
  await sampling;
  await fleet.stopAll();
  return {
    minutes,
    commandsPerSecond,
    disturbances,
    processes: sampler.processes,
    shared: sampler.shared,
    commands: load.commands,
    copied: load.copied,
    first: results.first,
    contradictions: results.contradictions,
    loadFailures: load.failures,
    leftOut: load.leftOut,
    effects: await stack.service.effects(),
    areBooksBalanced: (await stack.service.books()).balanced,
  };
}

/** What is still unanswered is for the judgement to say. */
async function awaitReplays(load: SoakLoad, results: ResultWatch): Promise<void> {
  await eventually(
    async () => [...load.copied].filter((key) => results.first.get(key)?.replays === 0).length,
    (unanswered) => unanswered === 0,
    'every copy to be answered',
    ANSWERED_MS_MAX,
  ).catch(() => undefined);
}

/** The older process is `a`, the younger `b`. @returns once the time of the run is over */
async function disturb(
  fleet: Fleet,
  beganMs: number,
  lengthMs: number,
  onProgress: (line: string) => void,
): Promise<Disturbance[]> {
  const done: Disturbance[] = [];
  const intervalMs = lengthMs / DISTURBANCES_PER_RUN;
  const until = (atMs: number): Promise<void> => delay(Math.max(0, beganMs + atMs - performance.now()));
  let [a, b] = fleet.members;
  const act = async (member: Member | undefined, how: Disturbance['how']): Promise<Member> => {
    if (member === undefined) throw new Error('two processors were started');
    done.push({ atMs: Math.round(performance.now() - beganMs), name: member.name, how });
    onProgress(`${how} of ${member.name}`);
    if (how === 'kill -9') await fleet.kill(member);
    else await fleet.stop(member);
    return fleet.start();
  };
  for (let turn = 1; turn < DISTURBANCES_PER_RUN; turn += 1) {
    await until(turn * intervalMs);
    b = await act(b, turn % 3 === 0 ? 'SIGTERM' : 'kill -9');
    if (turn === (DISTURBANCES_PER_RUN * 2) / 3) {
      await until((turn + 0.5) * intervalMs);
      a = await act(a, 'SIGTERM');
    }
  }
  await until(lengthMs);
  return done;
}

class Sampler {
  readonly processes: ProcessSample[] = [];
  readonly shared: SharedSample[] = [];
  readonly #place: Place & { engine: Engine };
  readonly #rig: Rig;
  readonly #load: SoakLoad;
  readonly #stateDirectory: string;
  readonly #ports: Ports;
  readonly #stopping = new AbortController();

  constructor(place: Place & { engine: Engine }, rig: Rig, load: SoakLoad) {
    this.#place = place;
    this.#rig = rig;
    this.#load = load;
    this.#stateDirectory = rig.stack.environment['STATE_DIR'] ?? '';
    const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));
    this.#ports = new Map([
      ...place.kafkaBrokers.map((broker) => [portOf(broker), 'kafka'] as const),
      [Number(new URL(place.schemaRegistryUrl).port), 'registry'],
      [rig.link.port, 'service'],
    ]);
  }

  async run(): Promise<void> {
    const beganMs = performance.now();
    for (let look = 0; !this.#stopping.signal.aborted; look += 1) {
      const dueMs = beganMs + look * SAMPLE_MS;
      await delay(Math.max(0, dueMs - performance.now()), undefined, { signal: this.#stopping.signal }).catch(
        () => undefined,
      );
      await this.#look(Math.round(performance.now() - beganMs), look % KAFKA_SAMPLE_EVERY === 0);
      if ((look * SAMPLE_MS) % PROGRESS_MS === 0) this.#tell();
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
  }

  async #look(atMs: number, withKafka: boolean): Promise<void> {
    const samples = await Promise.all(
      this.#rig.fleet.members.map(({ name, processor }) => processSample(name, processor, this.#ports, atMs)),
    );
    this.processes.push(...samples.filter((sample) => sample !== null));
    this.shared.push({
      atMs,
      published: this.#load.published,
      answered: this.#rig.results.first.size,
      storeMebibytes: storeMebibytesOf(this.#stateDirectory),
      kafkaMebibytes: withKafka ? directoryMebibytes(join(this.#place.engine.directory, 'broker-1', 'data')) : null,
    });
  }

  #tell(): void {
    const shared = this.shared.at(-1);
    const processes = this.processes.filter(({ atMs }) => atMs === shared?.atMs);
    const each = processes.map(
      ({ connections, handles, heapUsedMebibytes, lagMessages, memory, name }) =>
        `${name}: ${memory.resident} MiB, ${memory.anonymous} without files, heap ${heapUsedMebibytes?.toFixed(0)}, ` +
        `${Object.values(handles).reduce((sum, count) => sum + count, 0)} handles, ${Object.values(connections).join('/')} connections, lag ${lagMessages}`,
    );
    const minutes = ((shared?.atMs ?? 0) / 60_000).toFixed(1);
    this.#place.onProgress(
      `${minutes} min: ${shared?.published} published, ${shared?.answered} answered, Kafka ${shared?.kafkaMebibytes?.toFixed(0)} MiB, ` +
        `stores ${JSON.stringify(shared?.storeMebibytes)}; ${each.join('; ')}`,
    );
  }
}
