/** The story of a key as lines in time order. Pure; the caller masks texts that others wrote. */
import { DECISION_HEADER } from '../../../../src/producers/result-events.ts';
import { proofOf } from '../../../../src/ledger/entry.ts';
import { auditOf } from '../../../../src/ledger/operator.ts';
import type { CommandResult } from 'payment-processor-contract/types';
import type { EntryRecord } from '../ledger.ts';
import { isoOf, resultText, statusChangeText, unreadableText, placeText } from '../event-output.ts';
import { noteText } from '../redrive-note.ts';
import { inOrder, observedMs } from '../status-history.ts';
import { phaseText } from '../ledger.ts';
import {
  roleOf,
  type MessageRole,
  type Published,
  type PublishedMessage,
  type StoryDecision,
  type RecordPlace,
  type Story,
  currentEntryOf,
  isBeyondAdmitted,
  movedFromOf,
} from './story.ts';

interface Line {
  readonly topic: string;
  readonly atMs: number;
  readonly what: string;
  readonly text: string;
}

const WHAT_WIDTH = 'dead letter'.length;

const ROLES: Readonly<Record<MessageRole, string>> = {
  command: 'the command',
  copy: 'a copy, with the same content',
  'other-content': 'other content under the same key: a CONFLICT',
  'not-admitted': 'not admitted yet, or forgotten after LEDGER_RETENTION',
  'new-command':
    'waits to be admitted: the ledger has forgotten the key, so this will be a new command, and may pay again',
  earlier: 'came before the command: an earlier command that the ledger has forgotten, or a message that was set aside',
  unread: 'not known whether this is a copy: not everything could be read',
};

/** @returns one line per record, oldest first */
export function timelineOf(story: Story): string[] {
  // Lines with equal times stay in this order.
  const lines: Line[] = [
    ...story.messages.map((message) => messageLine(message, story)),
    ...story.entries.map(entryLine),
    ...story.decisions.map((decision) => decisionLine(decision, story)),
    ...story.results.map(resultLine),
    ...story.letters.map(({ letter, redriven }) => ({
      topic: 'dead-letters',
      atMs: Date.parse(letter.timestamp),
      what: 'dead letter',
      text: [
        `${letter.partition}/${letter.offset}  ${letter.reason ?? '?'}: ${letter.message ?? ''}`,
        ...redriven.map((note) => `(${noteText(note)})`),
      ].join('  '),
    })),
    ...story.changes.map((event) => ({
      topic: event.topic,
      atMs: observedMs(event),
      what: event.kind === 'quote-status' ? 'quote' : 'transaction',
      text: event.kind === 'unreadable' ? unreadableText(event) : statusChangeText(event),
    })),
  ];
  return inOrder(
    lines,
    ({ topic }) => topic,
    ({ atMs }) => atMs,
  ).map(({ atMs, what, text }) => `${isoOf(atMs)}  ${what.padEnd(WHAT_WIDTH)}  ${text}`.trimEnd());
}

function messageLine(message: PublishedMessage, story: Story): Line {
  const { commandType, headers, movedFrom, problem, timestampMs } = message;
  const parts = [
    commandType,
    ROLES[roleOf(message, story)],
    `(${placeText(message)})`,
    ...(headers['ce_id'] === undefined ? [] : [`id ${headers['ce_id']}`]),
    ...(movedFrom === null ? [] : [`moved from partition ${movedFrom.partition}, offset ${movedFrom.offset}`]),
    ...(problem === null ? [] : [`cannot be read: ${problem}`]),
  ];
  return { topic: message.topic, atMs: timestampMs, what: 'published', text: parts.join('  ') };
}

function entryLine({ entry, offset, timestampMs }: EntryRecord): Line {
  const place = { topic: 'ledger', atMs: timestampMs, what: 'ledger' };
  if (entry === null) return { ...place, text: `forgotten  (offset ${offset})` };
  const call = entry.phase.state === 'INTENT' ? [`call ${entry.attempts + 1}, step ${entry.step}`] : [];
  const notes = [
    ...call,
    phaseText(entry),
    ...(entry.attempts > 0 ? [`calls so far: ${entry.attempts}`] : []),
    ...(entry.copies.length > 0 ? [`copies waiting for the result: ${entry.copies.length}`] : []),
    ...doubtNotes(entry),
    ...(entry.drops > 0 ? [`internal failures: ${entry.drops}`] : []),
  ];
  return { ...place, text: `${entry.phase.state.padEnd(8)}  ${notes.join('; ')}` };
}

