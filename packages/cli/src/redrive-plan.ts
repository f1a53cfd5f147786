/**
 * Plans redrives of dead letters: each letter's topic and key, or the reason against it. It only decides; it sends and marks
 * nothing.
 */
import type { RawRecord } from 'payment-processor-client/internal/kafka/raw-record';
import { CARRIED_LENGTH_MAX, type Entry } from '../../../src/ledger/entry.ts';
import { instantMs } from 'payment-processor-contract/instants';
import { keyProblem, readKey } from 'payment-processor-contract/keys';
import { topicNames, type TopicNames } from 'payment-processor-contract/topics';
import type { CliSettings } from './context.ts';
import { CliFailure, unsent } from './exit-codes.ts';
import { readKeys, type KnownKeys } from './ledger.ts';
import { forgottenText, isUnread, relatedDoubts, stateOf, whyItMayBePaid } from './payment-doubts.ts';
import { RedriveFamilies, type Letter } from './redrive-families.ts';
import { contentName, handledText, letterName, noteText, whomToAsk, type RedriveNote } from './redrive-note.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { wholeLetter } from './read-letter.ts';
import { ANSWERED_REASONS, inText, originalHeaders, summaryOf } from './dead-letter.ts';
import { keyCommand } from './key-command.ts';

export interface RedriveTarget {
  topic: string;
  key: string;
  commandType: CommandType;
}

/**
 * The message's topic and key.
 * @throws CliFailure if the message cannot be redriven, or needs another key
 */
function targetOf(letter: RawRecord, topics: TopicNames, newKey: string | null): RedriveTarget {
  const { source } = summaryOf(inText(letter));
  const commandType = COMMAND_TYPES.find((type) => topics.commands[type] === source.topic) ?? null;
  if (source.topic === topics.operatorDecisions) {
    // Only `resolve` checks whether a decision may pay twice. The publisher may have acted on the result since.
    throw unsent('refused', "it is an operator's decision: check with `show`, and decide again with `resolve`");
  }
  if (source.topic === null || commandType === null) {
    throw unsent(
      'refused',
      `the dead letter came from ${source.topic ?? 'an unknown topic'}, which is not a topic of commands under this TOPIC_PREFIX`,
    );
  }
  if (letter.value === null) throw unsent('refused', 'the message has no value to send again');
  if ((letter.headers['ce_id']?.[0]?.toString().length ?? 0) > CARRIED_LENGTH_MAX) {
    throw unsent(
      'refused',
      `its ce_id has more than ${CARRIED_LENGTH_MAX} characters, so no result can name it: set a shorter one with --header ce_id=ID`,
    );
  }
  if (newKey !== null) {
    const problem = keyProblem(newKey);
    if (problem !== null) throw unsent('usage', `--key: ${problem}`);
    return { topic: source.topic, key: newKey, commandType };
  }
  const read = readKey(letter.key);
  if (!read.ok) throw unsent('usage', `${read.problem}: give a key with --key`);
  return { topic: source.topic, key: read.key, commandType };
}

/**
 * What will happen, in sentences.
 * @param entry the ledger entry of the target's key
 * @throws CliFailure if the redrive is certainly useless
 */
