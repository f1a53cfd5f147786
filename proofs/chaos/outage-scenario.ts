/**
 * One outage after the other against the same two processors, under a steady load.
 *
 *   prepared -> for each outage: load begins, outage begins, outage ends, every command has its result -> judged
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from 'payment-processor-local-kafka/start';
import { seededRandom } from 'payment-processor-sandbox/faults';
import type { CommandType } from 'payment-processor-contract/commands';
import { CHAOS_TYPES, makePlan, type ChaosCommand, type ChaosMessage } from './chaos-commands.ts';
import { gatherEvidence, type JudgedEvidence } from './chaos-evidence.ts';
import { Load } from './load.ts';
import type { Outage, OutageScene } from './outage-list.ts';
import { withRig, type Place } from './rig.ts';
import { unseenSchemaEncoder } from './unseen-schema.ts';

export interface OutageRow {
  name: string;
  commands: number;
  /** How many of these were answered during the outage. */
  answeredDuring: number;
  lastedMs: number;
  /** From the outage's end until the last result; null: not within the limit. */
  allAnsweredMs: number | null;
  /** What readiness said during the outage, each reason once. */
  reasons: string[];
  saidWhy: boolean;
}

export interface OutageEvidence extends JudgedEvidence {
  rows: readonly OutageRow[];
  ownEnds: number;
}

const PROCESSORS = 2;
const HONOUR_KEYS: readonly CommandType[] = ['transfer-in'];
const LOAD_MS = 12_000;
const COMMANDS_PER_SECOND = 6;
/** The load runs before the outage begins, and ends after it. */
const BEFORE_MS = 1_500;
const OUTAGE_MS = 9_000;
const READINESS_LOOK_MS = 300;
/** The promise. We wait longer, to tell late from never. */
const ANSWERED_MS_MAX = 30_000;
const WAITED_MS_MAX = 90_000;
const SETTLED_MS = 5_000;

export async function runOutages(
  place: Place & { engine: Engine },
  { outages, seed }: { outages: readonly Outage[]; seed: number },
): Promise<OutageEvidence> {
  const { engine, onProgress } = place;
  const sandbox = { honourKeys: HONOUR_KEYS, settleMs: 500 };
  return withRig(place, { name: 'outages', sandbox }, async (rig) => {
    const { fleet, stack } = rig;
    await fleet.startAll(PROCESSORS);
    const rows: OutageRow[] = [];
    const commands: ChaosCommand[] = [];
    const messages: ChaosMessage[] = [];
    for (const [index, outage] of outages.entries()) {
      const plan = await makePlan({
        durationMs: LOAD_MS,
        commandsPerSecond: COMMANDS_PER_SECOND,
        types: CHAOS_TYPES,
        honourKeys: HONOUR_KEYS,
        random: seededRandom(seed + index),
        service: stack.service,
        prefix: `outage-${index + 1}-`,
        isPlain: true,
      });
      await stack.service.set({ quoteLifetimeMs: 3_600_000, approvalMs: 500 });
      commands.push(...plan.commands);
      messages.push(...plan.messages);
      const row = await runOne({ ...rig, engine }, outage, plan.messages);
      rows.push(row);
      onProgress(`${index + 1}. ${row.name}: all answered after ${row.allAnsweredMs} ms`);
    }
    await delay(SETTLED_MS);
    const ownEnds = fleet.ownEnds.length;
    await fleet.stopAll();
    return { ...(await gatherEvidence(rig)), rows, ownEnds, plan: { commands, messages }, honourKeys: HONOUR_KEYS };
  });
}

export function judgeOutages({ ownEnds, rows }: OutageEvidence): string[] {
  const wrong = rows.flatMap(({ allAnsweredMs, name, saidWhy }) => [
    ...(allAnsweredMs !== null && allAnsweredMs <= ANSWERED_MS_MAX
      ? []
      : [`${name}: all answered after ${allAnsweredMs ?? 'the limit,'} ms, not within ${ANSWERED_MS_MAX} ms`]),
    ...(saidWhy ? [] : [`${name}: readiness did not say why`]),
  ]);
  return ownEnds === 0 ? wrong : [...wrong, `${ownEnds} processors ended by themselves`];
}

async function runOne(scene: OutageScene, outage: Outage, messages: readonly ChaosMessage[]): Promise<OutageRow> {
  const { fleet, results } = scene;
  const keys = messages.map(({ command }) => command.key);
  const answered = (): number => keys.filter((key) => results.first.has(key)).length;
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
      WAITED_MS_MAX,
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
