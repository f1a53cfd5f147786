/** What a publisher gives for a command: its fields, where those that may be absent can be left out. */
import type { CommandFields } from '../records/command-fields.ts';
import type { CommandType } from '../records/commands.ts';

/** Fields that may be null or have a default. */
type OptionalName<Fields> = {
  [Name in keyof Fields]-?: null extends Fields[Name] ? Name : boolean extends Fields[Name] ? Name : never;
}[keyof Fields];

type Input<Value> = Value extends bigint
  ? bigint | number
  : Value extends string | boolean | null
    ? Value
    : Value extends Record<string, string>
      ? Value
      : { [Name in Exclude<keyof Value, OptionalName<Value>>]: Input<Value[Name]> } & {
          [Name in OptionalName<Value>]?: Input<Value[Name]> | undefined;
        };

/**
 * Fields of a command as a publisher writes them. Amounts are in the smallest unit of their currency: a bigint, or a number
 * that is a safe integer.
 */
export type CommandInput<Type extends CommandType> = Input<CommandFields[Type]>;
