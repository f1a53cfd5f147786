/** The fields of a command, read from its entry. */
import { readCommandFields, type CommandFields } from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import type { Entry } from './entry.ts';

/**
 * By what they are: rules that came since they were admitted do not matter any more.
 * @returns null where the entry does not have them any more, or what it has are not fields of the type
 */
export function keptFields<Type extends CommandType>(
  type: Type,
  { fieldsJson }: Pick<Entry, 'fieldsJson'>,
): CommandFields[Type] | null {
  return fieldsJson === null ? null : readCommandFields(type, parseLossless(fieldsJson)).value;
}
