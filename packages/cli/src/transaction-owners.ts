/**
 * Whether a transaction belongs, or may belong, to another command. Commands with the same accounts and amount at the
 * same time fit each other's transactions.
 */
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { possibleEffectOf } from '../../../src/ledger/effect.ts';
import type { Entry } from '../../../src/ledger/entry.ts';
import { mayBeUnfinished, mayBeUnknown } from '../../../src/ledger/ledger-value.ts';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { CommandResult, Transaction } from 'payment-processor-contract/types';
import { fits, LATE_MS_MAX, type CheckResult } from './decided-transaction.ts';
import { scanLedger } from './ledger.ts';
import { findOwnersInResults, mayPay, namesIn, type FoundKeys } from './story/find-keys.ts';
import { lateText } from './topic-reading.ts';
import { compared, isMadeByCall, lastEndedMsOf, sentMsOf } from './transaction-comparison.ts';
import { keyCommand } from './key-command.ts';

const READ_FOR_MS = 120_000;
/** Results that name a transaction were written after the command's first call; clocks differ by less than this. */
const LOOK_BEFORE_MS = 3_600_000;

export interface FoundOwners extends FoundKeys {
  /** Entries of other commands that may have made the transaction. */
  readonly rivals: readonly Entry[];
  /** Keys of other commands that were decided EXECUTED without their transaction: it may be this one. */
  readonly unnamed: readonly string[];
}

/**
 * @param transaction as the service shows it; null: not found
 * @param entry of the command under decision
 * @throws the Kafka client's error; an Error naming the topics that do not exist; CliFailure for another release's ledger
 */
export async function lookForOwners(
  settings: ClientSettings,
  transactionId: string,
  transaction: Transaction | null,
  entry: Entry,
): Promise<CheckResult> {
  const { key } = entry;
  const ids = idsOfPayment(transactionId, transaction, entry);
  const names = (other: Entry): boolean =>
    namesIn(other).some((id) => ids.has(id)) &&
    mayPay(other.commandType, other.phase.state === 'DONE' ? other.phase.outcome : null);
  const finding = findOwnersInResults(settings, transactionId, sentMsOf(entry) - LOOK_BEFORE_MS);
  const [isInTime, ofLedger] = await Promise.all([
    settledWithin(finding, READ_FOR_MS),
    scanLedger(
      settings,
      READ_FOR_MS,
      // An Avro string is its UTF-8 bytes: most records need not be decoded.
      (_key, value) => mayBeUnfinished(value) || mayBeUnknown(value) || [...ids].some((id) => value.includes(id)),
      (other): other is Entry => names(other) || (transaction !== null && mayHaveMade(other, key, transaction)),
    ),
  ]);
  const ofResults = isInTime ? await finding : { keys: [], cuts: [lateText('results', READ_FOR_MS)], unnamed: [] };
  const entries = ofLedger.found.map((one) => one.entry);
  const { doubt } = ownersInWords(transactionId, entry, {
    keys: [...new Set([...ofResults.keys, ...entries.filter(names).map((other) => other.key)])],
    cuts: [...ofResults.cuts, ...ofLedger.cuts],
    rivals: entries.filter((other) => !names(other)),
    unnamed: ofResults.unnamed
      .filter((result) => result.commandKey !== key && mayMean(result, entry, transaction))
      .map(({ commandKey }) => commandKey),
  });
  const others = 'another prefix, or another system with this account, may have made the transaction';
  return { doubt, notes: [`looked for other commands under TOPIC_PREFIX=${settings.TOPIC_PREFIX} alone: ${others}`] };
}

/** Results do not show the command's fields. So any transaction of its time may be the one that its operator found. */
function mayMean(
  { commandTimestamp, commandType }: CommandResult,
  entry: Entry,
  transaction: Transaction | null,
): boolean {
  const createdMs = Date.parse(transaction?.createdAt ?? '');
  return commandType === entry.commandType && !(Number(commandTimestamp) > createdMs + LATE_MS_MAX);
}

/** Whether the entry belongs to another command that fits the transaction, and whose call may have made it. */
export function mayHaveMade(entry: Entry, key: string, transaction: Transaction): boolean {
  const { phase } = entry;
  if (entry.key === key || !isMadeByCall(entry)) return false;
  const isOpen =
    phase.state === 'DONE'
      ? phase.outcome === 'UNKNOWN' && !(Date.parse(transaction.createdAt ?? '') > lastEndedMsOf(entry) + LATE_MS_MAX)
      : possibleEffectOf(entry)?.on === 'new';
  return isOpen && fits(compared(transaction, entry));
}

/** @param found keys whose result or entry names the transaction, and commands that may have made it */
export function ownersInWords(transactionId: string, entry: Entry, found: FoundOwners): Pick<CheckResult, 'doubt'> {
  // Another command can execute this command's quote only by its name: a command that names none is no rival.
  const isOwn = namesIn(entry).includes(transactionId);
  const { cuts, keys, rivals, unnamed } = isOwn ? { ...found, rivals: [], unnamed: [] } : found;
  const what = `transaction ${transactionId}`;
  const said = (is: string, of: readonly string[], names = of.join(', ')): string[] =>
    of.length === 0
      ? []
      : [`${what} ${is}: ${names} (${of.map((other) => `\`${keyCommand('show', other)}\``).join(', ')})`];
  const others = keys.filter((other) => other !== entry.key);
  const rivalKeys = rivals.map((rival) => rival.key);
  const unread = `it is not known whether ${what} belongs to another command (not read: ${cuts.join('; ')})`;
  const doubts = [
    ...said('already belongs to another command', others),
    ...said('may belong to another command', rivalKeys, rivals.map(stateOf).join('; ')),
    ...said('may be the one for which another command was decided EXECUTED, without a transaction id', unnamed),
    ...(cuts.length === 0 ? [] : [unread]),
  ];
  return { doubt: doubts.length === 0 ? null : doubts.join('; ') };
}

/**
 * The ids of the transaction and of its quote, if the service or the command under decision names the quote: an
 * execution may name only that.
 */
export function idsOfPayment(
  transactionId: string,
  transaction: Transaction | null,
  entry: Entry,
): ReadonlySet<string> {
  const own = namesIn(entry);
  const quoteId = quoteIdAmong(transaction?.otherFieldsJson ?? null);
  return new Set([transactionId, ...(own.includes(transactionId) ? own : []), ...(quoteId === null ? [] : [quoteId])]);
}

function stateOf({ key, phase }: Entry): string {
  return `${key}, ${phase.state === 'DONE' ? phase.outcome : phase.state}`;
}
