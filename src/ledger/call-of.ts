/** The request of an entry's next or current call. */
import type { ChangeRequest } from '../api/types.ts';
import type { CommandFields } from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';
import type { UnphasedEntry } from './entry.ts';
import { keptFields } from './kept-fields.ts';
import { idempotencyKeyOf } from './settlement.ts';

/** @throws if the entry lacks the fields of its call, or the quote to execute */
export function callOf(entry: UnphasedEntry): { request: ChangeRequest; idempotencyKey: string } {
  return { request: requestOf(entry), idempotencyKey: idempotencyKeyOf(entry) };
}

function requestOf(entry: UnphasedEntry): ChangeRequest {
  if (entry.step === 'EXECUTE') {
    if (entry.quoted === null) throw new Error(`entry ${entry.key} has no quote to execute`);
    return { operation: 'execute-quote', fields: { quoteId: entry.quoted.quoteId } };
  }
  switch (entry.commandType) {
    case 'create-quote': {
      const fields = fieldsOf(entry, 'create-quote');
      // In a two-step quote we make the execution as a separate call, so that we can settle its doubt.
      return {
        operation: 'create-quote',
        fields: entry.step === 'CREATE' ? { ...fields, immediatelyExecute: false } : fields,
      };
    }
    case 'execute-quote':
      return { operation: 'execute-quote', fields: fieldsOf(entry, 'execute-quote') };
    case 'transfer-in':
      return { operation: 'transfer-in', fields: fieldsOf(entry, 'transfer-in') };
    case 'reject-transaction':
      return { operation: 'reject-transaction', fields: fieldsOf(entry, 'reject-transaction') };
    case 'simulate-uma-receive':
      return { operation: 'simulate-uma-receive', fields: fieldsOf(entry, 'simulate-uma-receive') };
  }
}

function fieldsOf<Type extends CommandType>(entry: UnphasedEntry, type: Type): CommandFields[Type] {
  const fields = keptFields(type, entry);
  if (fields === null) throw new Error(`entry ${entry.key} does not have the fields of ${type}`);
  return fields;
}