function consequencesOf(
  letter: RawRecord,
  target: RedriveTarget,
  entry: Entry | null,
  isNewKey: boolean,
  nowMs: number,
): string[] {
  const { reason } = summaryOf(inText(letter));
  const notes: string[] = ['it counts as a new message, so COMMAND_MAX_AGE starts now'];
  const expiresAt = originalHeaders(letter)['expires-at']?.[0]?.toString();
  const expiresMs = expiresAt === undefined ? Infinity : instantMs(expiresAt);
  if (expiresMs === null)
    notes.push(
      `its expires-at, '${expiresAt ?? ''}', cannot be read: the result will be INVALID, which uses the key up`,
    );
  else if (expiresMs <= nowMs)
    notes.push(`its expires-at, ${expiresAt ?? ''}, has passed: the result will be EXPIRED if the message can be read`);
  if (reason !== null && ANSWERED_REASONS.includes(reason)) {
    notes.push(
      `it was ${reason}, and will be again unless the cause is fixed (by a header, a registered schema or another release)`,
    );
  }
  if (isNewKey && entry === null) {
    notes.push(
      'ask its publisher first: the payment may have been requested again since, or made by an earlier command that the ledger has forgotten',
    );
  }
  if (entry === null)
    return [...notes, `the ledger does not have the key ${target.key}: the message will be a new command`];
  const state = stateOf(entry);
  if (isNewKey) {
    throw unsent(
      'refused',
      `the key ${target.key} is already in use; its command is ${state}. It may be the same payment; check with \`${keyCommand('show', target.key)}\``,
    );
  }
  const isAnswered = state === 'INVALID' && reason !== null && ANSWERED_REASONS.includes(reason);
  if (isAnswered || isUnread(entry)) {
    throw unsent(
      'refused',
      `the key ${target.key} already has the result ${state}, so this message would be a CONFLICT. Give a new key with --key`,
    );
  }
  const retry =
    state === 'FAILED' ? `. To run it again, use \`${keyCommand('resolve', target.key, '--decision RETRY')}\`` : '';
  return [
    ...notes,
    `the key ${target.key} is already in use; its command is ${state}. With the same content, this message gets that command's result; with other content, it will be a CONFLICT${retry}`,
  ];
}

/** Headers to set; each replaces all headers of its name. */
type HeaderChanges = ReadonlyMap<string, string>;

/** The letter as if its message had been published with these headers. */
export function withHeaders(letter: RawRecord, changes: HeaderChanges): RawRecord {
  const changed = [...changes].map(([name, value]) => [name, [Buffer.from(value)]] as const);
  return { ...letter, headers: { ...letter.headers, ...Object.fromEntries(changed) } };
}

export interface ReadyRedrive {
  readonly kind: 'ready';
  /** With its whole message and the final headers. */
  readonly letter: RawRecord;
  readonly target: RedriveTarget;
  /** What will happen, in sentences. */
  readonly notes: readonly string[];
}

interface RefusedRedrive {
  readonly kind: 'refused';
  readonly letter: RawRecord;
  readonly failure: CliFailure;
}

export type PlannedRedrive = ReadyRedrive | RefusedRedrive;

export interface PlanOptions {
  /** The single letter's new key; null: its own. */
  readonly key: string | null;
  /** Appended to each letter's own key; null: nothing. */
  readonly keySuffix: string | null;
  readonly headers: HeaderChanges;
  /** The notes of all redrives so far. */
  readonly notes: ReadonlyMap<string, readonly RedriveNote[]>;
  /** Several at once: no one checks each letter, so letters that may pay twice are left out. */
  readonly isBulk: boolean;
  /** The operator accepts that the single letter may pay twice. */
  readonly mayPayTwice: boolean;
}

export interface TargetedLetter {
  readonly letter: RawRecord;
  readonly target: RedriveTarget;
  readonly ownKey: string | null;
}

/** @returns in the order of the letters */
export async function planRedrives(
  settings: CliSettings,
  letters: readonly RawRecord[],
  options: PlanOptions,
): Promise<PlannedRedrive[]> {
  const letterTargets: (TargetedLetter | RefusedRedrive)[] = [];
  for (const letter of letters) {
    letterTargets.push(await orRefusal(letter, () => targeted(settings, letter, options)));
  }
  const refusals = letterTargets.filter((one) => 'failure' in one);
  if (refusals.length === letterTargets.length) return refusals;
  const families = new RedriveFamilies([...options.notes.values()].flat());
  const keys = letterTargets.flatMap((one) =>
    'target' in one ? [one.target.key, one.ownKey ?? one.target.key, ...families.ancestorsOf(placed(one))] : [],
  );
  const known = { ledger: await readKeys(settings, new Set(keys)), families };
  const taken = new Map<string, string>();
  const planned: PlannedRedrive[] = [];
  for (const one of letterTargets) {
    planned.push('target' in one ? await orRefusal(one.letter, () => readyOf(one, known, taken, options)) : one);
  }
  return planned;
}

