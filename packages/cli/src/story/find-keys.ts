/**
 * Finds the keys of a payment's commands by the id of its transaction or quote: keys that its status changes name, and keys
 * whose result or ledger entry names the id. It reads every lane, because only the key determines the lane.
 */
import { createRegistry, type ClientSettings } from 'payment-processor-client/internal/settings';
import type { Entry } from '../../../../src/ledger/entry.ts';
import { decodeEntry } from '../../../../src/ledger/entry-record.ts';
import { LedgerFormatError } from '../../../../src/ledger/ledger-value.ts';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandResult } from 'payment-processor-contract/types';
import type { StatusEvent } from '../status-history.ts';
import { deletedSince, readTopics } from '../topic-reading.ts';
import { subjectOf } from '../../../../src/ledger/effect.ts';
import { auditStart } from '../../../../src/ledger/operator.ts';
import { entryKeyOf } from '../ledger.ts';

/** One or two commands make a payment. More are repetitions of a publisher. */
export const KEYS_MAX = 20;

export interface FoundKeys {
  readonly keys: readonly string[];
  /** What was not read, in words. */
  readonly cuts: readonly string[];
}

export interface KeysOfPayment extends FoundKeys {
  /** Records were left out for other reasons than the caller's own limits: what was not found may exist. */
  readonly isCutShort: boolean;
}

/**
 * @param ids known ids of the payment's transaction and quote
 * @param changes its status changes
 * @throws the Kafka client's error; an Error naming the topics that do not exist
 */
export async function findKeys(
  settings: ClientSettings,
  ids: ReadonlySet<string>,
  changes: readonly StatusEvent[],
  newest: number,
): Promise<KeysOfPayment> {
  const { ledger, results } = topicNames(settings.TOPIC_PREFIX);
  const registry = createRegistry(settings);
  const keys = new Set(
    changes.flatMap((change) => {
      if (change.kind === 'unreadable') return [];
      return change.kind === 'transaction-status' ? change.value.commandKeys : (change.value.commandKey ?? []);
    }),
  );
  const cuts = unreadChanges(changes);
  const unread = { count: 0 };
  const hidden = await readTopics(settings, {
    topics: [results, ledger],
    newest,
    onCut: (cut) => void cuts.push(`${cut} (--newest)`),
    onRecord: async (record) => {
      if (keys.size >= KEYS_MAX || record.key === null || record.value === null) return;
      const { value } = record;
      if (record.topic === ledger) {
        const entry = entryKeyOf(record) === null ? null : entryOf(value, unread);
        if (entry !== null && namesIn(entry).some((id) => ids.has(id))) keys.add(entry.key);
        return;
      }
      const key = record.key.toString();
      if (keys.has(key)) return;
      const result = await resultWith(value, ids, registry, results, unread);
      if (result !== null && namesOfResult(result).some((id) => ids.has(id))) keys.add(key);
    },
  });
  cuts.push(...hidden);
  if (keys.size >= KEYS_MAX) cuts.push(`keys beyond the first ${KEYS_MAX}`);
  if (unread.count > 0)
    cuts.push(
      `${unread.count} records of the results and the ledger, which this release cannot read, or cannot read now`,
    );
  return { keys: [...keys], cuts, isCutShort: hidden.length > 0 || unread.count > 0 };
}

export interface OwningResults extends FoundKeys {
  /** Results that an operator decided EXECUTED without naming a transaction. */
  readonly unnamed: readonly CommandResult[];
}

/**
 * Finds commands that the transaction pays, or may pay, in all results with this timestamp or a later one. A rejection
 * pays for nothing, nor does a command without effect.
 */
