/** Judges a soak: every command has its one result, as many took effect as that says, and nothing that should be flat grew. Pure. */
import type { EffectsReport } from '../../test/support/sandbox-control.ts';
import type { FirstResult } from '../chaos/result-watch.ts';
import { growing, type Trend } from './flatness.ts';

/** How many of each twenty commands. */
const MIXTURE = {
  'transfer-in': 13,
  'create-quote': 3,
  'immediate-quote': 2,
  'execute-quote': 1,
  'reject-transaction': 1,
} as const;
export type SoakKind = keyof typeof MIXTURE;
const SOAK_KINDS = Object.keys(MIXTURE) as SoakKind[];
export const KIND_AT = SOAK_KINDS.flatMap((kind) => Array<SoakKind>(MIXTURE[kind]).fill(kind));

export interface SoakEvidence {
  /** Keys that are in Kafka for certain, and those published a second time. */
  readonly published: readonly string[];
  readonly copied: readonly string[];
  /** Publishes without confirmation. */
  readonly failed: number;
  readonly first: ReadonlyMap<string, FirstResult>;
  readonly contradictions: readonly string[];
  readonly effects: EffectsReport;
  readonly areBooksBalanced: boolean;
  readonly trends: readonly Trend[];
}

export function kindOf(key: string): SoakKind {
  return key.slice(0, key.lastIndexOf('-')) as SoakKind;
}

export function outcomesOf({ first, published }: SoakEvidence): Map<SoakKind, Record<string, number>> {
  const outcomes = new Map<SoakKind, Record<string, number>>(SOAK_KINDS.map((kind) => [kind, {}]));
  for (const key of published) {
    const counts = outcomes.get(kindOf(key)) ?? {};
    const outcome = first.get(key)?.outcome ?? 'LOST';
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return outcomes;
}

/** Of each kind as many effects as commands that were ACCEPTED, and none twice; whose effect a command had, chaos tells. */
export function judgeSoak(evidence: SoakEvidence): string[] {
  const { copied, effects, failed, first, published, trends } = evidence;
  const counted = effectsOf(effects);
  const wrong = [...evidence.contradictions, ...growing(trends)];
  for (const [kind, { ACCEPTED = 0, LOST = 0, UNKNOWN = 0 }] of outcomesOf(evidence)) {
    if (LOST > 0) wrong.push(`${kind}: ${LOST} without a result`);
    if (counted[kind] < ACCEPTED || counted[kind] > ACCEPTED + UNKNOWN)
      wrong.push(`${kind}: ${counted[kind]} effects of ${ACCEPTED} ACCEPTED and ${UNKNOWN} UNKNOWN`);
  }
  wrong.push(...repeated(effects));
  if (first.size !== published.length) wrong.push(`${first.size} results of ${published.length} commands`);
  const unanswered = copied.filter((key) => first.get(key)?.replays === 0);
  if (unanswered.length > 0) wrong.push(`${unanswered.length} copies without an answer`);
  if (failed > 0) wrong.push(`${failed} commands could not be published: the load was not constant`);
  if (!evidence.areBooksBalanced) wrong.push('the books are out of balance');
  if (!trends.some(({ kind }) => kind === 'memory without mapped files, MiB'))
    wrong.push('no process lived long enough for its memory to be judged');
  return wrong;
}

/** One that took effect twice would be hidden in the sums by one without effect. */
function repeated({ operations, quotes, transactions }: EffectsReport): string[] {
  const counts = [
    ...Object.values(operations).flatMap((ofKeys) =>
      Object.entries(ofKeys).map(([key, { effects }]) => [key, effects] as const),
    ),
    ...Object.entries(quotes).map(([id, { executions }]) => [id, executions] as const),
    ...Object.entries(transactions).map(([id, { rejections }]) => [id, rejections] as const),
  ];
  return counts.filter(([, count]) => count > 1).map(([name, count]) => `${name} took effect ${count} times`);
}

function effectsOf({ operations, quotes, transactions }: EffectsReport): Record<SoakKind, number> {
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  const ofKeys = (operation: keyof typeof operations, isMeant: (key: string) => boolean = () => true): number =>
    sum(Object.entries(operations[operation]).flatMap(([key, { effects }]) => (isMeant(key) ? [effects] : [])));
  const immediate = ofKeys('execute-quote', (key) => kindOf(key) === 'immediate-quote');
  return {
    'transfer-in': ofKeys('transfer-in'),
    'create-quote': ofKeys('create-quote', (key) => kindOf(key) === 'create-quote'),
    'immediate-quote': immediate,
    'execute-quote': sum(Object.values(quotes).map(({ executions }) => executions)) - immediate,
    'reject-transaction': sum(Object.values(transactions).map(({ rejections }) => rejections)),
  };
}
