/** The fields of a command, read from its entry. */
import { readCommandFields, type CommandFields } from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import type { Entry } from './entry.ts';

/**
 * Ignores rules that came after the command was admitted.
 * @returns null if the entry no longer has the fields, or they are not of this type
 */
export function keptFields<Type extends CommandType>(
  type: Type,
  { fieldsJson }: Pick<Entry, 'fieldsJson'>,
): CommandFields[Type] | null {
  return fieldsJson === null ? null : readCommandFields(type, parseLossless(fieldsJson)).value;
}
