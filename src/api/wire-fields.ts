/**
 * Tolerant reading of JSON objects into records: values that fit go into the record's fields, everything else goes into
 * its `otherFieldsJson`, as received.
 */
import {
  int64ValueOf,
  isJsonObject,
  isRawNumber,
  stringifyLossless,
  type JsonObject,
  type JsonValue,
} from 'payment-processor-contract/lossless-json';

/** A reader for each field of the generated record type: a missing one, or one of the wrong type, does not compile. */
export interface RecordShape<Resource> {
  fields: { [Name in Exclude<keyof Resource, 'otherFieldsJson'>]: Field<NonNullable<Resource[Name]>> };
  /** A JSON member that may hold the fields instead. */
  nestedUnder?: string;
}

/** The value of a field, and the `rest` that did not fit and is kept (undefined: everything fitted). */
interface FieldReading<Value> {
  value: Value | null;
  rest?: JsonValue;
}
/** Reads a value that is present and not null; `path` names it in warnings. */
export type Field<Value> = (value: JsonValue, path: string, warnings: string[]) => FieldReading<Value>;

/** More warnings than this say nothing new. */
const WARNINGS_MAX = 20;

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;
const DECIMAL_TEXT = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

export const text: Field<string> = scalar((value) => (typeof value === 'string' ? value : null), 'text');
/** An empty one names nothing: it becomes null, without a warning. */
export const id: Field<string> = (value, path, warnings) =>
  value === '' ? { value: null, rest: value } : text(value, path, warnings);
/** bigint; a service may write integers as `1000.0`. */
export const int64: Field<bigint> = scalar(int64ValueOf, 'a 64-bit integer');
/** A double that is a 32-bit integer. */
export const int32: Field<number> = scalar((value) => {
  const double = isRawNumber(value) ? Number(value.rawJSON) : NaN;
  return Number.isInteger(double) && double >= INT32_MIN && double <= INT32_MAX ? double : null;
}, 'a 32-bit integer');
/** The digits as received; a decimal that the service writes as text keeps its text. */
export const decimal: Field<string> = scalar((value) => {
  if (isRawNumber(value)) return value.rawJSON;
  return typeof value === 'string' && DECIMAL_TEXT.test(value) ? value : null;
}, 'a number');

/** Readers of Avro maps silently drop a member of this name. */
const LOST_NAME = '__proto__';

/** An object of texts. Null, members of another type, and a member named LOST_NAME go into `rest`. */
export const textMap: Field<Record<string, string>> = (value, path, warnings) => {
  if (!isJsonObject(value)) return misfit(value, path, 'an object', warnings);
  const isText = (entry: [string, JsonValue]): entry is [string, string] =>
    typeof entry[1] === 'string' && entry[0] !== LOST_NAME;
  const members = Object.entries(value);
  const rest = members.filter((member) => !isText(member));
  // Null means that the service has no value, which is no fault.
  if (rest.some(([, member]) => member !== null))
    warn(warnings, `${path} has a member that is not text, or is named ${LOST_NAME}`);
  return {
    value: Object.fromEntries(members.filter(isText)),
    ...(rest.length > 0 ? { rest: Object.fromEntries(rest) } : {}),
  };
};

export function recordOf<Resource>(shape: RecordShape<Resource>): Field<Resource> {
  return (value, path, warnings) =>
    isJsonObject(value)
      ? { value: readRecord(shape, value, `${path}.`, warnings) }
      : misfit(value, path, 'an object', warnings);
}

/** A list of records. If some members are not objects, the whole list is kept aside as well. */
export function listOf<Resource>(shape: RecordShape<Resource>): Field<Resource[]> {
  return (value, path, warnings) => {
    if (!Array.isArray(value)) return misfit(value, path, 'a list', warnings);
    const records = value.flatMap((member, index) =>
      isJsonObject(member) ? [readRecord(shape, member, `${path}[${index}].`, warnings)] : [],
    );
    if (records.length === value.length) return { value: records };
    warn(warnings, `${path} holds members that are not objects`);
    return { value: records, rest: value };
  };
}

/**
 * Reads an object into a record that has every field of the shape, null if absent or unfit, and `otherFieldsJson`.
 * @param pathPrefix '' or a path that ends in '.'
 * @param warnings receives one for each misfit, up to WARNINGS_MAX
 */
export function readRecord<Resource>(
  shape: RecordShape<Resource>,
  object: JsonObject,
  pathPrefix: string,
  warnings: string[],
): Resource {
  const { record, rest } = readFields(shape.fields, object, pathPrefix, warnings);
  const nested = shape.nestedUnder === undefined ? undefined : rest.get(shape.nestedUnder);
  if (shape.nestedUnder !== undefined && nested !== undefined && isJsonObject(nested)) {
    rest.delete(shape.nestedUnder);
    const inner = readFields(shape.fields, nested, `${pathPrefix}${shape.nestedUnder}.`, warnings);
    for (const [name, value] of Object.entries(inner.record)) {
      if (value === null) continue;
      // Both places have it: the inner one counts, and the outer one is kept like any other field.
      const outer = object[name];
      if (record[name] !== null && outer !== undefined) rest.set(name, outer);
      record[name] = value;
    }
    if (inner.rest.size > 0) rest.set(shape.nestedUnder, Object.fromEntries(inner.rest));
  }
  // The shape has a reader of the right type for every field.
  return {
    ...record,
    otherFieldsJson: rest.size === 0 ? null : otherFieldsJson(rest, pathPrefix, warnings),
  } as Resource;
}

function readFields(
  fields: Readonly<Record<string, Field<unknown>>>,
  object: JsonObject,
  pathPrefix: string,
  warnings: string[],
): { record: Record<string, unknown>; rest: Map<string, JsonValue> } {
  const record: Record<string, unknown> = {};
  const rest = new Map<string, JsonValue>();
  for (const name in fields) {
    const value = Object.hasOwn(object, name) ? (object[name] ?? null) : null;
    const reading = value === null ? undefined : fields[name]?.(value, pathPrefix + name, warnings);
    record[name] = reading?.value ?? null;
    if (reading?.rest !== undefined) rest.set(name, reading.rest);
  }
  for (const name of Object.keys(object)) if (!Object.hasOwn(fields, name)) rest.set(name, object[name] ?? null);
  return { record, rest };
}

function otherFieldsJson(rest: Map<string, JsonValue>, pathPrefix: string, warnings: string[]): string | null {
  try {
    return stringifyLossless(Object.fromEntries(rest));
  } catch (error) {
    // The parser may accept nesting that is too deep for the writer.
    if (!(error instanceof RangeError)) throw error;
    warn(warnings, `${pathPrefix}otherFieldsJson was too deeply nested and is left out`);
    return null;
  }
}

/** @param read returns null for an unexpected value */
function scalar<Value>(read: (value: JsonValue) => Value | null, expected: string): Field<Value> {
  return (value, path, warnings) => {
    const fitting = read(value);
    return fitting === null ? misfit(value, path, expected, warnings) : { value: fitting };
  };
}

function misfit(value: JsonValue, path: string, expected: string, warnings: string[]): FieldReading<never> {
  warn(warnings, `${path} is not ${expected}`);
  return { value: null, rest: value };
}

function warn(warnings: string[], warning: string): void {
  if (warnings.length < WARNINGS_MAX) warnings.push(warning);
}
