/** The outcome of a run under disturbances: its figures, and what is wrong. */
import type { ChaosEvidence } from './chaos-evidence.ts';
import { judgeChaos } from './chaos-judgement.ts';
import type { ChaosOptions } from './chaos-scenario.ts';

/** The report of a scene. */
export interface SceneReport {
  /** Its figures, by name. */
  readonly rows: readonly (readonly [string, string])[];
  /** Every promise that was broken, in words; empty: all held. */
  readonly wrong: readonly string[];
}

/** Problems shown at most; a thousand of the same kind help nobody. */
const WRONG_SHOWN_MAX = 60;

export function textOf({ rows, wrong }: SceneReport): string {
  const width = 2 + Math.max(...rows.map(([name]) => name.length));
  const verdict = wrong.length === 0 ? 'every promise held' : `${wrong.length} broken`;
  return [...rows, ['verdict', verdict] as const]
    .map(([name, value]) => `${name.padEnd(width)}${value}`)
    .concat(wrong.slice(0, WRONG_SHOWN_MAX).map((line) => `  ${line}`))
    .join('\n');
}

export function chaosReportOf(options: ChaosOptions, evidence: ChaosEvidence): SceneReport {
  const judgement = judgeChaos(evidence);
  const { coordinatorOutages, plan, poison } = evidence;
  const { unknown } = judgement;
  // What held then shows nothing.
  const wasQuiet = options.disturbances.length > 0 && Object.keys(evidence.disturbances).length === 0;
  const heldBack = coordinatorOutages.map(({ heldBackMs }) => `${Math.round(heldBackMs / 1_000)} s`);
  const kinds = new Set(poison?.put.map(({ kind }) => kind.name)).size;
  const typesInWords = inWords(countedBy(plan.commands.map(({ type }) => type)));
  return {
    rows: [
      ['commands', `${plan.commands.length} (${typesInWords}), seed ${options.seed}, ${options.minutes} min`],
      [
        'messages',
        `${inWords(countedBy(plan.messages.map(({ kind }) => kind)))}; ${evidence.republished} published again`,
      ],
      ['keys honoured', evidence.honourKeys.join(', ') || 'none'],
      ['disturbances', inWords(evidence.disturbances)],
      ['calls hit by a fault', inWords(evidence.faultHits)],
      ['calls left unclear', `${evidence.unclearCalls}, of ${evidence.unclearKeys.size} keys`],
      ['under way at a kill', `${evidence.underWayAtKills.size} commands`],
      ['results', inWords(judgement.outcomes)],
      ['UNKNOWN', `${unknown.total}, of which ${unknown.tookEffect} took effect (${inWords(unknown.byType)})`],
      ['effects', inWords(judgement.effects)],
      ['answers to copies', `${judgement.replays} replays, ${judgement.conflicts} conflicts`],
      [
        'status changes',
        `${evidence.transactionEvents.length} of transactions, ${evidence.quoteEvents.length} of quotes`,
      ],
      ['dead letters', String(evidence.deadLetters.length)],
      ['poison', `${poison?.put.length ?? 0} messages of ${kinds} kinds; brokers refused ${poison?.refused ?? 0}`],
      ['kill to next result', recoveryOf(evidence, 'kill')],
      ['freeze to next result', recoveryOf(evidence, 'freeze')],
      [
        'coordinator lost',
        `${coordinatorOutages.length} times, readers of the ledger held back for ${heldBack.join(', ') || 'no time'}`,
      ],
      ['all answered', `${evidence.healedMs} ms after the last disturbance`],
      ['readiness at the end', evidence.readinessAtTheEnd.map((state) => JSON.stringify(state)).join(', ')],
      ['processors', `${evidence.processorsStarted} started, ${evidence.ownEnds.length} ended by themselves`],
      ['memory', `${megabytesMax(evidence)} MB at most`],
      ['books', evidence.books.balanced ? 'balanced' : 'OUT OF BALANCE'],
      ['elapsed', `${Math.round(evidence.elapsedMs / 1000)} s`],
    ],
    wrong: wasQuiet ? [...judgement.wrong, 'none of its disturbances took place'] : judgement.wrong,
  };
}

export function megabytesMax({ residentMiBMax }: Pick<ChaosEvidence, 'residentMiBMax'>): number {
  return Math.max(0, ...residentMiBMax.values());
}

export function inWords(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function recoveryOf({ recoveries }: ChaosEvidence, what: 'kill' | 'freeze'): string {
  const all = recoveries.filter((recovery) => recovery.what === what);
  const times = all.flatMap(({ firstResult: { tookMs } }) => (tookMs === null ? [] : [tookMs]));
  times.sort((left, right) => left - right);
  const without = all.length - times.length;
  return `${all.length} times, median ${times[Math.floor(times.length / 2)] ?? 0} ms, longest ${times.at(-1) ?? 0} ms${without > 0 ? `, ${without} without a further result` : ''}`;
}

function countedBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
