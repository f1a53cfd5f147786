/**
 * How late status changes are told while nothing is disturbed: `node proofs/chaos/status-delay.ts --open 1000 --minutes 3
 * [--budgets 120,200] [--processors 1] [--poll-interval-ms 5000] [--seed 1] [--json]`.
 *
 * Payments come and go, each open for a minute, so that as many are open all the time as asked for; a part of them is
 * made by others and has to be found. One run for each budget of calls per minute.
 * Uses KAFKA_BROKERS and SCHEMA_REGISTRY_URL if set, else an engine of its own. Exit code 1 when more calls were made in
 * any minute than the budget allows, when a change was told twice, out of order or never, or when the last budget did not
 * keep its bounds: 99 of 100 changes told within two poll intervals and a second, 99 of 100 of what others made found within
 * two poll intervals.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { kafkaAtHand } from '../kafka-at-hand.ts';
import { spreadOf, type Spread } from '../spread.ts';
import { judgeStatusHistory } from './status-history.ts';
import type { PaymentKind } from './status-payments.ts';
import { durationsOf } from './status-report.ts';
import { runStatuses } from './status-scenario.ts';

const { values } = parseArgs({
  options: {
    open: { type: 'string', default: '1000' },
    minutes: { type: 'string', default: '3' },
    budgets: { type: 'string', default: '120,240' },
    processors: { type: 'string', default: '1' },
    'poll-interval-ms': { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
});

const KINDS: readonly PaymentKind[] = ['transfer-in', 'immediate-quote', 'incoming-unannounced'];
const MINUTE_MS = 60_000;
/** Of every payment, from its making to its end; also until as many are open as are to be. */
const LIFE_MS = MINUTE_MS;
const BOUND_INTERVALS = 2;
const BOUND_MARGIN_MS = 1_000;
const WRONG_MAX = 20;

const onProgress = (line: string): void => console.error(line);
const open = Number(values.open);
const measuredMs = Number(values.minutes) * MINUTE_MS;
const intervalMs = Number(values['poll-interval-ms']);
const perSecond = open / (LIFE_MS / 1000);
const budgets = values.budgets.split(',').map(Number);

const logDirectory = await mkdtemp(join(tmpdir(), 'payment-delay-'));
const kafka = await kafkaAtHand(onProgress);
try {
  for (const budget of budgets) {
    const report = await measure(budget);
    console.log(values.json ? JSON.stringify(report, null, 2) : textOf(report));
    // With a smaller budget, delays are to be seen, not to be kept.
    const wrong = [...report.wrong, ...(budget === budgets.at(-1) ? report.beyondBound : [])];
    for (const line of wrong.slice(0, WRONG_MAX)) console.error(`wrong: ${line}`);
    if (wrong.length > 0) process.exitCode = 1;
  }
} finally {
  await kafka.stop();
  await rm(logDirectory, { recursive: true, force: true });
}

async function measure(callsPerMinuteMax: number) {
  const evidence = await runStatuses({
    kafkaBrokers: kafka.kafkaBrokers,
    schemaRegistryUrl: kafka.schemaRegistryUrl,
    logDirectory,
    transactions: Math.ceil(((LIFE_MS + measuredMs) / 1000) * perSecond),
    perSecond,
    processors: Number(values.processors),
    killEveryMs: 0,
    settleMs: LIFE_MS,
    pollIntervalMs: intervalMs,
    callsPerMinuteMax,
    kinds: KINDS,
    troubledShare: 0,
    seed: Number(values.seed),
    onProgress,
  });
  const judgement = judgeStatusHistory(evidence);
  const fromMs = evidence.beganMs + LIFE_MS;
  const polled = judgement.told.filter(
    ({ atMs, observedBy }) => observedBy === 'POLL' && atMs >= fromMs && atMs < fromMs + measuredMs,
  );
  const found = polled.filter(({ isFirst }) => isFirst);
  const changes = spreadOf(polled.filter(({ isFirst }) => !isFirst).map(({ delayMs }) => delayMs));
  const unannounced = spreadOf(found.map(({ delayMs }) => delayMs));
  const foundBoundMs = intervalMs * BOUND_INTERVALS;
  const boundMs = foundBoundMs + BOUND_MARGIN_MS;
  return {
    open,
    intervalMs,
    callsPerMinuteMax,
    callsInAMinuteMax: evidence.listCallsInAMinuteMax,
    callsPerMinute: Math.round((evidence.listCalls / evidence.elapsedMs) * MINUTE_MS),
    changes,
    unannounced,
    /** The next status came before they were seen. */
    skipped: judgement.skippedLastedMs.length,
    boundMs,
    foundBoundMs,
    beyondBound: [
      ...(changes.p99 > boundMs ? [`changes: p99 ${changes.p99} ms, bound ${boundMs} ms`] : []),
      ...(unannounced.p99 > foundBoundMs ? [`found: p99 ${unannounced.p99} ms, bound ${foundBoundMs} ms`] : []),
    ],
    wrong: [
      ...judgement.repeated,
      ...judgement.outOfOrder,
      ...judgement.notFinal,
      ...(evidence.listCallsInAMinuteMax > callsPerMinuteMax
        ? [`${evidence.listCallsInAMinuteMax} calls in a minute, limit ${callsPerMinuteMax}`]
        : []),
      ...evidence.ownEnds.map(({ name }) => `${name} ended by itself`),
    ],
  };
}

function textOf(report: Awaited<ReturnType<typeof measure>>): string {
  const kept = ({ p99 }: Spread, boundMs: number): string =>
    `bound ${boundMs / 1000} s ${p99 <= boundMs ? 'kept' : 'NOT kept'}`;
  return [
    `${report.open} open, ${report.callsPerMinuteMax} calls a minute, interval ${report.intervalMs} ms`,
    `  changes                 ${durationsOf(report.changes)}; ${kept(report.changes, report.boundMs)}`,
    `  made by others, found   ${durationsOf(report.unannounced)}; ${kept(report.unannounced, report.foundBoundMs)}`,
    `  passed unseen           ${report.skipped}`,
    `  calls                   ${report.callsPerMinute} a minute, ${report.callsInAMinuteMax} in any minute at most`,
    `  repeated, out of order  ${report.wrong.length === 0 ? 'none' : `${report.wrong.length} wrong`}`,
  ].join('\n');
}
