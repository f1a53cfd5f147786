/**
 * Processors, brokers, registry and service fail at random while commands come in; then all is healed and judged.
 *
 *   prepared    topics on three brokers, quotes to execute, payments to reject, processors up
 *   disturbed   commands are published at their times; one disturbance after the other
 *   healed      everything is up and faultless; until every command has a result, or the limit
 *   stopped     processors end in order; payments have settled
 *   evidence    what a new reader finds, and the service's own books
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from '../../dev/engine/start.ts';
import { seededRandom } from '../../dev/sandbox/faults.ts';
import type { CommandType } from '../../src/records/commands.ts';
import { Stack } from '../../test/support/stack.ts';
import { makePlan, type ChaosType } from './chaos-commands.ts';
import { gatherEvidence, type ChaosEvidence } from './chaos-evidence.ts';
import { brokersWhole, disturb, type Scene } from './disturbances.ts';
import { Fleet } from './fleet.ts';
import { Load } from './load.ts';
import { PoisonLoad } from './poison-load.ts';
import { ResultWatch } from './result-watch.ts';
import { ServiceLink } from './service-link.ts';
import { badDay, Weather } from './weather.ts';

export interface ChaosOptions {
  engine: Engine;
  /** Logs and local stores of the processors. */
  directory: string;
  minutes: number;
  seed: number;
  commandsPerSecond: number;
  processors: number;
  types: readonly ChaosType[];
  /** Operations whose key the service honours, and the processors know it. */
  honourKeys: readonly CommandType[];
  /** In each of these intervals poison of every family is put among the commands; null: none. */
  poisonEveryMs: number | null;
  /** How often the coordinator of transactions is lost for a minute; Infinity: never. */
  coordinatorEveryMs: number;
  onProgress: (line: string) => void;
}

const MINUTE_MS = 60_000;
const SESSION_TIMEOUT_MS = 3_000;
const API_TIMEOUT_MS = 2_000;
const SETTLING_TIME_MS = 2_000;
/** Long enough to be executed on a good day; during an outage a two-step quote expires before its execution. */
const QUOTE_LIFETIME_MS = 10_000;
/** Longer than any run: what is not told to expire is to be carried out. */
const MAX_AGES = 'create-quote=24h,execute-quote=24h,transfer-in=24h,reject-transaction=24h';
const SETTLE_MS = 1_000;
/** From healing until the last command is answered: restarts, doubts, back-offs and the backlog of an outage. */
const HEALED_MS_MAX = 180_000;
/** The longest way of a payment after its acceptance, and what was still to take effect late. */
const SETTLED_MS = 8_000;
const REPORT_MS = 30_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosEvidence> {
  const { directory, engine, honourKeys, onProgress } = options;
  await mkdir(join(directory, 'logs'), { recursive: true });
  const stack = await Stack.open({
    name: 'chaos',
    kafkaBrokers: engine.brokers,
    schemaRegistryUrl: engine.registryUrl,
    sandbox: { honourKeys, settleMs: SETTLE_MS, randomSeed: options.seed },
    settings: {
      KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
      KAFKA_HEARTBEAT_INTERVAL_MS: '500',
      API_TIMEOUT_MS: String(API_TIMEOUT_MS),
      SETTLING_TIME_MS: String(SETTLING_TIME_MS),
      API_MAX_CONCURRENCY: '32',
      API_IDEMPOTENT_OPERATIONS: honourKeys.join(','),
      COMMAND_MAX_AGE: MAX_AGES,
      STATE_DIR: join(directory, 'state'),
    },
  });
  const link = await ServiceLink.open(stack.sandbox.port, API_TIMEOUT_MS);
  const environment = {
    ...stack.environment,
    API_BASE_URL: stack.sandbox.baseUrl.replace(`:${stack.sandbox.port}`, `:${link.port}`),
  };
  const fleet = new Fleet(environment, join(directory, 'logs'));
  const results = await ResultWatch.open(stack.settings);
  try {
    return await run(options, { stack, link, fleet, results });
  } finally {
    await Promise.all([fleet.close(), results.close()]);
    await link.close();
    await stack.close();
    onProgress('ended');
  }
}

