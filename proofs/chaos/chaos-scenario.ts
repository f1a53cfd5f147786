/**
 * Processors, brokers, registry and service fail at random while commands come in; then all is healed and judged.
 *
 *   prepared    topics, quotes to execute, payments to reject, processors up
 *   disturbed   commands are published at their times; one disturbance after the other
 *   healed      everything is up and faultless; until every command has a result, or the limit
 *   stopped     processors end in order; payments have settled
 *   evidence    what a new reader finds, and the service's own books
 */
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from 'payment-processor-sandbox/faults';
import type { CommandType } from 'payment-processor-contract/commands';
import type { Fault } from '../../test/support/sandbox-control.ts';
import type { Stack } from '../../test/support/stack.ts';
import { makePlan, type ChaosType, type Plan } from './chaos-commands.ts';
import { gatherEvidence, type ChaosEvidence, type Gathered } from './chaos-evidence.ts';
import { brokersWhole, disturb, type DisturbanceName } from './disturbances.ts';
import { Lives, type LivesOptions } from './lives.ts';
import { Load } from './load.ts';
import { PoisonLoad } from './poison-load.ts';
import { withRig, type Place, type Rig } from './rig.ts';
import { badDay, Weather } from './weather.ts';

export interface ChaosOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly commandsPerSecond: number;
  readonly processors: number;
  readonly types: readonly ChaosType[];
  /** Operations whose key the service honours; the processors are configured for it. */
  readonly honourKeys: readonly CommandType[];
  /** The disturbances to draw from; empty: none. */
  readonly disturbances: readonly DisturbanceName[];
  /** The service has no faults, so each command must be ACCEPTED. Only processors and infrastructure fail. */
  readonly isPlain: boolean;
  /** Poison of every family is published once per interval; null: no poison. */
  readonly poisonEveryMs: number | null;
  /** The interval between losses of the transaction coordinator, each a minute long; Infinity: no losses. */
  readonly coordinatorEveryMs: number;
  /** The longest pause between two disturbances. */
  readonly pauseMsMax?: number;
  /** Payments live through the service's whole life, and each change must be told. */
  readonly lives?: LivesOptions;
  /** The processors go on until this is true of what a reader finds, or the limit is over. */
  readonly isTold?: (found: Pick<Gathered, 'results' | 'transactionEvents'>) => boolean;
}

const MINUTE_MS = 60_000;
/** Normally long enough; during an outage, a two-step quote expires before its execution. */
const QUOTE_LIFETIME_MS = 10_000;
const LONG_MS = 3_600_000;
/** Quotes that nobody executes expire while their run lasts, and prepared ones well after their command. */
const LIVES_QUOTE_MS = 60_000;
/** Longer than any run: a command that is not made to expire must be carried out. */
const MAX_AGES = 'create-quote=24h,execute-quote=24h,transfer-in=24h,reject-transaction=24h';
const SETTLE_MS = 1_000;
/** From healing until the last command is answered: restarts, doubts, back-offs and the backlog of an outage. */
const HEALED_MS_MAX = 180_000;
/** The longest life of a payment after its acceptance, plus calls that take effect late. */
const SETTLED_MS = 8_000;
/** The same if the service has no faults and the wire loses nothing. */
const PLAIN_SETTLED_MS = 2_000;
const REPORT_MS = 30_000;
/** Half of the calls take effect late, half answer late, so that kills hit calls before and after their effect. */
const SLOW_CALLS: readonly Fault[] = [
  { kind: 'delay', delayMs: 300, at: 'before', share: 0.5 },
  { kind: 'delay', delayMs: 300, at: 'after' },
];

export async function runChaos(place: Place, options: ChaosOptions): Promise<ChaosEvidence> {
  const { honourKeys, lives, seed } = options;
  const rigOptions = {
    name: 'chaos',
    isRead: lives !== undefined || options.isTold !== undefined,
    sandbox: { honourKeys, settleMs: lives?.settleMs ?? SETTLE_MS, randomSeed: seed },
    settings: {
      API_MAX_CONCURRENCY: '32',
      API_IDEMPOTENT_OPERATIONS: honourKeys.join(','),
      COMMAND_MAX_AGE: MAX_AGES,
      ...(lives === undefined ? {} : Lives.settings(lives)),
    },
  };
  return withRig(place, rigOptions, (rig) => run(place, options, rig));
}

