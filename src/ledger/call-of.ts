/** The call of an entry that has an intent. */
import type { ChangeRequest } from '../api/types.ts';
import type { UnphasedEntry } from './entry.ts';
import { keptFields } from './kept-fields.ts';
import { idempotencyKeyOf } from './settlement.ts';

export function callOf(entry: UnphasedEntry): { request: ChangeRequest; idempotencyKey: string } {
  return { request: requestOf(entry), idempotencyKey: idempotencyKeyOf(entry) };
}

function requestOf(entry: UnphasedEntry): ChangeRequest {
  if (entry.step === 'EXECUTE') {
    if (entry.quoted === null) throw new Error(`entry ${entry.key} has no quote to execute`);
    return { operation: 'execute-quote', fields: { quoteId: entry.quoted.quoteId } };
  }
  const fields = keptFields(entry.commandType, entry);
  if (fields === null) throw new Error(`entry ${entry.key} does not have the fields of ${entry.commandType}`);
  // In a two-step quote we make the execution as a separate call, so that we can settle its doubt.
  const own = entry.step === 'CREATE' ? { ...fields, immediatelyExecute: false } : fields;
  return { operation: entry.commandType, fields: own } as ChangeRequest;
}