async function targeted(settings: CliSettings, deadLetter: RawRecord, options: PlanOptions): Promise<TargetedLetter> {
  const whole = await wholeLetter(settings, deadLetter);
  const letter = withHeaders(whole, options.headers);
  const ownKey = whole.key?.toString('latin1') ?? null;
  const suffixed = options.keySuffix === null || ownKey === null ? null : `${ownKey}${options.keySuffix}`;
  const target = targetOf(letter, topicNames(settings.TOPIC_PREFIX), options.key ?? suffixed);
  return { letter, target, ownKey };
}

/** @param taken keys of earlier letters' targets, with the letters' names */
export function readyOf(
  one: TargetedLetter,
  { families, ledger }: { readonly families: RedriveFamilies; readonly ledger: KnownKeys },
  taken: Map<string, string>,
  { isBulk, mayPayTwice, notes: redrives }: PlanOptions,
): ReadyRedrive {
  const { letter, ownKey, target } = one;
  const known = ledger.entries.get(target.key);
  const entry = known ?? null;
  const isNewKey = target.key !== ownKey;
  const notes = consequencesOf(letter, target, entry, isNewKey, Date.now());
  const doubts = [
    earlierRedriveOf(letter, redrives),
    whyItMayBePaid({ letterMs: letter.timestampMs, newKey: target.key, ownKey }, ledger),
    ...relatedDoubts(placed(one), families, ledger.entries),
    isNewKey && known === null ? forgottenText('the key', target.key) : null,
  ].filter((one) => one !== null);
  const [doubt] = doubts;
  if (isBulk) {
    if (doubt !== undefined) throw unsent('refused', `${doubt}. If it is a different payment, redrive this one alone`);
    const other = taken.get(target.key);
    if (other !== undefined) {
      throw unsent(
        'refused',
        `the dead letter ${other} has the same key ${target.key}: compare the two, and redrive each alone`,
      );
    }
    taken.set(target.key, letterName(letter));
  }
  // The processor does not pay a known key again.
  if (entry !== null) return { kind: 'ready', letter, target, notes };
  if (doubts.length > 0 && !mayPayTwice) {
    throw unsent('refused', `${doubts.join('; ')}. Publishing it may pay twice, and requires --again-may-pay-twice`);
  }
  return { kind: 'ready', letter, target, notes: [...notes, ...doubts] };
}

function placed({ letter, ownKey }: TargetedLetter): Letter {
  return { place: letterName(letter), origin: ownKey ?? contentName(inText(letter)) };
}

/**
 * How the letter itself was handled; null: it was not. Of concurrent redrives at most one was published. The notes do
 * not show which, so each key must be checked.
 */
function earlierRedriveOf(letter: RawRecord, redrives: PlanOptions['notes']): string | null {
  const handled = redrives.get(letterName(letter)) ?? [];
  const notes = [...new Map(handled.map((note) => [handledText(note), note])).values()];
  const [first] = notes;
  if (first === undefined) return null;
  const missing = notes.length === 1 ? 'it is not there' : 'it is under none of these keys';
  // An acknowledgement may say that the payment was made otherwise.
  const isAcknowledged = notes.some(({ because }) => because !== null);
  const again = isAcknowledged ? '' : `. If ${missing}, redrive this one under ${first.key} again`;
  return `the dead letter was ${notes.map(noteText).join(', then ')}: ${notes.map(whomToAsk).join(', and ')}${again}`;
}

/** One letter that cannot be sent must not block the others. */
async function orRefusal<Value>(
  letter: RawRecord,
  make: () => Promise<Value> | Value,
): Promise<Value | RefusedRedrive> {
  try {
    return await make();
  } catch (failure) {
    if (failure instanceof CliFailure) return { kind: 'refused', letter, failure };
    throw failure;
  }
}
