/**
 * Checks for work that waits for people: holds, UNKNOWN results and open dead letters. Reads within limits.
 */
import type { DeadLetterReason } from '../../../../src/producers/dead-letters.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { ageSeconds, ageText } from '../age-text.ts';
import { auditOf, holdText, readOrders } from '../hold-audit.ts';
import { letterName, notedLetter, noteOf } from '../redrive-note.ts';
import { readUnknownResults } from '../ledger.ts';
import { readTopics, within } from '../topic-reading.ts';
import { notChecked, ok, problem, type CheckMessages } from './findings.ts';
import type { CliSettings } from '../context.ts';

/** Enough to read a million keys. */
const READ_FOR_MS = 30_000;
/** Per lane: more dead letters usually share one cause. */
const LETTERS_NEWEST = 20_000;
const RECENT_MS = 3_600_000;
/** A refused decision needs no redrive: it is not a command, and its operator got the refusal. */
const ANSWERED: DeadLetterReason = 'REFUSED_DECISION';

function notRead(cut: string): string {
  return `this was not read: ${cut}`;
}

export async function checkHolds(settings: CliSettings): Promise<CheckMessages> {
  const { hidden, laneCount, orders } = await readOrders(settings);
  const holds = auditOf(orders, laneCount, Date.now()).filter(({ inForce }) => inForce.length > 0);
  const unread = hidden.map((cut) => notChecked(notRead(cut)));
  if (holds.length === 0 && unread.length === 0) return ok('none');
  const held = holds.map((audited) =>
    problem(`${holdText(audited)}: once the reason is over, end it with \`release ${audited.inForce.join(' ')}\``),
  );
  return [...held, ...unread];
}

export async function checkUnknownResults(settings: CliSettings, readForMs = READ_FOR_MS): Promise<CheckMessages> {
  const { cuts, found } = await readUnknownResults(settings, readForMs);
  const [oldest] = found;
  if (oldest === undefined) {
    return cuts.length === 0 ? ok('none') : notChecked(notRead(cuts.join('; ')));
  }
  const age = ageText(ageSeconds(oldest.entry.phase.completedMs, Date.now()));
  const wanted = found.length === 1 ? '1 waits for an operator' : `${found.length} wait for an operator`;
  const more = cuts.map((cut) => ` (not read: ${cut})`).join('');
  return problem(
    `${wanted}; the oldest has waited ${age}${more}: see \`unknown list\` and docs/runbooks/unknown-results.md`,
  );
}

export async function checkDeadLetters(settings: CliSettings, readForMs = READ_FOR_MS): Promise<CheckMessages> {
  const letters = new Map<string, { reason: string; timestampMs: number }>();
  const handled = new Set<string>();
  const cuts: string[] = [];
  const reading = readTopics(settings, {
    topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
    newest: LETTERS_NEWEST,
    onCut: (cut) => void cuts.push(cut),
    onRecord: (record) => {
      const note = noteOf(record);
      if (note !== null) handled.add(notedLetter(note));
      else {
        const reason = record.headers['dlq-reason'] ?? 'without a reason';
        letters.set(letterName(record), { reason, timestampMs: record.timestampMs });
      }
    },
  });
  const unread = await within(readForMs, 'the dead letters', reading);
  cuts.push(...unread);

  const waiting = [...letters].filter(([name, { reason }]) => !handled.has(name) && reason !== ANSWERED);
  const more = cuts.map((cut) => ` (not read: ${cut})`).join('');
  const others = letters.size - waiting.length;
  const done = others === 0 ? '' : `${others} handled: redriven, acknowledged, or refused decisions`;
  if (waiting.length === 0 && unread.length > 0) return notChecked(notRead(cuts.join('; ')));
  if (waiting.length === 0) return ok(`${done === '' ? 'none' : done}${more}`);
  const counts = new Map<string, number>();
  for (const [, { reason }] of waiting) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const reasons = [...counts].map(([reason, count]) => `${reason} ${count}`).join(', ');
  const recent = waiting.filter(([, { timestampMs }]) => timestampMs >= Date.now() - RECENT_MS).length;
  return problem(
    `${waiting.length} open (${reasons}); ${recent} of them came in the last hour${done === '' ? '' : `; ${done}`}${more}: ` +
      'see `dead-letters list --open` and docs/runbooks/PaymentsDeadLetters.md',
  );
}