function doubtNotes(entry: NonNullable<EntryRecord['entry']>): string[] {
  const { firstSentMs, lastEndedMs, phase, turnedAway } = entry;
  const proof = proofOf(entry);
  const isSettled = proof !== null || (phase.state === 'DONE' && phase.outcome !== 'UNKNOWN');
  const words = isSettled ? 'was in doubt since' : 'may have taken effect since';
  const sent = firstSentMs === null ? [] : [`${words} ${isoOf(firstSentMs)}`];
  const ended = lastEndedMs === null ? [] : [`the last such call ended by ${isoOf(lastEndedMs)}`];
  if (proof === null) return [...sent, ...ended];
  const by = proof.by === 'LOOK_UP' ? 'a look-up' : 'an operator';
  const which = phase.state === 'INTENT' ? 'no earlier call' : 'no call';
  const deferred = turnedAway > 0 ? `; calls that the service deferred: ${turnedAway}` : '';
  return [...sent, ...ended, `according to ${by}, ${which} took effect${deferred}`];
}

function unreadLine(what: string, problem: string, place: RecordPlace): Line {
  const { timestampMs, topic } = place;
  return { topic, atMs: timestampMs, what, text: unreadableText({ ...place, problem }) };
}

function resultLine(published: Published<CommandResult>): Line {
  const { headers, problem, timestampMs, topic, value } = published;
  if (problem !== null) return unreadLine('result', problem, published);
  const { completedAt, httpStatus, warnings } = value;
  const parts = [
    resultText(value),
    ...(httpStatus === null ? [] : [`HTTP ${httpStatus}`]),
    `completed ${isoOf(Number(completedAt))}`,
    ...(headers['replayed'] === 'true' ? [`repeated for a copy${repliedTo(headers)}`] : []),
    ...warnings.map((warning) => `warning: ${warning}`),
  ];
  return { topic, atMs: timestampMs, what: 'result', text: parts.join('  ') };
}

function repliedTo(headers: Readonly<Record<string, string>>): string {
  return headers['in-reply-to'] === undefined ? '' : ` (in reply to ${headers['in-reply-to']})`;
}

function decisionLine(published: Published<StoryDecision>, story: Story): Line {
  const { problem, timestampMs, topic, value } = published;
  if (problem !== null) return unreadLine('decision', problem, published);
  const { transactionId } = value;
  const words = auditOf(value);
  const { offset, partition } = movedFromOf(published.headers) ?? published;
  const refusal = story.letters.find(
    ({ letter: { source } }) =>
      source.topic === topic && source.partition === String(partition) && source.offset === offset.toString(),
  );
  const became =
    refusal === undefined
      ? isCarriedOut(published, words, story)
        ? 'carried out'
        : notJudged(published, story)
      : 'refused';
  const of = transactionId === null ? '' : `  ${transactionId}`;
  return { topic, atMs: timestampMs, what: 'decision', text: `${words}${of}  ${became}  (${placeText(published)})` };
}

/** The ledger keeps a key's latest decisions until it forgets the key; a result names its decision. */
function isCarriedOut({ headers: { ce_id: id } }: Published<StoryDecision>, words: string, story: Story): boolean {
  const isNamed = id !== undefined && story.results.some(({ headers }) => headers[DECISION_HEADER] === id);
  return isNamed || story.entries.some(({ entry }) => entry?.audit.includes(words) === true);
}

function notJudged(place: RecordPlace, story: Story): string {
  if (isBeyondAdmitted(place, story)) return 'waits to be read: it may still be carried out';
  return currentEntryOf(story) !== null
    ? 'not carried out, as far as the ledger shows; a refusal is a dead letter, which may be deleted'
    : 'not known: the ledger does not have the key, or has forgotten it';
}