export async function findOwnersInResults(
  settings: ClientSettings,
  transactionId: string,
  sinceMs: number,
): Promise<OwningResults> {
  const { results } = topicNames(settings.TOPIC_PREFIX);
  const registry = createRegistry(settings);
  const keys = new Set<string>();
  const unnamed = new Map<string, CommandResult>();
  const unread = { count: 0 };
  const texts = new Set([transactionId, auditStart('EXECUTED')]);
  const hidden = await readTopics(settings, {
    topics: [results],
    sinceMs,
    onRecord: async ({ key, value }) => {
      if (key === null || value === null || keys.has(key.toString())) return;
      const result = await resultWith(value, texts, registry, results, unread);
      if (result === null || !mayPay(result.commandType, result.outcome)) return;
      const names = namesOfResult(result);
      if (names.includes(transactionId)) keys.add(result.commandKey);
      else if (names.length === 0 && result.settledBy === 'OPERATOR') unnamed.set(result.commandKey, result);
    },
  });
  // An UNKNOWN command may be older than the topic's retention, so results since its first call may be deleted. Asked
  // last, to include what was deleted during the reading.
  const gone = await deletedSince(settings, results, sinceMs);
  const cuts =
    unread.count === 0 ? [] : [`${unread.count} results, which this release cannot read, or cannot read now`];
  return { keys: [...keys], unnamed: [...unnamed.values()], cuts: [...gone, ...hidden, ...cuts] };
}

/** @param outcome null: the command is not finished */
export function mayPay(commandType: string, outcome: string | null): boolean {
  return commandType !== 'reject-transaction' && (outcome === null || outcome === 'ACCEPTED' || outcome === 'UNKNOWN');
}

/**
 * The result, if it contains one of the texts; null if not, or if it is unreadable, which is counted.
 * @param value the raw record
 */
async function resultWith(
  value: Buffer,
  texts: ReadonlySet<string>,
  registry: ReturnType<typeof createRegistry>,
  topic: string,
  unread: { count: number },
): Promise<CommandResult | null> {
  // An Avro string is its UTF-8 bytes: most records need not be decoded.
  if (![...texts].some((text) => value.includes(text))) return null;
  const decoded = await registry.decode(topic, value);
  if (decoded.kind === 'record') return decoded.value as CommandResult;
  unread.count += 1;
  return null;
}

/** Unreadable changes may name further commands. */
export function unreadChanges(changes: readonly StatusEvent[]): string[] {
  const count = changes.filter(({ kind }) => kind === 'unreadable').length;
  return count === 0 ? [] : [`the keys in ${count} status changes, which this release cannot read, or cannot read now`];
}

/** Why no command was found for a payment that has status changes. @param cuts what was not read, in words */
export function noCommandText(id: string, cuts: readonly string[]): string[] {
  if (cuts.length > 0) return [`no command in the records read names ${id}`];
  return [
    `no command in the kept records names ${id}. Either no command of this processor made it, or its command`,
    '- waits to be admitted (`lag`);',
    '- is in doubt (`unfinished list`);',
    '- is UNKNOWN (`unknown list`);',
    '- was decided EXECUTED without this id;',
    '- was decided NOT_EXECUTED, although it made the payment;',
    '- was forgotten after LEDGER_RETENTION.',
  ];
}

/** Null if this release cannot read it. */
function entryOf(value: Buffer, unread: { count: number }): Entry | null {
  try {
    return decodeEntry(value);
  } catch (error) {
    if (!(error instanceof LedgerFormatError)) throw error;
    unread.count += 1;
    return null;
  }
}

/** The entry's ids of the payment's transaction and quote, if any. */
export function namesIn(entry: Entry): string[] {
  const subject = subjectOf(entry);
  return textsOf(subject?.quoteId, subject?.transactionId);
}

function namesOfResult({ quote, transaction }: CommandResult): string[] {
  const quoteOfTransaction = transaction === null ? null : quoteIdAmong(transaction.otherFieldsJson);
  return textsOf(quote?.id, quote?.transactionId, transaction?.id, quoteOfTransaction);
}

function textsOf(...texts: readonly (string | null | undefined)[]): string[] {
  return texts.filter((text): text is string => typeof text === 'string');
}
