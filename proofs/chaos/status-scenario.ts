/**
 * Payments live through the service's whole life while the processors that tell of it are killed in turn.
 *
 *   prepared   topics, a sandbox with short lives, processors up; what exists from now on is announced
 *   live       payments are made at their pace, every kill interval the processor that lives longest is killed
 *   quiet      nothing is going to happen at the service any more: no more kills
 *   told       until the events say what the service says, or the limit
 *   rest       a while longer: what is told twice would come now
 *   evidence   what a new reader finds, and the service's own history of every payment
 */
import { setTimeout as delay } from 'node:timers/promises';
import { subscribe, type PaymentEvent } from '../../src/client/index.ts';
import { readConfig } from '../../src/config.ts';
import { laneSettings } from '../../src/lanes/lane-settings.ts';
import { heldForMsMax } from '../../src/lanes/poller-link.ts';
import { seededRandom } from '../../dev/sandbox/faults.ts';
import type { QuoteEvent, ResultEvent, TransactionEvent } from '../../test/support/journal.ts';
import { Stack } from '../../test/support/stack.ts';
import { Fleet, type OwnEnd } from './fleet.ts';
import { ListCalls } from './list-calls.ts';
import { actsOf, type NamedEvidence } from './named-commands.ts';
import { ResultWatch } from './result-watch.ts';
import type { StatusEvidence } from './status-history.ts';
import { correlationIdOf, StatusLoad } from './status-load.ts';
import { planPayments, type PaymentKind } from './status-payments.ts';

export interface StatusRunOptions {
  kafkaBrokers: readonly string[];
  schemaRegistryUrl: string;
  /** Logs of the processors. */
  logDirectory: string;
  transactions: number;
  perSecond: number;
  processors: number;
  /** 0: no kills. */
  killEveryMs: number;
  /** The sandbox's times: of settlement, of approval. */
  settleMs: number;
  pollIntervalMs: number;
  callsPerMinuteMax: number;
  kinds: readonly PaymentKind[];
  /** 0 to 1: of the payments that fail, are rejected, refunded or slow. */
  troubledShare: number;
  seed: number;
  onProgress: (line: string) => void;
}

export interface StatusRunEvidence extends StatusEvidence, NamedEvidence {
  commands: number;
  /** Commands without a result. */
  unanswered: number;
  unannounced: ReadonlySet<string>;
  /** When, on the wall clock. */
  killsMs: readonly number[];
  /** Pages that the service was asked for. */
  listCalls: number;
  listCallsInAMinuteMax: number;
  ownEnds: readonly OwnEnd[];
  badStops: readonly OwnEnd[];
  /** When the first payment was made, on the wall clock. */
  beganMs: number;
  elapsedMs: number;
  /** From the last change at the service until the events said the same. */
  toldAfterQuietMs: number;
}

const QUOTE_LIFETIME_MS = 60_000;
/** The watch of ended payments is slow: reversals every 12 intervals, the sweep every 60. */
const TOLD_INTERVALS_MAX = 150;
const LOOK_MS = 3_000;
const REST_MS = 20_000;
const REPORT_MS = 15_000;

export async function runStatuses(options: StatusRunOptions): Promise<StatusRunEvidence> {
  const stack = await Stack.open({
    name: 'status',
    kafkaBrokers: options.kafkaBrokers,
    schemaRegistryUrl: options.schemaRegistryUrl,
    sandbox: {
      settleMs: options.settleMs,
      approvalMs: options.settleMs,
      quoteLifetimeMs: QUOTE_LIFETIME_MS,
    },
    settings: {
      POLL_INTERVAL_MS: String(options.pollIntervalMs),
      POLL_MAX_CALLS_PER_MINUTE: String(options.callsPerMinuteMax),
      POLL_START: new Date().toISOString(),
    },
  });
  const listCalls = new ListCalls(stack.sandbox.port);
  const load = new StatusLoad(stack);
  const results = await ResultWatch.open(stack.settings, (event) => load.takeResult(event));
  const fleet = new Fleet(stack.environment, options.logDirectory);
  try {
    return await run(options, { stack, load, fleet, listCalls });
  } finally {
    await Promise.all([fleet.close(), results.close()]);
    listCalls.close();
    await stack.close();
  }
}

