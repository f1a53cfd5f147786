/** The story of a key as text for an operator and as one JSON document; masked unless asked otherwise. Pure. */
import type { Entry } from '../../../../src/ledger/entry.ts';
import { timeLimitInWords } from '../../../../src/ledger/time-limit.ts';
import { parseLossless, stringifyLossless } from 'payment-processor-contract/lossless-json';
import { eventDocument, isoOf, placeText } from '../event-output.ts';
import { phaseText } from '../ledger.ts';
import { masksOf, type Masks } from '../masking.ts';
import {
  callsOf,
  earlierOutcomeOf,
  hasNewCommand,
  hasWaitingDecision,
  lastEntryOf,
  notKept,
  paymentOf,
  roleOf,
  runbooksOf,
  runningEntryOf,
  type PublishedMessage,
  type Story,
  currentEntryOf,
  isAbout,
  isOfMessage,
} from './story.ts';
import { timelineOf } from './timeline.ts';

const HEADING_WIDTH = 13;

export function storyText(story: Story, isUnmasked: boolean): string[] {
  const entry = currentEntryOf(story);
  const masks = masksOf(isUnmasked);
  return [
    heading('key', story.key),
    heading('state', `${story.isCutShort ? 'as far as it was read: ' : ''}${masks.text(stateText(story, entry))}`),
    heading('payment', paymentText(story)),
    ...earlierLines(story),
    ...commandLines(story, masks),
    ...(entry === null ? [] : limitLines(entry).map(masks.text)),
    heading('history', `messages: ${story.messages.length}, calls in the ledger: ${callsOf(story).length}`),
    ...timelineOf(story).map((line) => masks.text(`  ${line}`)),
    ...notKept(story).map((text) => heading('not kept', text)),
    ...story.cuts.map((text) => heading('not read', text)),
    ...runbooksOf(story).map((path) => heading('runbook', path)),
  ];
}

export function storyDocument(story: Story, isUnmasked: boolean): object {
  const { changes, cuts, decisions, entries, key, letters, messages, results } = story;
  const entry = currentEntryOf(story);
  const { kind, status, transactionId } = { status: null, transactionId: null, ...paymentOf(story) };
  const document = {
    payment: { kind, status, transactionId, earlierOutcome: earlierOutcomeOf(story) },
    state: entry === null ? null : entry.phase.state,
    outcome: entry?.phase.state === 'DONE' ? entry.phase.outcome : null,
    published: messages.map((message) => {
      const { value: fields, ...rest } = message;
      return { ...dated(rest), role: roleOf(message, story), fields };
    }),
    calls: callsOf(story).map(({ beganMs, ...call }) => ({ ...call, began: isoOf(beganMs) })),
    ledger: entries.map(({ entry: present, ...place }) => {
      return { ...dated(place), entry: present === null ? null : entryDocument(present) };
    }),
    results: results.map(dated),
    decisions: decisions.map(dated),
    deadLetters: letters.map(({ letter, redriven }) => ({ ...letter, redriven })),
    statusChanges: changes.map(eventDocument),
    runbooks: runbooksOf(story),
    notKept: notKept(story),
    notRead: cuts,
    isCutShort: story.isCutShort,
  };
  // The operator gave the key, so it is not masked in headers and records.
  return { key, ...(masksOf(isUnmasked).value(document) as object) };
}

function stateText(story: Story, entry: Entry | null): string {
  if (entry !== null) return `${entry.phase.state}, ${phaseText(entry)}; revision ${entry.revision}`;
  if (story.entries.length > 0) return 'forgotten after LEDGER_RETENTION';
  const isMissing = !story.isCutShort && story.messages.some((message) => roleOf(message, story) !== 'other-content');
  return isMissing ? 'not in the ledger: not admitted yet (see `lag`), or forgotten' : 'not in the ledger';
}

/** A result does not mention earlier commands of its key. */
function earlierLines(story: Story): string[] {
  const outcome = earlierOutcomeOf(story);
  return outcome === null
    ? []
    : [heading('earlier', `${outcome}: an earlier command of this key, which the ledger has forgotten`)];
}

const UNKNOWN_TEXT = 'unknown: the command may have taken effect; an operator must decide';

