/**
 * Whether a transaction is another command's already: one with the same accounts and amount, of about the same time, fits a
 * command as well as its own would.
 */
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import type { Saying } from './decided-transaction.ts';
import { findKeys, type FoundKeys } from './story/find-keys.ts';
import { within } from './topic-reading.ts';

/** Offsets of each partition of results and ledger, before its end. */
const NEWEST = 1_000_000;
const READ_FOR_MS = 120_000;

/**
 * @param key of the command that is decided
 * @throws the Kafka client's error; an Error naming the topics that do not exist
 */
export async function lookForOwners(settings: ClientSettings, transactionId: string, key: string): Promise<Saying> {
  const finding = findKeys(settings, new Set([transactionId]), [], NEWEST);
  const late = await within(
    READ_FOR_MS,
    'results and ledger',
    finding.then(() => []),
  );
  if (late.length === 0) return ownersInWords(transactionId, key, await finding);
  const doubt = `whether transaction ${transactionId} is another command's is not known (results and ledger were not read within ${READ_FOR_MS} ms)`;
  return { doubt, notes: [] };
}

/** @param found the keys whose result or entry names the transaction */
export function ownersInWords(transactionId: string, key: string, { cuts, keys }: FoundKeys): Saying {
  const others = keys.filter((other) => other !== key);
  const notes = cuts.map((cut) => `whose the transaction is, not read: ${cut}`);
  if (others.length === 0) return { doubt: null, notes };
  const look = others.map((other) => `\`show ${other}\``).join(', ');
  return { doubt: `transaction ${transactionId} is another command's already: ${others.join(', ')} (${look})`, notes };
}