async function run(place: Place, options: ChaosOptions, rig: Rig): Promise<ChaosEvidence> {
  const { fleet, link, results, stack } = rig;
  const { isPlain, lives: livesOptions, seed } = options;
  const { onProgress } = place;
  const durationMs = options.minutes * MINUTE_MS;
  const plan = await makePlan({
    durationMs,
    commandsPerSecond: options.commandsPerSecond,
    types: options.types,
    honourKeys: options.honourKeys,
    random: seededRandom(seed),
    service: stack.service,
    prefix: '',
    isPlain,
    ...(livesOptions === undefined
      ? {}
      : { laterShare: livesOptions.laterShare, preparedForMs: durationMs + 2 * LIVES_QUOTE_MS }),
  });
  await stack.service.set(
    livesOptions === undefined
      ? { quoteLifetimeMs: isPlain ? LONG_MS : QUOTE_LIFETIME_MS, approvalMs: SETTLE_MS }
      : { quoteLifetimeMs: LIVES_QUOTE_MS, approvalMs: livesOptions.settleMs },
  );
  onProgress(`${plan.commands.length} commands in ${plan.messages.length} messages are prepared`);
  await fleet.startAll(options.processors);
  const lives = livesOptions === undefined ? null : new Lives(stack, livesOptions);

  const random = seededRandom(seed + 1);
  const weather = new Weather(stack.service, link);
  const faults = (): readonly Fault[] => (lives !== null ? [] : isPlain ? SLOW_CALLS : badDay(random));
  await weather.replace(faults());
  const load = new Load(stack);
  const poison = new PoisonLoad(stack);
  const reporter = setInterval(
    () => onProgress(`${load.published} messages published, ${results.first.size} commands answered`),
    REPORT_MS,
  );
  const beganMs = performance.now();
  const unanswered = (): string[] =>
    [...plan.commands.map(({ key }) => key), ...poison.awaitedKeys()].filter((key) => !results.first.has(key));
  try {
    const untilMs = beganMs + durationMs;
    const [disturbed] = await Promise.all([
      disturb({ ...rig, ...place, weather, faults, random }, options, untilMs),
      load.run(plan.messages),
      options.poisonEveryMs === null ? null : poison.run(options.poisonEveryMs, untilMs),
      lives?.makeOthers(seededRandom(seed + 2), untilMs),
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
    await delay(isPlain ? PLAIN_SETTLED_MS : SETTLED_MS);
    await lives?.over(onProgress);
    await untilTold(options, plan, stack).catch((error: unknown) => onProgress(String(error)));
    const states = await Promise.all(fleet.members.map(({ processor }) => processor.readiness().catch(String)));
    await fleet.stopAll();
    return {
      ...(await gatherEvidence(rig)),
      plan,
      poison: poison.evidence(options.honourKeys.includes('transfer-in')),
      honourKeys: options.honourKeys,
      elapsedMs: Math.round(performance.now() - beganMs),
      healedMs,
      disturbances: disturbed.counts,
      recoveries: disturbed.recoveries,
      coordinatorOutages: disturbed.coordinatorOutages,
      faultHits: weather.hits,
      unclearCalls: link.unclearCalls,
      republished: load.republished,
      processorsStarted: fleet.started,
      ownEnds: fleet.ownEnds,
      readinessAtTheEnd: states,
      lives: (await lives?.evidence()) ?? null,
    };
  } finally {
    clearInterval(reporter);
    lives?.close();
  }
}

async function untilTold({ isTold }: ChaosOptions, { commands }: Plan, { journal }: Stack): Promise<void> {
  if (isTold === undefined) return;
  const found = () => ({ results: journal.results(), transactionEvents: journal.transactionEvents() });
  await journal.until(() => journal.resultCount() >= commands.length && isTold(found()), 'what must be told');
}
