/**
 * Payments live through the service's whole life while the processors that report it are killed in turn.
 *
 *   prepared   topics, a sandbox with short lives, processors up; what exists from now on is announced
 *   live       payments are made at their pace; in each kill interval the oldest processor is killed
 *   quiet      no more changes at the service, and no more kills
 *   reported   until the events say what the service says, or the limit
 *   rest       a while longer: a duplicate event would come now
 *   evidence   what a new reader finds, and the service's own history of every payment
 */
import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from 'payment-processor-sandbox/faults';
import type { ResultEvent } from '../../test/support/journal.ts';
import type { Stack } from '../../test/support/stack.ts';
import { gatherEvidence, type Gathered } from './chaos-evidence.ts';
import type { Fleet, OwnEnd } from './fleet.ts';
import { withRig, type Place, type Rig } from './rig.ts';
import { ListCalls } from './list-calls.ts';
import type { StatusEvidence } from './status-history.ts';
import { StatusLoad } from './status-load.ts';
import { planPayments, type PaymentKind } from './status-payments.ts';

export interface StatusRunOptions {
  transactions: number;
  perSecond: number;
  processors: number;
  /** 0: no kills. */
  killEveryMs: number;
  /** The sandbox's settlement and approval time. */
  settleMs: number;
  callsPerMinuteMax: number;
  kinds: readonly PaymentKind[];
  /** 0 to 1: the share of payments that fail, are rejected, refunded or slow. */
  troubledShare: number;
  seed: number;
}

export const POLL_INTERVAL_MS = 5_000;

export interface StatusRunEvidence extends Gathered, Omit<StatusEvidence, keyof Gathered> {
  commands: number;
  /** Commands without a result. */
  unanswered: number;
  unannounced: ReadonlySet<string>;
  /** When the kills were, on the wall clock. */
  killsMs: readonly number[];
  /** How many pages the service was asked for. */
  listCalls: number;
  listCallsInAMinuteMax: number;
  ownEnds: readonly OwnEnd[];
  elapsedMs: number;
  /** From the last change at the service until the events said the same. */
  toldAfterQuietMs: number;
}

const QUOTE_LIFETIME_MS = 60_000;
/** Ended payments are polled rarely: reversals every 12 intervals, the sweep every 60. */
const TOLD_INTERVALS_MAX = 150;
const LOOK_MS = 3_000;
const REST_MS = 20_000;
const REPORT_MS = 15_000;

export async function runStatuses(place: Place, options: StatusRunOptions): Promise<StatusRunEvidence> {
  let load: StatusLoad | null = null;
  const rigOptions = {
    name: 'status',
    isRead: true,
    sandbox: { settleMs: options.settleMs, approvalMs: options.settleMs, quoteLifetimeMs: QUOTE_LIFETIME_MS },
    settings: {
      POLL_INTERVAL_MS: String(POLL_INTERVAL_MS),
      POLL_MAX_CALLS_PER_MINUTE: String(options.callsPerMinuteMax),
      POLL_START: new Date().toISOString(),
    },
    onResult: (event: ResultEvent) => load?.takeResult(event),
  };
  return withRig(place, rigOptions, async (rig) => {
    const listCalls = new ListCalls(rig.stack.sandbox.port);
    load = new StatusLoad(rig.stack);
    return run(options, { ...rig, load, listCalls, onProgress: place.onProgress }).finally(() => listCalls.close());
  });
}

async function run(
  options: StatusRunOptions,
  parts: Rig & { load: StatusLoad; listCalls: ListCalls } & Pick<Place, 'onProgress'>,
): Promise<StatusRunEvidence> {
  const { fleet, listCalls, load, onProgress, stack } = parts;
  const payments = planPayments({
    count: options.transactions,
    perSecond: options.perSecond,
    followsWithinMs: options.settleMs,
    kinds: options.kinds,
    troubledShare: options.troubledShare,
    random: seededRandom(options.seed),
  });
  await fleet.startAll(options.processors);
  const beganMs = performance.now();
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
    await untilTold(stack, quietMs + POLL_INTERVAL_MS * TOLD_INTERVALS_MAX);
    const toldAfterQuietMs = Math.round(performance.now() - quietMs);
    onProgress(`told after another ${seconds(toldAfterQuietMs)} s`);
    await delay(REST_MS);
    await fleet.stopAll();
    return {
      ...(await gatherEvidence(parts)),
      topicPrefix: stack.settings.TOPIC_PREFIX,
      histories: await stack.service.histories(),
      commands: load.keys.size,
      unanswered: load.unanswered(),
      unannounced: load.unannounced,
      killsMs,
      listCalls: listCalls.atMs.length,
      listCallsInAMinuteMax: listCalls.mostInAMinute(),
      ownEnds: fleet.ownEnds,
      elapsedMs: Math.round(performance.now() - beganMs),
      toldAfterQuietMs,
    };
  } finally {
    clearInterval(reporter);
    quiet.abort();
  }
}

/** Until `end`, kills the oldest processor and starts a replacement. */
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

/** Gives up at the limit: then the judgement says which changes no event reported. */
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

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
