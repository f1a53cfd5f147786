/**
 * An hour of constant load, with kills (README.md):
 *
 *   opened      topics that forget after minutes, a sandbox whose calls take 30 ms, two processors
 *   load        until the minutes are over; every ten seconds a look at all processes (sampler.ts)
 *   disturbed   the younger process every five minutes: kill -9 twice, then SIGTERM, and so on; the older one once, by SIGTERM
 *   settled     the load ends, every command is answered, both processes are stopped in order
 *   judged      results beside the sandbox's own counts, and nothing that should be flat grew
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from 'payment-processor-local-kafka/start';
import { accountOf, createQuoteOf, transferInOf } from '../../test/support/commands.ts';
import type { Stack } from '../../test/support/stack.ts';
import { changeTopics } from '../../test/support/topic-settings.ts';
import { eventually } from '../../test/support/watch.ts';
import { inWords, type SceneReport } from '../chaos/chaos-report.ts';
import type { Fleet, Member } from '../chaos/fleet.ts';
import { withRig, type Place, type Rig } from '../chaos/rig.ts';
import { SteadyLoad, type Made } from '../steady-load.ts';
import type { Trend } from './flatness.ts';
import { judgeSoak, KIND_AT, kindOf, outcomesOf, type SoakEvidence, type SoakKind } from './judgement.ts';
import { sampled } from './sampler.ts';

const LANES = 6;
const CALL_MS = 30;
/** Shorter runs are tried out with as many disturbances. */
const DISTURBANCES_PER_RUN = 12;
const ANSWERED_MS_MAX = 300_000;
/** Accounts are few, so that the sandbox's own memory does not grow with them. */
const CUSTOMERS = 500;
/** One command of so many, a transfer, is published once more. */
const COPY_EVERY = 40;
const COPY_AFTER_MS = 15_000;
const RETENTION_MS = 600_000;
const SEGMENT_MS = 60_000;
/** What is to be forgotten is forgotten after minutes; by default a store grows for seven days by design. */
const SETTINGS = {
  LEDGER_RETENTION: '10m',
  API_IDEMPOTENCY_RETENTION: '8m',
  COMMAND_MAX_AGE: 'create-quote=5m,execute-quote=5m,transfer-in=5m,reject-transaction=5m,simulate-uma-receive=5m',
  POLL_TERMINAL_FOR: '10m',
  KAFKA_SESSION_TIMEOUT_MS: '6000',
  KAFKA_HEARTBEAT_INTERVAL_MS: '1000',
  API_TIMEOUT_MS: '5000',
  SETTLING_TIME_MS: '2000',
  API_IDEMPOTENT_OPERATIONS: 'transfer-in,create-quote',
  POLL_MAX_CALLS_PER_MINUTE: '600',
};

export async function runSoak(
  place: Place & { engine: Engine },
  options: { minutes: number; commandsPerSecond: number },
): Promise<SceneReport> {
  const sandbox = {
    settleMs: 2_000,
    approvalMs: 60_000,
    quoteLifetimeMs: 60_000,
    idempotencyRetentionMs: 600_000,
    honourKeys: ['transfer-in', 'create-quote'] as const,
  };
  return withRig(place, { name: 'soak', lanes: LANES, sandbox, settings: SETTINGS }, async (rig) => {
    const { fleet, stack } = rig;
    await forgetSoon(stack);
    await stack.service.addFaults({ kind: 'delay', delayMs: CALL_MS, at: 'before' });
    await fleet.startAll(2);
    // The brokers' own topics are there now. They are compacted only behind the open segment, which is 100 MiB by default.
    const internal = { 'segment.bytes': String(4 * 1024 ** 2) };
    await changeTopics(stack.kafka, ['__transaction_state', '__consumer_offsets'], internal);
    return run(place, options, rig);
  });
}

async function forgetSoon(stack: Stack): Promise<void> {
  const segments = { 'segment.ms': String(SEGMENT_MS) };
  await stack.configureTopics(
    { ...segments, 'retention.ms': String(RETENTION_MS) },
    ({ cleanupPolicy }) => cleanupPolicy === 'delete',
  );
  await stack.configureTopics(
    { ...segments, 'max.compaction.lag.ms': String(2 * SEGMENT_MS), 'delete.retention.ms': String(RETENTION_MS) },
    ({ cleanupPolicy }) => cleanupPolicy !== 'delete',
  );
}