function paymentText(story: Story): string {
  const payment = paymentOf(story);
  switch (payment.kind) {
    case 'settled':
      return `settled: ${payment.status}, ${payment.transactionId}`;
    case 'open': {
      const known = `${payment.status ?? 'no status known'}, ${payment.transactionId ?? 'no transaction known'}`;
      return story.isCutShort ? `not certain, because a part was not read: ${known}` : `not settled: ${known}`;
    }
    case 'not-accepted': {
      const word = payment.result.settledBy === 'OPERATOR' ? ', on the word of an operator' : '';
      return `none by this command${word}: ${payment.result.outcome}`;
    }
    case 'unknown':
      return UNKNOWN_TEXT;
    case 'nothing-known':
      return nothingKnownText(story);
  }
}

function nothingKnownText(story: Story): string {
  if (hasNewCommand(story))
    return 'nothing known yet: a message waits, and the results are those of an earlier command of the key';
  if (runningEntryOf(story) !== null) return 'nothing known yet: the command is in progress';
  const phase = currentEntryOf(story)?.phase;
  if (phase?.state === 'DONE' && phase.outcome === 'UNKNOWN') return UNKNOWN_TEXT;
  if (hasWaitingDecision(story)) return 'nothing known yet: a decision waits, and may still be carried out';
  if (story.results.every((result) => isOfMessage(result))) return 'nothing known: no readable result was found';
  return 'nothing known for certain: the last result may not have been read; run it again';
}

/**
 * Shows the command's message. Without it, the ledger's copy of the command; if the ledger has forgotten that, the
 * message that the results are about. Other messages of the key may have any content.
 */
function commandLines(story: Story, masks: Masks): string[] {
  const { messages } = story;
  const entry = lastEntryOf(story);
  const command = messages.find((message) => roleOf(message, story) === 'command');
  const settled = story.results.findLast((result) => !isOfMessage(result));
  const isOfResult = (message: PublishedMessage): boolean =>
    settled === undefined || isAbout(settled, { ...message, ...message.movedFrom });
  const forgotten = messages.find(isOfResult);
  const shown = command ?? (entry === null ? forgotten : undefined);
  if (shown !== undefined) return messageLines(shown, masks);
  if (entry === null) return [];
  const fields = entry.fieldsJson === null ? null : parseLossless(entry.fieldsJson);
  return [
    heading('command', `${entry.commandType}; its message was not among the records read`),
    heading('fields', fields === null ? 'not kept by the ledger' : stringifyLossless(masks.value(fields))),
  ];
}

function messageLines(message: PublishedMessage, masks: Masks): string[] {
  const { headers, problem, value } = message;
  return [
    heading('command', `${message.commandType}, ${message.valueBytes} bytes, published ${isoOf(message.timestampMs)}`),
    heading('where', placeText(message)),
    ...Object.entries(headers).map(([name, value]) => heading('header', masks.text(`${name}: ${value}`))),
    heading(
      'fields',
      problem === null ? stringifyLossless(masks.value(value)) : masks.text(`cannot be read: ${problem}`),
    ),
  ];
}

function limitLines(entry: Entry): string[] {
  const { carried, copies, quoted } = entry;
  const correlation = carried['correlation-id'];
  return [
    heading('admitted', `from ${placeText(entry.origin)}`),
    heading('time limit', `${timeLimitInWords(entry)}; no call starts later`),
    ...(quoted === null ? [] : [heading('quote', `${quoted.quoteId} of ${quoted.transactionId}`)]),
    ...(correlation === undefined ? [] : [heading('correlation', correlation)]),
    ...(copies.length === 0 ? [] : [heading('copies', `${copies.length} wait for the result`)]),
  ];
}

/** Omits the result's bytes: the story's results show them decoded. */
function entryDocument({ fieldsJson, phase, ...entry }: Entry): object {
  const shown =
    phase.state === 'DONE' ? { state: phase.state, outcome: phase.outcome, completedMs: phase.completedMs } : phase;
  return { ...entry, fields: fieldsJson === null ? null : parseLossless(fieldsJson), phase: shown };
}

function dated<Record extends { timestampMs: number }>({ timestampMs, ...record }: Record) {
  return { ...record, timestamp: isoOf(timestampMs) };
}

function heading(name: string, text: string): string {
  return `${name.padEnd(HEADING_WIDTH)}${text}`;
}
