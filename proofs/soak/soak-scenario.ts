/**
 * An hour of constant load, with kills:
 *
 *   opened      topics that forget after minutes, a sandbox whose calls take 30 ms, processors in slots `a` and `b`
 *   load        until the minutes are over; every ten seconds a look at all processes (samples.ts)
 *   disturbed   `b` every five minutes: kill -9 twice, then SIGTERM, and so on; `a` once, by SIGTERM, after two thirds
 *   settled     the load ends, every command is answered, both processes are stopped in order
 *   evidence    samples, results, and the sandbox's own counts
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../dev/engine/start.ts';
import type { EffectsReport } from '../../test/support/sandbox-control.ts';
import { Stack } from '../../test/support/stack.ts';
import { eventually } from '../../test/support/watch.ts';
import { ProcessorSlots } from '../gameday/processor-slots.ts';
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
import { SoakResults, type FirstResult } from './soak-results.ts';

const LANES = 6;
const SLOTS = ['a', 'b'] as const;
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
  engine: Engine;
  /** State of the processors, and their logs. */
  directory: string;
  minutes: number;
  commandsPerSecond: number;
  onProgress: (line: string) => void;
}

export interface Disturbance {
  atMs: number;
  slot: string;
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

export async function runSoak(options: SoakOptions): Promise<SoakEvidence> {
  const { directory, engine } = options;
  const logDirectory = join(directory, 'logs');
  await mkdir(logDirectory, { recursive: true });
  const stack = await Stack.open({
    name: 'soak',
    kafkaBrokers: engine.brokers,
    schemaRegistryUrl: engine.registryUrl,
    lanes: LANES,
    isRead: false,
    sandbox: {
      settleMs: 2_000,
      approvalMs: 60_000,
      quoteLifetimeMs: 60_000,
      idempotencyRetentionMs: 600_000,
      honourKeys: ['transfer-in', 'create-quote'],
    },
    settings: { ...SETTINGS, STATE_DIR: join(directory, 'state') },
  });
  const results = await SoakResults.open(stack.settings);
  const slots = await ProcessorSlots.open(SLOTS, () => stack.environment, logDirectory);
  try {
    await shortenRetention(stack.kafka, stack.environment);
    await stack.service.addFaults({ kind: 'delay', delayMs: CALL_MS, at: 'before' });
    await slots.start(SLOTS);
    await shortenInternalSegments(stack.kafka);
    return await run(options, stack, slots, results);
  } finally {
    await results.close();
    await slots.close();
    await stack.close();
  }
}

async function run(
  options: SoakOptions,
  stack: Stack,
  slots: ProcessorSlots,
  results: SoakResults,
): Promise<SoakEvidence> {
  const { commandsPerSecond, minutes, onProgress } = options;
  const load = new SoakLoad(stack, commandsPerSecond);
  const sampler = new Sampler(options, stack, slots, load, results);
  const beganMs = performance.now();
  load.begin();
  const sampling = sampler.run();
  const disturbances = await disturb(slots, beganMs, minutes * 60_000, onProgress);
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
  await slots.stop(...SLOTS);
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
async function awaitReplays(load: SoakLoad, results: SoakResults): Promise<void> {
  await eventually(
    async () => [...load.copied].filter((key) => results.first.get(key)?.replays === 0).length,
    (unanswered) => unanswered === 0,
    'every copy to be answered',
    ANSWERED_MS_MAX,
  ).catch(() => undefined);
}

/** @returns once the time of the run is over */
async function disturb(
  slots: ProcessorSlots,
  beganMs: number,
  lengthMs: number,
  onProgress: (line: string) => void,
): Promise<Disturbance[]> {
  const done: Disturbance[] = [];
  const intervalMs = lengthMs / DISTURBANCES_PER_RUN;
  const until = (atMs: number): Promise<void> => delay(Math.max(0, beganMs + atMs - performance.now()));
  const act = async (slot: string, how: Disturbance['how']): Promise<void> => {
    done.push({ atMs: Math.round(performance.now() - beganMs), slot, how });
    onProgress(`${how} of ${slot}`);
    if (how === 'kill -9') await slots.kill(slot);
    else await slots.stop(slot);
    await slots.start([slot]);
  };
  for (let turn = 1; turn < DISTURBANCES_PER_RUN; turn += 1) {
    await until(turn * intervalMs);
    await act('b', turn % 3 === 0 ? 'SIGTERM' : 'kill -9');
    if (turn === (DISTURBANCES_PER_RUN * 2) / 3) {
      await until((turn + 0.5) * intervalMs);
      await act('a', 'SIGTERM');
    }
  }
  await until(lengthMs);
  return done;
}

class Sampler {
  readonly processes: ProcessSample[] = [];
  readonly shared: SharedSample[] = [];
  readonly #options: SoakOptions;
  readonly #slots: ProcessorSlots;
  readonly #load: SoakLoad;
  readonly #results: SoakResults;
  readonly #stateDirectory: string;
  readonly #ports: Ports;
  readonly #stopping = new AbortController();

  constructor(options: SoakOptions, stack: Stack, slots: ProcessorSlots, load: SoakLoad, results: SoakResults) {
    this.#options = options;
    this.#slots = slots;
    this.#load = load;
    this.#results = results;
    this.#stateDirectory = stack.environment['STATE_DIR'] ?? '';
    const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));
    this.#ports = new Map([
      ...options.engine.brokers.map((broker) => [portOf(broker), 'kafka'] as const),
      [Number(new URL(options.engine.registryUrl).port), 'registry'],
      [stack.sandbox.port, 'service'],
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
    const running = this.#slots.running();
    const samples = await Promise.all(
      running.map(([slot, processor]) => processSample(slot, processor, this.#ports, atMs)),
    );
    this.processes.push(...samples.filter((sample) => sample !== null));
    this.shared.push({
      atMs,
      published: this.#load.published,
      answered: this.#results.first.size,
      storeMebibytes: storeMebibytesOf(this.#stateDirectory),
      kafkaMebibytes: withKafka ? directoryMebibytes(join(this.#options.engine.directory, 'broker-1', 'data')) : null,
    });
  }

  #tell(): void {
    const shared = this.shared.at(-1);
    const processes = this.processes.filter(({ atMs }) => atMs === shared?.atMs);
    const each = processes.map(
      ({ connections, handles, heapUsedMebibytes, lagMessages, memory, slot }) =>
        `${slot}: ${memory.resident} MiB, ${memory.anonymous} without files, heap ${heapUsedMebibytes?.toFixed(0)}, ` +
        `${Object.values(handles).reduce((sum, count) => sum + count, 0)} handles, ${Object.values(connections).join('/')} connections, lag ${lagMessages}`,
    );
    const minutes = ((shared?.atMs ?? 0) / 60_000).toFixed(1);
    this.#options.onProgress(
      `${minutes} min: ${shared?.published} published, ${shared?.answered} answered, Kafka ${shared?.kafkaMebibytes?.toFixed(0)} MiB, ` +
        `stores ${JSON.stringify(shared?.storeMebibytes)}; ${each.join('; ')}`,
    );
  }
}