async function run(
  options: StatusRunOptions,
  parts: { stack: Stack; load: StatusLoad; fleet: Fleet; listCalls: ListCalls },
): Promise<StatusRunEvidence> {
  const { fleet, listCalls, load, stack } = parts;
  const { onProgress } = options;
  const payments = planPayments({
    count: options.transactions,
    perSecond: options.perSecond,
    followsWithinMs: options.settleMs,
    kinds: options.kinds,
    troubledShare: options.troubledShare,
    random: seededRandom(options.seed),
  });
  for (let index = 0; index < options.processors; index += 1) await fleet.start();
  await Promise.all(fleet.members.map(({ processor }) => processor.ready()));
  const beganMs = performance.now();
  const beganWallMs = Date.now();
  const killsMs: number[] = [];
  const quiet = new AbortController();
  const reporter = setInterval(() => {
    onProgress(
      `${load.keys.size} commands, ${stack.journal.transactionEvents().length} changes told, ${killsMs.length} kills`,
    );
  }, REPORT_MS);
  try {
    const killing = killInTurn(fleet, options.killEveryMs, quiet.signal, killsMs);
    const finished = (async () => {
      await load.run(payments);
      while ((await stack.service.books()).scheduledSteps > 0) await delay(LOOK_MS);
    })();
    await Promise.race([finished, killing.then(() => finished)]);
    quiet.abort();
    await killing;
    onProgress(`the service is quiet after ${seconds(performance.now() - beganMs)} s and ${killsMs.length} kills`);
    const quietMs = performance.now();
    await untilTold(stack, quietMs + options.pollIntervalMs * TOLD_INTERVALS_MAX);
    const toldAfterQuietMs = Math.round(performance.now() - quietMs);
    onProgress(`told after another ${seconds(toldAfterQuietMs)} s`);
    await delay(REST_MS);
    await Promise.all(fleet.members.slice().map((member) => fleet.stop(member)));
    return {
      ...(await gather(stack, load)),
      commands: load.keys.size,
      unanswered: load.unanswered(),
      unannounced: load.unannounced,
      killsMs,
      listCalls: listCalls.atMs.length,
      listCallsInAMinuteMax: listCalls.mostInAMinute(),
      ownEnds: fleet.ownEnds,
      badStops: fleet.badStops,
      beganMs: beganWallMs,
      elapsedMs: Math.round(performance.now() - beganMs),
      toldAfterQuietMs,
    };
  } finally {
    clearInterval(reporter);
    quiet.abort();
  }
}

/** Until told to end: the processor that has lived longest, and another in its place. */
async function killInTurn(fleet: Fleet, everyMs: number, end: AbortSignal, killsMs: number[]): Promise<void> {
  if (everyMs === 0) return;
  for (;;) {
    await delay(everyMs, undefined, { signal: end }).catch(() => undefined);
    const [victim] = fleet.members;
    if (end.aborted) return;
    if (victim === undefined) continue;
    killsMs.push(Date.now());
    await fleet.kill(victim);
    await fleet.start();
  }
}

/** Gives up at the limit: then the judgement says what was not told. */
async function untilTold(stack: Stack, limitMs: number): Promise<void> {
  for (;;) {
    const histories = await stack.service.histories();
    const told = new Map(stack.journal.transactionEvents().map(({ key, value }) => [key, value.status]));
    const toldQuotes = new Map(stack.journal.quoteEvents().map(({ key, value }) => [key, value.status]));
    const isTold = histories.every(
      ({ history, id, quote }) =>
        told.get(id) === history.at(-1)?.status &&
        (quote === null || toldQuotes.get(quote.id) === quote.history.at(-1)?.status),
    );
    if (isTold || performance.now() > limitMs) return;
    await delay(LOOK_MS);
  }
}

/** Read anew from the beginning: what any other reader would find. */
async function gather(stack: Stack, load: StatusLoad): Promise<StatusEvidence & NamedEvidence> {
  const events: PaymentEvent[] = [];
  const subscription = await subscribe(stack.settings, {
    streams: ['results', 'transaction-status', 'quote-status'],
    start: { from: 'beginning' },
    untilEnd: true,
    onEvent: (event) => void events.push(event),
  });
  await subscription.ended;
  await subscription.close();
  const histories = await stack.service.histories();
  const processor = readConfig(stack.environment);
  if (!processor.ok) throw new Error(processor.problems.join('; '));
  return {
    topicPrefix: stack.settings.TOPIC_PREFIX,
    histories,
    transactionEvents: events.filter((event): event is TransactionEvent => event.kind === 'transaction-status'),
    quoteEvents: events.filter((event): event is QuoteEvent => event.kind === 'quote-status'),
    results: events.filter((event): event is ResultEvent => event.kind === 'result'),
    acts: actsOf(await stack.service.effects(), histories),
    subjectOf: () => null,
    correlationIdOf: (key) => (load.keys.has(key) ? correlationIdOf(key) : undefined),
    heldForMsMax: heldForMsMax(laneSettings(processor.config)),
  };
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
