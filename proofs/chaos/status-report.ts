/** What became of payments that lived through the service's whole life: figures, and what is wrong. */
import { FAILURE_REASONS } from 'payment-processor-sandbox/scenarios';
import { spreadOf, type Spread } from '../spread.ts';
import type { ChaosEvidence } from './chaos-evidence.ts';
import { inWords, type SceneReport } from './chaos-report.ts';
import { POLL_INTERVAL_MS, type LivesEvidence, type LivesOptions } from './lives.ts';
import { judgeStatusHistory, type ToldChange } from './status-history.ts';

/** A change this soon after a kill is reported while other processes are still taking over. */
const KILL_SHADOW_MS = 10_000;
/** With fewer transactions, some statuses and reasons may not occur. */
const COVERING_TRANSACTIONS = 1_000;
const STATUSES = ['CREATED', 'PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'];
/** Limits for 99 in 100 without kills: FOUND for transactions of other clients, TOLD for changes of known ones. */
const FOUND_MS_MAX = 2 * POLL_INTERVAL_MS;
const TOLD_MS_MAX = FOUND_MS_MAX + 1_000;

export function statusReportOf(options: LivesOptions, evidence: ChaosEvidence, lives: LivesEvidence): SceneReport {
  const judgement = judgeStatusHistory({ ...evidence, ...lives });
  // Quotes and payments that were prepared before are no measure.
  const told = judgement.told.filter(({ atMs }) => atMs >= lives.beganMs);
  const killsMs = evidence.recoveries.map(({ atMs }) => atMs);
  const isNearKill = ({ atMs, delayMs }: ToldChange): boolean =>
    killsMs.some((killMs) => killMs >= atMs - KILL_SHADOW_MS && killMs <= atMs + delayMs);
  const delaysOf = (changes: readonly ToldChange[]): Spread => spreadOf(changes.map(({ delayMs }) => delayMs));
  const polled = told.filter(({ observedBy }) => observedBy === 'POLL');
  const unannounced = delaysOf(told.filter((change) => change.isFirst && lives.unannounced.has(change.transactionId)));
  const isWhole = lives.histories.length >= COVERING_TRANSACTIONS && options.laterShare > 0;
  const missing = (names: readonly string[], found: Readonly<Record<string, number>>): string[] =>
    isWhole ? names.filter((name) => found[name] === undefined).map((name) => `${name} did not occur`) : [];
  // With kills, delays are reported but have no limit.
  const late = (what: string, { p99 }: Spread, maxMs: number): string[] =>
    killsMs.length === 0 && p99 > maxMs ? [`${what}: 99 in 100 within ${p99} ms, not ${maxMs} ms`] : [];
  const { callsPerMinuteMax } = options;
  const calls = `${lives.listCallsInAMinuteMax} calls in a minute at most, limit ${callsPerMinuteMax}`;
  return {
    rows: [
      ['transactions', `${lives.histories.length}, ${lives.unannounced.size} of another client`],
      ['statuses', inWords(judgement.statuses)],
      ['failure reasons', inWords(judgement.failureReasons)],
      ['changes at the service', `${judgement.changes} of transactions, ${judgement.quoteChanges} of quotes`],
      ['passed unseen', `${judgement.skippedLastedMs.length} of transactions, ${judgement.quoteSkipped} of quotes`],
      ['unseen ones lasted', durationsOf(spreadOf(judgement.skippedLastedMs))],
      ['pages', `${lives.listCalls}, ${calls}`],
      ['delay, shown by a command', durationsOf(delaysOf(told.filter(({ observedBy }) => observedBy === 'COMMAND')))],
      ['delay, no kill nearby', durationsOf(delaysOf(polled.filter((change) => !isNearKill(change))))],
      ['delay, a kill nearby', durationsOf(delaysOf(polled.filter(isNearKill)))],
      ['unannounced found after', durationsOf(unannounced)],
      ['all told', `${lives.toldAfterQuietMs} ms after the service was quiet`],
    ],
    wrong: [
      ...judgement.wrong,
      ...missing(STATUSES, judgement.statuses),
      ...missing(FAILURE_REASONS, judgement.failureReasons),
      ...late('changes', delaysOf(polled.filter(({ isFirst }) => !isFirst)), TOLD_MS_MAX),
      ...late('found', unannounced, FOUND_MS_MAX),
      ...(lives.listCallsInAMinuteMax > callsPerMinuteMax ? [calls] : []),
      ...evidence.ownEnds.map(({ code, name, signal }) => `${name} ended by itself: ${code ?? signal}`),
    ],
  };
}

function durationsOf({ count, max, p50, p99 }: Spread): string {
  const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return count === 0 ? 'none' : `p50 ${inSeconds(p50)}, p99 ${inSeconds(p99)}, max ${inSeconds(max)} (${count})`;
}
