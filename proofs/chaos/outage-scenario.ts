/**
 * One outage after the other against the same two processors, under a steady load.
 *
 *   prepared -> for each outage: load begins, outage begins, outage ends, every command has its result -> judged
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../../dev/sandbox/faults.ts';
import type { CommandType } from '../../src/records/commands.ts';
import { Stack } from '../../test/support/stack.ts';
import { CHAOS_TYPES, makePlan, type ChaosCommand, type ChaosMessage } from './chaos-commands.ts';
import { gatherEvidence, type JudgedEvidence } from './chaos-evidence.ts';
import { Fleet } from './fleet.ts';
import { Load } from './load.ts';
import type { Outage, OutageScene } from './outage-list.ts';
import { ResultWatch } from './result-watch.ts';
import { ServiceLink } from './service-link.ts';
import { unseenSchemaEncoder } from './unseen-schema.ts';

export interface OutageRow {
  name: string;
  commands: number;
  /** Of these, answered while it lasted. */
  answeredDuring: number;
  lastedMs: number;
  /** From its end until the last result; null: not within the limit. */
  allAnsweredMs: number | null;
  /** What readiness said while it lasted, each reason once. */
  reasons: string[];
  saidWhy: boolean;
}

export interface OutageEvidence extends JudgedEvidence {
  rows: readonly OutageRow[];
  ownEnds: number;
}

export interface OutageOptions {
  engine: OutageScene['engine'];
  directory: string;
  outages: readonly Outage[];
  seed: number;
  onProgress: (line: string) => void;
}

const PROCESSORS = 2;
const API_TIMEOUT_MS = 2_000;
const HONOUR_KEYS: readonly CommandType[] = ['transfer-in'];
const LOAD_MS = 12_000;
const COMMANDS_PER_SECOND = 6;
/** The load runs before the outage begins, and ends after it. */
const BEFORE_MS = 1_500;
const OUTAGE_MS = 9_000;
const READINESS_LOOK_MS = 300;
/** The promise is 30 s; waited for longer to tell late from never. */
const ANSWERED_MS_MAX = 90_000;
const SETTLED_MS = 5_000;

export async function runOutages(options: OutageOptions): Promise<OutageEvidence> {
  const { directory, engine } = options;
  await mkdir(join(directory, 'logs'), { recursive: true });
  const stack = await Stack.open({
    name: 'outages',
    kafkaBrokers: engine.brokers,
    schemaRegistryUrl: engine.registryUrl,
    sandbox: { honourKeys: HONOUR_KEYS, settleMs: 500 },
    settings: {
      KAFKA_SESSION_TIMEOUT_MS: '3000',
      KAFKA_HEARTBEAT_INTERVAL_MS: '500',
      API_TIMEOUT_MS: String(API_TIMEOUT_MS),
      SETTLING_TIME_MS: '2000',
      STATE_DIR: join(directory, 'state'),
    },
  });
  const link = await ServiceLink.open(stack.sandbox.port, API_TIMEOUT_MS);
  const apiBaseUrl = stack.sandbox.baseUrl.replace(`:${stack.sandbox.port}`, `:${link.port}`);
  const fleet = new Fleet({ ...stack.environment, API_BASE_URL: apiBaseUrl }, join(directory, 'logs'));
  const results = await ResultWatch.open(stack.settings);
  try {
    for (let index = 0; index < PROCESSORS; index += 1) await fleet.start();
    await Promise.all(fleet.members.map(({ processor }) => processor.ready()));
    const rows: OutageRow[] = [];
    const commands: ChaosCommand[] = [];
    const messages: ChaosMessage[] = [];
    for (const [index, outage] of options.outages.entries()) {
      const plan = await makePlan({
        durationMs: LOAD_MS,
        commandsPerSecond: COMMANDS_PER_SECOND,
        types: CHAOS_TYPES,
        honourKeys: HONOUR_KEYS,
        random: seededRandom(options.seed + index),
        service: stack.service,
        prefix: `outage-${index + 1}-`,
        isPlain: true,
      });
      await stack.service.set({ quoteLifetimeMs: 3_600_000, approvalMs: 500 });
      commands.push(...plan.commands);
      messages.push(...plan.messages);
      const row = await runOne({ engine, stack, link }, outage, plan.messages, fleet, results);
      rows.push(row);
      options.onProgress(`${index + 1}. ${row.name}: all answered after ${row.allAnsweredMs} ms`);
    }
    await delay(SETTLED_MS);
    const ownEnds = fleet.ownEnds.length;
    await Promise.all(fleet.members.slice().map((member) => fleet.stop(member)));
    return {
      ...(await gatherEvidence(stack)),
      rows,
      ownEnds,
      plan: { commands, messages },
      honourKeys: HONOUR_KEYS,
      unclearKeys: link.unclearKeys,
      wasCutAround: (wallMs) => link.wasCutAround(wallMs),
      residentBytesMax: fleet.residentBytesMax,
      badStops: fleet.badStops,
    };
  } finally {
    await Promise.all([fleet.close(), results.close()]);
    await link.close();
    await stack.close();
  }
}

async function runOne(
  scene: OutageScene,
  outage: Outage,
  messages: readonly ChaosMessage[],
  fleet: Fleet,
  results: ResultWatch,
): Promise<OutageRow> {
  const keys = messages.map(({ command }) => command.key);
  const answered = (): number => keys.filter((key) => results.answered.has(key)).length;
  const reasons = new Set<string>();
  const encoder = outage.hasUnknownSchema === true ? await unseenSchemaEncoder(scene.stack) : null;
  const load = new Load(scene.stack, encoder);
  const loaded = load.run(messages);
  loaded.catch(() => undefined);
  await delay(BEFORE_MS);
  const answeredBefore = answered();
  await outage.begin(scene);
  const beganMs = performance.now();
  while (performance.now() - beganMs < OUTAGE_MS) {
    await delay(READINESS_LOOK_MS);
    for (const { processor } of fleet.members) {
      const found = await processor.readiness().catch(() => null);
      for (const reason of found?.reasons ?? []) reasons.add(reason);
    }
  }
  const answeredDuring = answered() - answeredBefore;
  const lastedMs = Math.round(performance.now() - beganMs);
  await outage.end(scene);
  const endedMs = performance.now();
  await loaded;
  const isAnswered = await results.watch
    .until(
      () => answered() === keys.length,
      ANSWERED_MS_MAX,
      () => 'results',
    )
    .then(() => true)
    .catch(() => false);
  const { readiness } = outage;
  return {
    name: outage.name,
    commands: keys.length,
    answeredDuring,
    lastedMs,
    allAnsweredMs: isAnswered ? Math.round(performance.now() - endedMs) : null,
    reasons: [...reasons],
    saidWhy: readiness === null || [...reasons].some((reason) => readiness.test(reason)),
  };
}
