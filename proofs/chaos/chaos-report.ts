/** The figures of a chaos run, as a record and as text. */
import type { ChaosEvidence } from './chaos-evidence.ts';
import type { ChaosJudgement } from './chaos-judgement.ts';

/** Problems shown; a thousand of the same help nobody. */
const WRONG_SHOWN_MAX = 60;
const MEGABYTE = 1024 * 1024;

export interface RunNames {
  seed: number;
  minutes: number;
  commandsPerSecond: number;
}

export type ChaosReport = ReturnType<typeof reportOf>;

export function reportOf(run: RunNames, evidence: ChaosEvidence, judgement: ChaosJudgement) {
  const { plan } = evidence;
  const kinds = plan.messages.map(({ kind }) => kind);
  const memory = [...evidence.residentBytesMax.values()];
  return {
    ...run,
    honourKeys: evidence.honourKeys,
    elapsedMs: evidence.elapsedMs,
    commands: plan.commands.length,
    commandsByType: countedBy(plan.commands.map(({ type }) => type)),
    messages: countedBy(kinds),
    republished: evidence.republished,
    disturbances: evidence.disturbances,
    faultHits: evidence.faultHits,
    unclearCalls: evidence.unclearCalls,
    unclearKeys: evidence.unclearKeys.size,
    underWayAtKills: evidence.underWayAtKills.size,
    outcomes: judgement.outcomes,
    unknown: judgement.unknown,
    effects: judgement.effects,
    replays: judgement.replays,
    conflicts: judgement.conflicts,
    transactionEvents: evidence.transactionEvents.length,
    quoteEvents: evidence.quoteEvents.length,
    deadLetters: evidence.deadLetters.length,
    poison: {
      put: evidence.poison?.put.length ?? 0,
      kinds: new Set(evidence.poison?.put.map(({ kind }) => kind.name)).size,
      refused: evidence.poison?.refused ?? 0,
    },
    recoveries: { kill: recoveryOf(evidence, 'kill'), freeze: recoveryOf(evidence, 'freeze') },
    coordinatorOutages: evidence.coordinatorOutages,
    healedMs: evidence.healedMs,
    processorsStarted: evidence.processorsStarted,
    ownEnds: evidence.ownEnds,
    residentMegabytes: Object.fromEntries(
      [...evidence.residentBytesMax].map(([name, bytes]) => [name, Math.round(bytes / MEGABYTE)]),
    ),
    residentMegabytesMax: Math.round(Math.max(0, ...memory) / MEGABYTE),
    booksBalanced: evidence.books.balanced,
    readinessAtTheEnd: evidence.readinessAtTheEnd,
    wrong: judgement.wrong,
  };
}

export function textOf(report: ChaosReport): string {
  const { kill, freeze } = report.recoveries;
  const recovery = ({ count, medianMs, longestMs, without }: typeof kill): string =>
    `${count} times, median ${medianMs} ms, longest ${longestMs} ms${without > 0 ? `, ${without} without a further result` : ''}`;
  const rows: [string, string][] = [
    ['commands', `${report.commands} (${inWords(report.commandsByType)}), seed ${report.seed}, ${report.minutes} min`],
    ['messages', `${inWords(report.messages)}; ${report.republished} published again`],
    ['keys honoured', report.honourKeys.join(', ') || 'none'],
    ['disturbances', inWords(report.disturbances)],
    ['calls hit by a fault', inWords(report.faultHits)],
    ['calls left unclear', `${report.unclearCalls}, of ${report.unclearKeys} keys`],
    ['under way at a kill', `${report.underWayAtKills} commands`],
    ['results', inWords(report.outcomes)],
    [
      'UNKNOWN',
      `${report.unknown.total}, of which ${report.unknown.tookEffect} took effect (${inWords(report.unknown.byType)})`,
    ],
    ['effects', inWords(report.effects)],
    ['answers to copies', `${report.replays} replays, ${report.conflicts} conflicts`],
    ['status changes', `${report.transactionEvents} of transactions, ${report.quoteEvents} of quotes`],
    ['dead letters', String(report.deadLetters)],
    [
      'poison',
      `${report.poison.put} messages of ${report.poison.kinds} kinds; brokers refused ${report.poison.refused}`,
    ],
    ['kill to next result', recovery(kill)],
    ['freeze to next result', recovery(freeze)],
    [
      'coordinator lost',
      `${report.coordinatorOutages.length} times, readers of the ledger held back for ${report.coordinatorOutages.map(({ heldBackMs }) => `${Math.round(heldBackMs / 1_000)} s`).join(', ') || 'no time'}`,
    ],
    ['all answered', `${report.healedMs} ms after the last disturbance`],
    ['processors', `${report.processorsStarted} started, ${report.ownEnds.length} ended by themselves`],
    ['memory', `${report.residentMegabytesMax} MB at most`],
    ['books', report.booksBalanced ? 'balanced' : 'OUT OF BALANCE'],
    ['elapsed', `${Math.round(report.elapsedMs / 1000)} s`],
    ['verdict', report.wrong.length === 0 ? 'every promise held' : `${report.wrong.length} broken`],
  ];
  const wrong = report.wrong.slice(0, WRONG_SHOWN_MAX).map((line) => `  ${line}`);
  const more = report.wrong.length - wrong.length;
  return [
    ...rows.map(([name, value]) => `${name.padEnd(24)}${value}`),
    ...wrong,
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

function recoveryOf({ recoveries }: ChaosEvidence, what: 'kill' | 'freeze') {
  const all = recoveries.filter((recovery) => recovery.what === what);
  const times = all.flatMap(({ firstResult: { tookMs } }) => (tookMs === null ? [] : [tookMs]));
  times.sort((left, right) => left - right);
  return {
    count: all.length,
    medianMs: times[Math.floor(times.length / 2)] ?? 0,
    longestMs: times.at(-1) ?? 0,
    without: all.length - times.length,
    timesMs: times,
  };
}

function countedBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function inWords(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}
