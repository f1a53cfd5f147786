/**
 * One of our records written as JSON: the same members by name, longs as integers with all digits. Read by our own schema, it
 * gives the same value as the Avro: missing members get their defaults, and unknown members are left out.
 */
import { int64Of, isJsonObject, isRawNumber, parseLossless, type JsonValue } from './lossless-json.ts';
import { readSchemaFile, RECORD_NAMESPACE, type RecordSchema } from './schemas.ts';

type Read = { ok: true; value: unknown } | { ok: false; problem: string };
const schemas = new Map<string, RecordSchema>();

class WrongMember extends Error {}

/** @param text the record as stringifyLossless wrote it */
export function readJsonRecord(recordName: string, text: string): Read {
  try {
    return { ok: true, value: readRecord(schemaOf(recordName), parseLossless(text), recordName) };
  } catch (error) {
    if (error instanceof WrongMember) return { ok: false, problem: error.message };
    if (error instanceof SyntaxError) return { ok: false, problem: `not JSON: ${error.message}` };
    throw error;
  }
}

function readRecord(schema: RecordSchema, value: JsonValue, path: string): unknown {
  if (!isJsonObject(value)) throw new WrongMember(`${path} is not an object`);
  return Object.fromEntries(
    schema.fields.map((field) => {
      const member = Object.hasOwn(value, field.name) ? value[field.name] : undefined;
      if (member === undefined && field.default === undefined)
        throw new WrongMember(`${path}.${field.name} is missing`);
      const given = member === undefined ? (field.default as JsonValue) : member;
      return [field.name, readType(field.type, given, `${path}.${field.name}`)];
    }),
  );
}

function readType(type: unknown, value: JsonValue, path: string): unknown {
  if (Array.isArray(type)) return readUnion(type, value, path);
  if (typeof type === 'object' && type !== null && 'type' in type) return readComplex(type, value, path);
  if (typeof type === 'string' && type.startsWith(`${RECORD_NAMESPACE}.`)) {
    return readRecord(schemaOf(type.slice(RECORD_NAMESPACE.length + 1)), value, path);
  }
  switch (type) {
    case 'string':
      if (typeof value === 'string') return value;
      break;
    case 'boolean':
      if (typeof value === 'boolean') return value;
      break;
    case 'long': {
      const integer = int64Of(value);
      if (integer !== null) return integer;
      break;
    }
    case 'int':
      if (isRawNumber(value) && Number.isSafeInteger(Number(value.rawJSON))) return Number(value.rawJSON);
      // Defaults in the schema are plain numbers.
      if (typeof value === 'number') return value;
  }
  throw new WrongMember(`${path} is not a ${JSON.stringify(type)}`);
}

/** Our unions have null and one other type. */
function readUnion(branches: readonly unknown[], value: JsonValue, path: string): unknown {
  if (value === null && branches.includes('null')) return null;
  const [branch] = branches.filter((candidate) => candidate !== 'null');
  return readType(branch, value, path);
}

function readComplex(type: object & { type: unknown }, value: JsonValue, path: string): unknown {
  if (type.type === 'array' && 'items' in type && Array.isArray(value)) {
    return value.map((item, index) => readType(type.items, item, `${path}[${index}]`));
  }
  if (type.type === 'map' && 'values' in type && isJsonObject(value)) {
    const entries = Object.entries(value);
    return Object.fromEntries(entries.map(([name, item]) => [name, readType(type.values, item, `${path}.${name}`)]));
  }
  // A logical type wraps its own.
  return readType(type.type, value, path);
}

/** Each file defines one record, which names the others. */
function schemaOf(recordName: string): RecordSchema {
  let schema = schemas.get(recordName);
  if (schema === undefined) schemas.set(recordName, (schema = readSchemaFile(recordName)));
  return schema;
}
