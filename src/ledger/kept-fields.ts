/** The fields of a command, read from its entry. */
import { readCommandFields, type CommandFields } from '../records/command-fields.ts';
import type { CommandType } from '../records/commands.ts';
import { parseLossless } from '../records/lossless-json.ts';
import type { Entry } from './entry.ts';

/** @returns null where the entry does not have them any more, or what it has are not fields of the type */
export function keptFields<Type extends CommandType>(
  type: Type,
  { fieldsJson }: Pick<Entry, 'fieldsJson'>,
): CommandFields[Type] | null {
  const read = fieldsJson === null ? null : readCommandFields(type, parseLossless(fieldsJson));
  return read?.ok === true ? read.value : null;
}