async function run(
  place: Place & { engine: Engine },
  { commandsPerSecond, minutes }: { minutes: number; commandsPerSecond: number },
  { fleet, link, results, stack }: Rig,
): Promise<SceneReport> {
  const { onProgress } = place;
  const keyOf = (index: number): string => `${KIND_AT[index % KIND_AT.length]}-${index}`;
  const load = new SteadyLoad(stack, keyOf, commandsPerSecond, (key, index) => made(stack, kindOf(key), index));
  const copies = new SteadyLoad(
    stack,
    (index) => keyOf(index * COPY_EVERY),
    commandsPerSecond / COPY_EVERY,
    (key, index) => made(stack, kindOf(key), index * COPY_EVERY),
  );
  const end = new AbortController();
  const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(':') + 1));
  const sampling = sampled(
    {
      members: fleet.members,
      kafkaPorts: new Set(place.kafkaBrokers.map(portOf)),
      servicePort: link.port,
      stateDirectory: stack.environment['STATE_DIR'] ?? '',
      kafkaDirectory: join(place.engine.directory, 'broker-1', 'data'),
    },
    end.signal,
  );
  load.begin();
  const copying = setTimeout(() => copies.begin(), COPY_AFTER_MS);
  const disturbances = await disturb(fleet, minutes * 60_000, onProgress);
  clearTimeout(copying);
  await Promise.all([load.pause(), copies.pause()]);
  onProgress(`${load.publishedMs.size} commands are published`);
  const isAnswered = (): boolean =>
    [...load.publishedMs.keys()].every((key) => results.first.has(key)) &&
    [...copies.publishedMs.keys()].every((key) => results.first.get(key)?.replays !== 0);
  // What is still unanswered is for the judgement to say.
  await eventually(async () => isAnswered(), Boolean, 'every answer', ANSWERED_MS_MAX).catch(() => undefined);
  end.abort();
  const series = await sampling;
  await writeFile(join(place.directory, 'samples.json'), JSON.stringify(series));
  await fleet.stopAll();
  const evidence: SoakEvidence = {
    published: [...load.publishedMs.keys()],
    copied: [...copies.publishedMs.keys()],
    failed: load.failed + copies.failed,
    first: results.first,
    contradictions: results.contradictions,
    effects: await stack.service.effects(),
    areBooksBalanced: (await stack.service.books()).balanced,
    trends: series.trends(),
  };
  return {
    rows: [
      ['load', `${minutes} min at ${commandsPerSecond} commands per second, ${evidence.copied.length} copies`],
      ['disturbances', inWords(disturbances)],
      ...[...outcomesOf(evidence)].map(([kind, counts]) => [kind, inWords(counts)] as const),
      ...evidence.trends.map((trend) => [`${trend.whose}: ${trend.kind}`, inFigures(trend)] as const),
    ],
    wrong: judgeSoak(evidence),
  };
}

async function made({ service }: Stack, kind: SoakKind, index: number): Promise<Made> {
  const customer = `customer-${index % CUSTOMERS}`;
  switch (kind) {
    case 'transfer-in':
      return { type: kind, fields: { ...transferInOf(customer), destination: { accountId: accountOf(customer) } } };
    case 'create-quote':
      return { type: kind, fields: createQuoteOf(customer) };
    case 'immediate-quote':
      return { type: 'create-quote', fields: { ...createQuoteOf(customer), immediatelyExecute: true } };
    case 'execute-quote': {
      const { id, transactionId } = await service.createQuote(accountOf(customer));
      return { type: kind, fields: { quoteId: id, transactionId } };
    }
    case 'reject-transaction': {
      const { id } = await service.simulateUmaReceive(`Customer:${customer}-x`);
      return { type: kind, fields: { transactionId: id, reason: 'not expected' } };
    }
  }
}

/** @returns how often each, once the time of the run is over */
async function disturb(
  fleet: Fleet,
  lengthMs: number,
  onProgress: (line: string) => void,
): Promise<Record<string, number>> {
  const done = { 'kill -9': 0, SIGTERM: 0 };
  const beganMs = performance.now();
  const intervalMs = lengthMs / DISTURBANCES_PER_RUN;
  const until = (atMs: number): Promise<void> => delay(Math.max(0, beganMs + atMs - performance.now()));
  const act = async (member: Member | undefined, how: keyof typeof done): Promise<void> => {
    if (member === undefined) throw new Error('two processors were started');
    done[how] += 1;
    onProgress(`${how} of ${member.name}`);
    if (how === 'kill -9') await fleet.kill(member);
    else await fleet.stop(member);
    await fleet.start();
  };
  for (let turn = 1; turn < DISTURBANCES_PER_RUN; turn += 1) {
    await until(turn * intervalMs);
    await act(fleet.members[1], turn % 3 === 0 ? 'SIGTERM' : 'kill -9');
    if (turn !== (DISTURBANCES_PER_RUN * 2) / 3) continue;
    await until((turn + 0.5) * intervalMs);
    await act(fleet.members[0], 'SIGTERM');
  }
  await until(lengthMs);
  return done;
}

function inFigures({ max, mean, minutes, rise, riseMax }: Trend): string {
  const [meanText, maxText, riseText, allowed] = [mean, max, rise, riseMax].map((figure) => figure.toFixed(1));
  return `mean ${meanText}, most ${maxText}, rise ${riseText} in ${minutes.toFixed(0)} min; allowed ${allowed}`;
}
