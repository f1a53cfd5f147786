/** The report of a redrive: a document and a line for each letter, and the overall result. Pure. */
import type { PublishedAt } from 'payment-processor-client/internal/kafka/record-publisher';
import type { AwaitedResult } from 'payment-processor-client/internal/result-awaiter';
import { eventDocument, resultText, placeText } from './event-output.ts';
import type { ExitReason } from './exit-codes.ts';
import { masksOf } from './masking.ts';
import { letterName } from './redrive-note.ts';
import type { PlannedRedrive, ReadyRedrive } from './redrive-plan.ts';

export interface ReportLine {
  readonly document: { readonly status: string; readonly [name: string]: unknown };
  readonly text: string;
  /** Its contribution to the exit code. */
  readonly reason: ExitReason;
  readonly problem: string | null;
}

/** From the gravest to success: the first that occurs is the exit code. */
const GRAVITY = ['failed', 'noResult', 'notAccepted', 'refused', 'ok'] as const satisfies readonly ExitReason[];

/** A planned letter: refused, or to be published. */
export function plannedLine(plan: PlannedRedrive): ReportLine {
  const { kind, letter } = plan;
  const name = letterName(letter);
  const from = fromOf(plan);
  if (kind === 'refused') {
    const { message: problem, reason } = plan.failure;
    return { document: { status: 'refused', from, problem }, text: `${name}  refused: ${problem}`, reason, problem };
  }
  const { notes, target } = plan;
  const { key, topic } = target;
  const text = `${name}  would be published to ${topic} with the key ${key}: ${notes.join('; ')}`;
  return { document: { status: 'would-be-published', topic, key, from, notes }, text, reason: 'ok', problem: null };
}

/** `refused`: another note forbids it; `not-known`: it may be marked or published; `not-tried`: it is not marked. */
export type UnsentStatus = 'refused' | 'not-known' | 'not-tried';

/** A letter whose publication is not confirmed. @param reason `noResult` if it may have been published */
export function unsentLine(
  plan: ReadyRedrive,
  status: UnsentStatus,
  problem: string,
  reason: ExitReason = status === 'refused' ? 'refused' : 'failed',
): ReportLine {
  const { key, topic } = plan.target;
  const text = `${letterName(plan.letter)}  ${key}: ${problem}`;
  return { document: { status, topic, key, from: fromOf(plan), problem }, text, reason, problem };
}

/** @param came the result; a text: why none came; null: not awaited */
export function publishedLine(
  plan: ReadyRedrive,
  { offset, partition }: PublishedAt,
  came: AwaitedResult | string | null,
  isUnmasked: boolean,
): ReportLine {
  const { key, topic } = plan.target;
  const document = { status: 'published', topic, partition, offset, key, from: fromOf(plan) };
  const text = `published ${key} (${placeText({ topic, partition, offset })})`;
  if (came === null) return { document, text, reason: 'ok', problem: null };
  if (typeof came === 'string') {
    return { document: { ...document, problem: came }, text: `${text}  ${came}`, reason: 'noResult', problem: came };
  }
  const { outcome } = came.value;
  const masks = masksOf(isUnmasked);
  const isAccepted = outcome === 'ACCEPTED';
  return {
    document: { ...document, outcome, result: masks.value(eventDocument(came)) },
    text: `${text}  ${masks.text(resultText(came.value))}`,
    reason: isAccepted ? 'ok' : 'notAccepted',
    problem: isAccepted ? null : `${key} ended ${outcome}`,
  };
}

/** The overall exit code. */
export function worstOf(lines: readonly ReportLine[]): ExitReason {
  const reasons = new Set(lines.map(({ reason }) => (reason === 'usage' ? 'refused' : reason)));
  return GRAVITY.find((reason) => reasons.has(reason)) ?? 'ok';
}

export function tallyOf(lines: readonly ReportLine[]): string {
  const isPublished = ({ document }: ReportLine): boolean => document.status === 'published';
  const published = lines.filter(isPublished);
  const others = lines.filter((line) => !isPublished(line));
  const count = (reason: ExitReason, of = published): number => of.filter((line) => line.reason === reason).length;
  const perhaps = count('noResult', others);
  return [
    `${published.length} published`,
    ...(perhaps > 0 ? [`${perhaps} perhaps published`] : []),
    `${others.length - perhaps} not published`,
    ...(count('notAccepted') > 0 ? [`${count('notAccepted')} did not end ACCEPTED`] : []),
    ...(count('noResult') > 0 ? [`${count('noResult')} without a result in time`] : []),
  ].join(', ');
}

function fromOf({ letter: { offset, partition, topic } }: PlannedRedrive): object {
  return { topic, partition, offset };
}
