/** The outcome of a status run: its figures, and what is wrong. */
import { FAILURE_REASONS } from 'payment-processor-sandbox/scenarios';
import { spreadOf, type Spread } from '../spread.ts';
import { inWords, type SceneReport } from './chaos-report.ts';
import { judgeStatusHistory, type ToldChange } from './status-history.ts';
import { POLL_INTERVAL_MS, type StatusRunEvidence, type StatusRunOptions } from './status-scenario.ts';

/** A change this soon after a kill is reported while other processes are still taking over. */
const KILL_SHADOW_MS = 10_000;
/** With fewer transactions, some statuses and reasons may not occur. */
const COVERING_TRANSACTIONS = 1_000;
const STATUSES = ['CREATED', 'PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'];
/** Limits for 99 in 100 without kills: FOUND for transactions of other clients, TOLD for changes of known ones. */
const FOUND_MS_MAX = 2 * POLL_INTERVAL_MS;
const TOLD_MS_MAX = FOUND_MS_MAX + 1_000;

export function statusReportOf(options: StatusRunOptions, evidence: StatusRunEvidence): SceneReport {
  const judgement = judgeStatusHistory(evidence);
  const { told } = judgement;
  const isNearKill = ({ atMs, delayMs }: ToldChange): boolean =>
    evidence.killsMs.some((killMs) => killMs >= atMs - KILL_SHADOW_MS && killMs <= atMs + delayMs);
  const delaysOf = (changes: readonly ToldChange[]): Spread => spreadOf(changes.map(({ delayMs }) => delayMs));
  const polled = told.filter(({ observedBy }) => observedBy === 'POLL');
  const unannounced = delaysOf(
    told.filter((change) => change.isFirst && evidence.unannounced.has(change.transactionId)),
  );
  const isWhole = options.transactions >= COVERING_TRANSACTIONS && options.troubledShare > 0;
  const missing = (names: readonly string[], found: Readonly<Record<string, number>>): string[] =>
    isWhole ? names.filter((name) => found[name] === undefined).map((name) => `${name} did not occur`) : [];
  // With kills, delays are reported but have no limit.
  const isSteady = options.killEveryMs === 0;
  const late = (what: string, { p99 }: Spread, maxMs: number): string[] =>
    isSteady && p99 > maxMs ? [`${what}: 99 in 100 within ${p99} ms, not ${maxMs} ms`] : [];
  const changesOfKnown = delaysOf(polled.filter(({ isFirst }) => !isFirst));
  const { callsPerMinuteMax } = options;
  return {
    rows: [
      ['transactions', `${evidence.histories.length}, ${evidence.commands} commands, seed ${options.seed}`],
      ['statuses', inWords(judgement.statuses)],
      ['last statuses', inWords(judgement.finalStatuses)],
      ['failure reasons', inWords(judgement.failureReasons)],
      ['changes at the service', `${judgement.changes} of transactions, ${judgement.quoteChanges} of quotes`],
      ['events', `${evidence.transactionEvents.length} of transactions, ${evidence.quoteEvents.length} of quotes`],
      ['passed unseen', `${judgement.skippedLastedMs.length} of transactions, ${judgement.quoteSkipped} of quotes`],
      ['unseen ones lasted', durationsOf(spreadOf(judgement.skippedLastedMs))],
      ['kills', String(evidence.killsMs.length)],
      [
        'calls',
        `${evidence.listCalls}, ${evidence.listCallsInAMinuteMax} in a minute at most (limit ${callsPerMinuteMax})`,
      ],
      ['delay, shown by a command', durationsOf(delaysOf(told.filter(({ observedBy }) => observedBy === 'COMMAND')))],
      ['delay, no kill nearby', durationsOf(delaysOf(polled.filter((change) => !isNearKill(change))))],
      ['delay, a kill nearby', durationsOf(delaysOf(polled.filter(isNearKill)))],
      ['unannounced found after', durationsOf(unannounced)],
      ['all told', `${evidence.toldAfterQuietMs} ms after the service was quiet`],
      ['elapsed', `${Math.round(evidence.elapsedMs / 1000)} s`],
    ],
    wrong: [
      ...judgement.repeated,
      ...judgement.outOfOrder,
      ...judgement.notFinal,
      ...missing(STATUSES, judgement.statuses),
      ...missing(FAILURE_REASONS, judgement.failureReasons),
      ...late('changes', changesOfKnown, TOLD_MS_MAX),
      ...late('found', unannounced, FOUND_MS_MAX),
      ...(evidence.listCallsInAMinuteMax > callsPerMinuteMax
        ? [`${evidence.listCallsInAMinuteMax} calls in a minute, limit ${callsPerMinuteMax}`]
        : []),
      ...(evidence.unanswered > 0 ? [`${evidence.unanswered} commands without a result`] : []),
      ...evidence.ownEnds.map(({ code, name, signal }) => `${name} ended by itself: ${code ?? signal}`),
      ...evidence.badStops.map(({ code, name, signal }) => `${name} did not end in order: ${code ?? signal}`),
    ],
  };
}

function durationsOf({ count, max, p50, p99 }: Spread): string {
  const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return count === 0 ? 'none' : `p50 ${inSeconds(p50)}, p99 ${inSeconds(p99)}, max ${inSeconds(max)} (${count})`;
}
