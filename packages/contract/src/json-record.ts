/**
 * One of our records written as JSON: the same members by name, longs as integers with all digits. Read by our own schema, it
 * gives the same value as the Avro: missing members get their defaults, and unknown members are left out.
 */
import { avroTypeOf, type AvroType } from './avro-survey.ts';
import { int64Of, isJsonObject, isRawNumber, parseLossless, type JsonValue } from './lossless-json.ts';
import { loadType } from './schemas.ts';

type Read = { ok: true; value: unknown } | { ok: false; problem: string };
const types = new Map<string, AvroType>();

class WrongMember extends Error {}

/** @param text the record as stringifyLossless wrote it */
export function readJsonRecord(recordName: string, text: string): Read {
  try {
    return { ok: true, value: read(typeOf(recordName), parseLossless(text), recordName) };
  } catch (error) {
    if (error instanceof WrongMember) return { ok: false, problem: error.message };
    if (error instanceof SyntaxError) return { ok: false, problem: `not JSON: ${error.message}` };
    throw error;
  }
}

function read(type: AvroType, value: JsonValue, path: string): unknown {
  switch (type.typeName) {
    case 'record':
      if (isJsonObject(value)) return Object.fromEntries(type.fields.map((field) => readField(field, value, path)));
      break;
    case 'union:unwrapped': {
      // Our unions have null and one other type.
      const branch = type.types.find(({ typeName }) => (typeName === 'null') === (value === null));
      if (branch !== undefined) return value === null ? null : read(branch, value, path);
      break;
    }
    case 'array':
      if (Array.isArray(value)) return value.map((item, index) => read(type.itemsType, item, `${path}[${index}]`));
      break;
    case 'map':
      if (!isJsonObject(value)) break;
      return Object.fromEntries(
        Object.entries(value).map(([name, item]) => [name, read(type.valuesType, item, `${path}.${name}`)]),
      );
    case 'string':
    case 'boolean':
      if (typeof value === type.typeName) return value;
      break;
    case 'abstract:long': {
      const integer = int64Of(value);
      if (integer !== null) return integer;
      break;
    }
    case 'int':
      if (isRawNumber(value) && Number.isSafeInteger(Number(value.rawJSON))) return Number(value.rawJSON);
  }
  throw new WrongMember(`${path} is not a ${type.typeName.replace('abstract:', '')}`);
}

function readField(
  { defaultValue, name, type }: AvroType['fields'][number],
  record: Readonly<Record<string, JsonValue>>,
  path: string,
): [string, unknown] {
  const member = Object.hasOwn(record, name) ? record[name] : undefined;
  const value = member === undefined ? defaultValue() : read(type, member, `${path}.${name}`);
  if (value === undefined) throw new WrongMember(`${path}.${name} is missing`);
  return [name, value];
}

function typeOf(recordName: string): AvroType {
  const type = types.get(recordName) ?? avroTypeOf(loadType(recordName));
  types.set(recordName, type);
  return type;
}