async function run(
  options: ChaosOptions,
  { stack, link, fleet, results }: { stack: Stack; link: ServiceLink; fleet: Fleet; results: ResultWatch },
): Promise<ChaosEvidence> {
  const { onProgress, seed } = options;
  const durationMs = options.minutes * MINUTE_MS;
  const plan = await makePlan({
    durationMs,
    commandsPerSecond: options.commandsPerSecond,
    types: options.types,
    honourKeys: options.honourKeys,
    random: seededRandom(seed),
    service: stack.service,
    prefix: '',
    isPlain: false,
  });
  await stack.service.set({ quoteLifetimeMs: QUOTE_LIFETIME_MS, approvalMs: SETTLE_MS });
  onProgress(`${plan.commands.length} commands in ${plan.messages.length} messages are prepared`);
  for (let index = 0; index < options.processors; index += 1) await fleet.start();
  await Promise.all(fleet.members.map(({ processor }) => processor.ready()));

  const random = seededRandom(seed + 1);
  const weather = new Weather(stack.service, stack.sandbox.url, link);
  await weather.replace(badDay(random, API_TIMEOUT_MS, SETTLING_TIME_MS));
  const scene: Scene = {
    engine: options.engine,
    stack,
    fleet,
    link,
    weather,
    results,
    random,
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    apiTimeoutMs: API_TIMEOUT_MS,
    settlingTimeMs: SETTLING_TIME_MS,
    onProgress,
  };
  const load = new Load(stack);
  const poison = new PoisonLoad(stack);
  const reporter = setInterval(
    () => onProgress(`${load.published} messages published, ${results.answered.size} commands answered`),
    REPORT_MS,
  );
  const beganMs = performance.now();
  const unanswered = (): string[] =>
    [...plan.commands.map(({ key }) => key), ...poison.awaitedKeys()].filter((key) => !results.answered.has(key));
  try {
    const untilMs = beganMs + durationMs;
    const [disturbed] = await Promise.all([
      disturb(scene, untilMs, options.coordinatorEveryMs),
      load.run(plan.messages),
      options.poisonEveryMs === null ? null : poison.run(options.poisonEveryMs, untilMs),
    ]);
    await weather.replace([]);
    await brokersWhole(stack);
    onProgress(`all is healed; ${unanswered().length} commands are unanswered`);
    const healedAtMs = performance.now();
    await results.watch
      .until(
        () => unanswered().length === 0,
        HEALED_MS_MAX,
        () => 'results',
      )
      .catch(() => onProgress(`still without a result: ${unanswered().slice(0, 20).join(', ')}`));
    const healedMs = Math.round(performance.now() - healedAtMs);
    await delay(SETTLED_MS);
    const states = await Promise.all(fleet.members.map(({ processor }) => processor.readiness().catch(String)));
    await Promise.all(fleet.members.slice().map((member) => fleet.stop(member)));
    return {
      ...(await gatherEvidence(stack)),
      plan,
      poison: poison.evidence(),
      honourKeys: options.honourKeys,
      elapsedMs: Math.round(performance.now() - beganMs),
      healedMs,
      disturbances: disturbed.counts,
      recoveries: disturbed.recoveries,
      coordinatorOutages: disturbed.coordinatorOutages,
      faultHits: weather.hits,
      unclearKeys: link.unclearKeys,
      wasCutAround: (wallMs) => link.wasCutAround(wallMs),
      unclearCalls: link.unclearCalls,
      republished: load.republished,
      processorsStarted: fleet.started,
      residentBytesMax: fleet.residentBytesMax,
      ownEnds: fleet.ownEnds,
      badStops: fleet.badStops,
      readinessAtTheEnd: states,
    };
  } finally {
    clearInterval(reporter);
  }
}
