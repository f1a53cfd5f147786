/** Judges a soak: every command has its one result and took effect as that says, and nothing that should be flat grew. Pure. */
import { effectsOf, MOVES_NOTHING } from '../chaos/chaos-judgement.ts';
import { inWords, type SceneReport } from '../chaos/chaos-report.ts';
import { growing, processTrends, sharedTrends, type Trend } from './flatness.ts';
import { KINDS, type Kind } from './soak-load.ts';
import type { SoakEvidence } from './soak-scenario.ts';

export interface SoakJudgement {
  /** Every promise that was broken, in words; empty: all held. */
  wrong: string[];
  /** Of each kind its outcomes, counted. */
  outcomes: Record<Kind, Record<string, number>>;
  copies: number;
  trends: Trend[];
}

export function judgeSoak(evidence: SoakEvidence): SoakJudgement {
  const { commands, copied, effects, first } = evidence;
  const wrong = [...evidence.contradictions, ...evidence.loadFailures];
  const outcomes = Object.fromEntries(KINDS.map((kind) => [kind, {}])) as SoakJudgement['outcomes'];
  for (const [key, command] of commands) {
    const outcome = first.get(key)?.outcome ?? 'LOST';
    const counts = outcomes[command.type];
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (outcome === 'LOST') wrong.push(`${key}: no result`);
    const times = effectsOf({ ...command, key }, effects);
    if (times > 1) wrong.push(`${key}: took effect ${times} times`);
    if (outcome === 'ACCEPTED' && times !== 1) wrong.push(`${key}: ACCEPTED, but ${times} effects`);
    if (MOVES_NOTHING.includes(outcome) && times > 0) wrong.push(`${key}: ${outcome}, but it took effect`);
  }
  for (const key of first.keys())
    if (!commands.has(key)) wrong.push(`${key}: a result of a command that was never published`);
  for (const key of copied) if (first.get(key)?.replays === 0) wrong.push(`${key}: its copy has no answer`);
  if (!evidence.areBooksBalanced) wrong.push('the books are out of balance');
  if (evidence.leftOut > 0) wrong.push(`${evidence.leftOut} commands were left out: the load was not constant`);

  const ofProcesses = processTrends(evidence.processes);
  if (ofProcesses.length === 0) wrong.push('no process lived long enough for its memory to be judged');
  const trends = [...ofProcesses, ...sharedTrends(evidence.shared, evidence.processes)];
  wrong.push(...growing(trends));
  return { wrong, outcomes, copies: copied.size, trends };
}

/** A soak's figures and what is wrong with it. */
export function soakReportOf(evidence: SoakEvidence): SceneReport {
  const { copies, outcomes, trends, wrong } = judgeSoak(evidence);
  const kills = evidence.disturbances.filter(({ how }) => how === 'kill -9').length;
  return {
    rows: [
      ['load', `${evidence.minutes} min at ${evidence.commandsPerSecond} commands per second, ${copies} copies`],
      ['disturbances', `${kills} kill -9, ${evidence.disturbances.length - kills} SIGTERM`],
      ...KINDS.map((kind) => [kind, inWords(outcomes[kind])] as const),
      ...trends.map((trend) => [`${trend.whose}: ${trend.what}`, inFigures(trend)] as const),
    ],
    wrong,
  };
}

function inFigures({ max, mean, minutes, mostMax, rise, riseMax }: Trend): string {
  const [meanText, maxText, riseText] = [mean, max, rise].map((figure) => figure.toFixed(1));
  const allowed = riseMax === null ? (mostMax === null ? 'any' : `${mostMax} at most`) : riseMax.toFixed(1);
  return `mean ${meanText}, most ${maxText}, rise ${riseText} in ${minutes.toFixed(0)} min; allowed ${allowed}`;
}
