/** What was redriven, and what came of it: a document and a line for each letter, and how it all ended. Pure. */
import type { RawRecord } from 'payment-processor-client/internal/kafka/record-at';
import { eventDocument, resultText } from './event-output.ts';
import type { ExitReason } from './exit-codes.ts';
import { maskedText, maskedValue } from './masking.ts';
import { letterName } from './redrive-notes.ts';
import type { PlannedRedrive, ReadyRedrive } from './redrive-plan.ts';
import type { RedriveOutcome } from './redrive-run.ts';

export interface ReportLine {
  readonly document: object;
  readonly text: string;
  /** What it makes of the exit code. */
  readonly reason: ExitReason;
  readonly problem: string | null;
}

/** From what tells least of what became of it, to what is as it should be: the first that occurs is the exit code. */
const GRAVITY = ['failed', 'noResult', 'notAccepted', 'refused', 'ok'] as const satisfies readonly ExitReason[];

/** A letter that will not be sent, or would be: of a plan alone. */
export function plannedLine(plan: PlannedRedrive): ReportLine {
  switch (plan.kind) {
    case 'refused': {
      const { message, reason } = plan.failure;
      const document = { status: 'refused', from: fromOf(plan.letter), problem: message };
      return { document, text: `${letterName(plan.letter)}  refused: ${message}`, reason, problem: message };
    }
    case 'ready': {
      const { key, topic } = plan.target;
      const { letter, notes } = plan;
      const document = { status: 'would-be-published', topic, key, from: fromOf(letter), notes };
      const text = `${letterName(letter)}  would be published as ${key} to ${topic}: ${notes.join('; ')}`;
      return { document, text, reason: 'ok', problem: null };
    }
  }
}

export function outcomeLine(
  { letter, target }: ReadyRedrive,
  outcome: RedriveOutcome,
  isUnmasked: boolean,
): ReportLine {
  const { key, topic } = target;
  const common = { topic, key, from: fromOf(letter) };
  const failed = (status: string, problem: string, reason: ExitReason): ReportLine => ({
    document: { status, ...common, problem },
    text: `${letterName(letter)}  ${key}: ${problem}`,
    reason,
    problem,
  });
  switch (outcome.kind) {
    case 'claimed-by-other':
      return failed('refused', outcome.problem, 'refused');
    case 'not-known':
      return failed('not-known', outcome.problem, 'failed');
    case 'not-tried':
      return failed('not-tried', 'not tried, for an earlier one could not be published; nothing was sent', 'failed');
    case 'published': {
      const { awaited, offset, partition } = outcome;
      const at = { status: 'published', topic, partition, offset, key, from: fromOf(letter) };
      const text = `published ${key} (${topic}, partition ${partition}, offset ${offset})`;
      switch (awaited.kind) {
        case 'not-awaited':
          return { document: at, text, reason: 'ok', problem: null };
        case 'none-in-time':
          return {
            ...failed('published', awaited.problem, 'noResult'),
            text: `${text}  ${awaited.problem}`,
          };
        case 'result': {
          const { result } = awaited;
          const shown = isUnmasked ? eventDocument(result) : maskedValue(eventDocument(result));
          const { outcome: ended } = result.value;
          const line = `${text}  ${isUnmasked ? resultText(result.value) : maskedText(resultText(result.value))}`;
          const isAccepted = ended === 'ACCEPTED';
          return {
            document: { ...at, outcome: ended, result: shown },
            text: line,
            reason: isAccepted ? 'ok' : 'notAccepted',
            problem: isAccepted ? null : `${key} ended ${ended}`,
          };
        }
      }
    }
  }
}

/** The exit code of all together. */
export function worstOf(lines: readonly ReportLine[]): ExitReason {
  const reasons = new Set(lines.map(({ reason }) => (reason === 'usage' ? 'refused' : reason)));
  return GRAVITY.find((reason) => reasons.has(reason)) ?? 'ok';
}

function fromOf({ offset, partition, topic }: RawRecord): object {
  return { topic, partition, offset };
}
