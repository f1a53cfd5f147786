/** The figures of a status run, as a record and as text. */
import { spreadOf, type Spread } from '../spread.ts';
import type { TransactionEvent } from '../../test/support/journal.ts';
import { judgeNamedCommands } from './named-commands.ts';
import type { StatusJudgement, ToldChange } from './status-history.ts';
import type { StatusRunEvidence, StatusRunOptions } from './status-scenario.ts';

/** Problems listed at most; a thousand of the same help nobody. */
const WRONG_MAX = 50;
/** A change so soon after a kill is told by those who are still taking over. */
const KILL_SHADOW_MS = 10_000;

export type StatusReport = ReturnType<typeof statusReportOf>;

/** @param due what has to have occurred, so that the run shows all that it is to show */
export function statusReportOf(
  options: StatusRunOptions,
  evidence: StatusRunEvidence,
  judgement: StatusJudgement,
  due: { statuses: readonly string[]; failureReasons: readonly string[] },
) {
  const { told } = judgement;
  const isNearKill = ({ atMs, delayMs }: ToldChange): boolean =>
    evidence.killsMs.some((killMs) => killMs >= atMs - KILL_SHADOW_MS && killMs <= atMs + delayMs);
  const delaysOf = (changes: readonly ToldChange[]): Spread => spreadOf(changes.map(({ delayMs }) => delayMs));
  const polled = told.filter(({ observedBy }) => observedBy === 'POLL');
  const misnamed = judgeNamedCommands(evidence);
  const wrong = [
    ...misnamed,
    ...judgement.repeated,
    ...judgement.outOfOrder,
    ...judgement.notFinal,
    ...due.statuses.filter((name) => judgement.statuses[name] === undefined).map((name) => `${name} did not occur`),
    ...due.failureReasons
      .filter((name) => judgement.failureReasons[name] === undefined)
      .map((name) => `${name} did not occur`),
    ...(evidence.unanswered > 0 ? [`${evidence.unanswered} commands without a result`] : []),
    ...evidence.ownEnds.map(({ code, name, signal }) => `${name} ended by itself: ${code ?? signal}`),
    ...evidence.badStops.map(({ code, name, signal }) => `${name} did not end in order: ${code ?? signal}`),
  ];
  if (wrong.length > WRONG_MAX) wrong.splice(WRONG_MAX, wrong.length, `and ${wrong.length - WRONG_MAX} more`);
  return {
    seed: options.seed,
    elapsedMs: evidence.elapsedMs,
    kills: evidence.killsMs.length,
    commands: evidence.commands,
    transactions: evidence.histories.length,
    finalStatuses: judgement.finalStatuses,
    statuses: judgement.statuses,
    failureReasons: judgement.failureReasons,
    changes: judgement.changes,
    transactionEvents: evidence.transactionEvents.length,
    skipped: judgement.skippedLastedMs.length,
    skippedLastedMs: spreadOf(judgement.skippedLastedMs),
    quoteChanges: judgement.quoteChanges,
    quoteEvents: evidence.quoteEvents.length,
    quoteSkipped: judgement.quoteSkipped,
    repeated: judgement.repeated.length,
    outOfOrder: judgement.outOfOrder.length,
    notFinal: judgement.notFinal.length,
    named: namesOf(evidence),
    misnamed: misnamed.length,
    pollIntervalMs: options.pollIntervalMs,
    callsPerMinuteMax: options.callsPerMinuteMax,
    callsInAMinuteMax: evidence.listCallsInAMinuteMax,
    calls: evidence.listCalls,
    delayMs: {
      shownByCommands: delaysOf(told.filter(({ observedBy }) => observedBy === 'COMMAND')),
      polled: delaysOf(polled),
      polledWithoutKill: delaysOf(polled.filter((change) => !isNearKill(change))),
      polledWithKill: delaysOf(polled.filter(isNearKill)),
      unannouncedFound: delaysOf(
        told.filter(({ isFirst, transactionId }) => isFirst && evidence.unannounced.has(transactionId)),
      ),
    },
    toldAfterQuietMs: evidence.toldAfterQuietMs,
    wrong,
  };
}

/** Events of transactions, by who saw the change and whose they are. */
function namesOf({ results, transactionEvents, unannounced }: StatusRunEvidence): Record<string, number> {
  const shown = new Set(results.map(({ value }) => value.transaction?.id ?? value.quote?.transactionId));
  const kindOf = ({ key, value }: TransactionEvent): string => {
    if (value.commandKey !== null) return `${value.observedBy} named`;
    if (unannounced.has(key)) return `${value.observedBy} of others`;
    // Its answer was lost, and the same call made another one.
    return `${value.observedBy} ${shown.has(key) ? 'NOT NAMED' : 'of what no answer showed'}`;
  };
  const counts = Map.groupBy(transactionEvents, kindOf);
  return Object.fromEntries([...counts].map(([kind, events]): [string, number] => [kind, events.length]).sort());
}

export function statusTextOf(report: StatusReport): string {
  const { delayMs } = report;
  const rows: [string, string][] = [
    ['transactions', `${report.transactions}, ${report.commands} commands, seed ${report.seed}`],
    ['statuses', inWords(report.statuses)],
    ['last statuses', inWords(report.finalStatuses)],
    ['failure reasons', inWords(report.failureReasons)],
    ['changes at the service', `${report.changes} of transactions, ${report.quoteChanges} of quotes`],
    ['events', `${report.transactionEvents} of transactions, ${report.quoteEvents} of quotes`],
    ['passed unseen', `${report.skipped} of transactions, ${report.quoteSkipped} of quotes`],
    ['unseen ones lasted', durationsOf(report.skippedLastedMs)],
    ['kills', String(report.kills)],
    ['repeated', String(report.repeated)],
    ['out of order', String(report.outOfOrder)],
    ['not final', String(report.notFinal)],
    ['events by command named', inWords(report.named)],
    ['named wrongly', String(report.misnamed)],
    ['calls', `${report.calls}, ${report.callsInAMinuteMax} in a minute at most (limit ${report.callsPerMinuteMax})`],
    ['delay, shown by a command', durationsOf(delayMs.shownByCommands)],
    ['delay, polled', durationsOf(delayMs.polled)],
    ['delay, no kill nearby', durationsOf(delayMs.polledWithoutKill)],
    ['delay, a kill nearby', durationsOf(delayMs.polledWithKill)],
    ['unannounced found after', durationsOf(delayMs.unannouncedFound)],
    ['all told', `${report.toldAfterQuietMs} ms after the service was quiet`],
    ['elapsed', `${Math.round(report.elapsedMs / 1000)} s`],
    ['verdict', report.wrong.length === 0 ? 'every promise held' : `${report.wrong.length} broken`],
  ];
  return [
    ...rows.map(([name, value]) => `${name.padEnd(28)}${value}`),
    ...report.wrong.map((line) => `  ${line}`),
  ].join('\n');
}

export function durationsOf({ count, max, p50, p99 }: Spread): string {
  const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  return count === 0 ? 'none' : `p50 ${inSeconds(p50)}, p99 ${inSeconds(p99)}, max ${inSeconds(max)} (${count})`;
}

function inWords(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, times]) => `${name} ${times}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}
