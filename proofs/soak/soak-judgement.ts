/** Judges a soak: every command has its one result and took effect as that says, and nothing that should be flat grew. Pure. */
import type { Outcome } from '../../src/client/index.ts';
import type { EffectsReport } from '../../test/support/sandbox-control.ts';
import { EXECUTE_SUFFIX } from '../../src/records/keys.ts';
import { growing, processTrends, sharedTrends, type Trend } from './flatness.ts';
import { KINDS, type Kind, type SoakCommand } from './soak-load.ts';
import type { SoakEvidence } from './soak-scenario.ts';

export interface SoakJudgement {
  /** Every promise that was broken, in words; empty: all held. */
  wrong: string[];
  /** Of each kind its outcomes, counted. */
  outcomes: Record<Kind, Partial<Record<Outcome | 'LOST', number>>>;
  copies: number;
  trends: Trend[];
}

const WRONG_MAX = 50;
/** Nothing may have moved. */
const WITHOUT_EFFECT: readonly string[] = ['REFUSED', 'INVALID', 'EXPIRED', 'FAILED', 'CONFLICT'] satisfies Outcome[];

export function judgeSoak(evidence: SoakEvidence): SoakJudgement {
  const { commands, copied, effects, first } = evidence;
  const wrong = [...evidence.contradictions, ...evidence.loadFailures];
  const outcomes = Object.fromEntries(KINDS.map((kind) => [kind, {}])) as SoakJudgement['outcomes'];
  for (const [key, command] of commands) {
    const outcome = first.get(key)?.outcome ?? 'LOST';
    const counts = outcomes[command.kind];
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (outcome === 'LOST') wrong.push(`${key}: no result`);
    const times = effectsOf(key, command, effects);
    if (times > 1) wrong.push(`${key}: took effect ${times} times`);
    if (outcome === 'ACCEPTED' && times !== 1) wrong.push(`${key}: ACCEPTED, but ${times} effects`);
    if (WITHOUT_EFFECT.includes(outcome) && times > 0) wrong.push(`${key}: ${outcome}, but it took effect`);
  }
  for (const key of first.keys())
    if (!commands.has(key)) wrong.push(`${key}: a result of a command that was never published`);
  for (const key of copied) if (first.get(key)?.replays === 0) wrong.push(`${key}: its copy has no answer`);
  if (!evidence.areBooksBalanced) wrong.push('the books are out of balance');
  if (evidence.leftOut > 0) wrong.push(`${evidence.leftOut} commands were left out: the load was not constant`);
  if (wrong.length > WRONG_MAX) wrong.splice(WRONG_MAX, wrong.length, `and ${wrong.length - WRONG_MAX} more`);

  const ofProcesses = processTrends(evidence.processes);
  if (ofProcesses.length === 0) wrong.push('no process lived long enough for its memory to be judged');
  const trends = [...ofProcesses, ...sharedTrends(evidence.shared, evidence.processes)];
  wrong.push(...growing(trends));
  return { wrong, outcomes, copies: copied.size, trends };
}

function effectsOf(key: string, { kind, subject }: SoakCommand, effects: EffectsReport): number {
  switch (kind) {
    case 'transfer-in':
    case 'create-quote':
      return effects.operations[kind][key]?.effects ?? 0;
    case 'immediate-quote':
      // The quote by itself moves nothing.
      return effects.operations['execute-quote'][`${key}${EXECUTE_SUFFIX}`]?.effects ?? 0;
    case 'execute-quote':
      return effects.quotes[subject ?? '']?.executions ?? 0;
    case 'reject-transaction':
      return effects.transactions[subject ?? '']?.rejections ?? 0;
  }
}
