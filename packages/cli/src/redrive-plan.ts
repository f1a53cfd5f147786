/**
 * What is to become of dead letters that are to be redriven: where each goes and under which key, or why not. Decides alone;
 * nothing is sent and nothing marked.
 */
import type { RawRecord } from 'payment-processor-client/internal/kafka/record-at';
import type { Entry } from '../../../src/ledger/entry.ts';
import type { Config } from 'payment-processor-contract/config';
import { keyProblem } from 'payment-processor-contract/keys';
import { topicNames } from 'payment-processor-contract/topics';
import { cliKafka, type CliSettings } from './context.ts';
import { CliFailure } from './exit-codes.ts';
import { readEntries } from './ledger.ts';
import { wholeLetter } from './letter-original.ts';
import { letterName, noteText, whomToAsk, type RedriveNote } from './redrive-notes.ts';
import { foresight, targetOf, withHeaders, type HeaderChanges, type RedriveTarget } from './redrive.ts';

export interface ReadyRedrive {
  readonly kind: 'ready';
  /** With its message whole, and the headers as they will be. */
  readonly letter: RawRecord;
  readonly target: RedriveTarget;
  /** What will happen, in sentences. */
  readonly notes: readonly string[];
}

export interface RefusedRedrive {
  readonly kind: 'refused';
  readonly letter: RawRecord;
  readonly failure: CliFailure;
}

export type PlannedRedrive = ReadyRedrive | RefusedRedrive;

export interface PlanOptions {
  /** The key of the one letter; null: its own. */
  readonly key: string | null;
  /** Put behind each letter's own key; null: nothing. */
  readonly keySuffix: string | null;
  readonly headers: HeaderChanges;
  /** Of all redrives so far. */
  readonly notes: ReadonlyMap<string, readonly RedriveNote[]>;
  /** Several at once: each is looked at by nobody, so what may pay twice is left out. */
  readonly isBulk: boolean;
}

export interface Aimed {
  readonly letter: RawRecord;
  readonly target: RedriveTarget;
  readonly ownKey: string | null;
}

/** @returns in the order of the letters */
export async function planRedrives(
  settings: CliSettings & Pick<Config, 'LEDGER_RETENTION'>,
  letters: readonly RawRecord[],
  options: PlanOptions,
): Promise<PlannedRedrive[]> {
  const aimed: (Aimed | RefusedRedrive)[] = [];
  for (const letter of letters) {
    aimed.push(await refusable(letter, () => aim(settings, letter, options)));
  }
  const keys = aimed.flatMap((one) => ('target' in one ? [one.target.key, one.ownKey ?? one.target.key] : []));
  const entries = keys.length === 0 ? new Map<string, Entry | null>() : await readEntries(settings, new Set(keys));
  const ledger = { entries, remembersMs: settings.LEDGER_RETENTION };
  const taken = new Map<string, string>();
  const planned: PlannedRedrive[] = [];
  for (const one of aimed) {
    planned.push('target' in one ? await refusable(one.letter, () => readyOf(one, ledger, taken, options)) : one);
  }
  return planned;
}

async function aim(settings: CliSettings, buried: RawRecord, options: PlanOptions): Promise<Aimed> {
  const whole = await wholeLetter(cliKafka(settings), `${settings.TOPIC_PREFIX}-cli`, buried);
  const letter = withHeaders(whole, options.headers);
  const ownKey = whole.key?.toString('latin1') ?? null;
  const suffixed = options.keySuffix === null || ownKey === null ? null : `${ownKey}${options.keySuffix}`;
  const target = targetOf(letter, topicNames(settings.TOPIC_PREFIX), options.key ?? suffixed);
  return { letter, target, ownKey };
}

/** What the ledger tells of keys. */
interface KeyMemory {
  /** As `readEntries` has them. */
  readonly entries: ReadonlyMap<string, Entry | null>;
  /** How long it remembers one after its result. */
  readonly remembersMs: number;
}

/** @param taken keys that letters before this one go to, with the letters' names */
export function readyOf(
  { letter, ownKey, target }: Aimed,
  ledger: KeyMemory,
  taken: Map<string, string>,
  { isBulk, notes: redrives }: PlanOptions,
): ReadyRedrive {
  const entry = ledger.entries.get(target.key) ?? null;
  const isNewKey = target.key !== ownKey;
  const notes = foresight(letter, target, entry, isNewKey, Date.now());
  if (target.commandType === null) return { kind: 'ready', letter, target, notes };
  const doubts =
    ownKey === null
      ? []
      : [whyItMayBePaid(letter, ownKey, ledger), whichOtherWas(letter, ownKey, redrives)].filter((one) => one !== null);
  if (isBulk) {
    const [doubt] = doubts;
    if (doubt !== undefined)
      throw new CliFailure('refused', `${doubt}, and redrive it by its place if it is not; nothing was sent`);
    const other = taken.get(target.key);
    if (other !== undefined) {
      throw new CliFailure(
        'refused',
        `dead letter ${other} has the same key ${target.key}: look at both; nothing was sent`,
      );
    }
    taken.set(target.key, letterName(letter));
  }
  // A key that the ledger knows still is not paid again.
  return { kind: 'ready', letter, target, notes: entry === null ? [...notes, ...doubts] : notes };
}

/**
 * Only a command that had no answer, or the INVALID one for being unreadable, is certain not to have been paid. Null: it is.
 * The ledger keeps for as long as it remembers keys that it has forgotten one: beyond that it can tell of none.
 */
function whyItMayBePaid(letter: RawRecord, ownKey: string, { entries, remembersMs }: KeyMemory): string | null {
  const own = entries.get(ownKey);
  const look = `it may be the same payment; look with \`show ${ownKey}\``;
  if (own === undefined) {
    const isRemembered = Date.now() - letter.timestampMs < remembersMs || keyProblem(ownKey) !== null;
    return isRemembered
      ? null
      : `the dead letter is older than LEDGER_RETENTION, so that the command of its own key ${ownKey} may be forgotten: ${look}`;
  }
  if (own === null) return `the ledger has forgotten the command of its own key ${ownKey}: ${look}`;
  if (own.phase.state === 'DONE' && own.phase.outcome === 'INVALID') return null;
  const state = own.phase.state === 'DONE' ? own.phase.outcome : `not finished (${own.phase.state})`;
  const retry = state === 'FAILED' ? `, or run it again with \`resolve ${ownKey} --decision RETRY\`` : '';
  return `the command of its own key ${ownKey} is ${state}: ${look}${retry}`;
}

/** Another letter of the key may have been the same payment, and was sent under a key that nobody can know by this one. Null: none was. */
function whichOtherWas(letter: RawRecord, ownKey: string, redrives: PlanOptions['notes']): string | null {
  const others = [...redrives].flatMap(([name, notes]) => (name === letterName(letter) ? [] : notes));
  const earlier = others.find(({ letterKey }) => letterKey === ownKey);
  if (earlier === undefined) return null;
  const name = letterName({ partition: earlier.partition, offset: earlier.letterOffset });
  return `another dead letter of the key ${ownKey}, ${name}, was ${noteText(earlier)}: it may be the same payment; ${whomToAsk(earlier)}`;
}

/** Of many letters one that cannot be sent must not keep the others back. */
async function refusable<Value>(
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
