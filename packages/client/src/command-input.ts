/** A command's fields as a publisher passes them: optional ones may be left out. */
import type {
  LOCKED_CURRENCY_SIDES,
  PURPOSES_OF_PAYMENT,
} from 'payment-processor-contract/command-fields/create-quote';
import type { CommandFields } from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';

/** Fields that may be null or have a default. */
type OptionalName<Fields> = {
  [Name in keyof Fields]-?: null extends Fields[Name]
    ? Name
    : boolean extends Fields[Name]
      ? Name
      : Name extends 'sourceType' | 'destinationType'
        ? Name
        : never;
}[keyof Fields];

/** Strings whose values the interface lists; of account types it shows only one. */
interface Literals {
  lockedCurrencySide: (typeof LOCKED_CURRENCY_SIDES)[number];
  purposeOfPayment: (typeof PURPOSES_OF_PAYMENT)[number] | null;
}
type Literal<Name, Value> = Name extends keyof Literals ? Literals[Name] : Value;

type Input<Value> = Value extends bigint
  ? bigint | number
  : Value extends string | boolean | null
    ? Value
    : Value extends Record<string, string>
      ? Value
      : { [Name in Exclude<keyof Value, OptionalName<Value>>]: Input<Literal<Name, Value[Name]>> } & {
          [Name in OptionalName<Value>]?: Input<Literal<Name, Value[Name]>> | undefined;
        };

/**
 * Fields of a command as a publisher writes them. Amounts are in the smallest unit of their currency: a bigint, or a number
 * that is a safe integer.
 */
export type CommandInput<Type extends CommandType> = Input<CommandFields[Type]>;
