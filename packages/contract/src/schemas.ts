/**
 * The Avro schemas of `schemas/`, one file per record, made self-contained.
 *
 * A file may name another record (`payments.v1.Quote`); the registry requires self-contained subjects, so the named record's
 * definition replaces its first use.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import avsc from 'avsc';

export const RECORD_NAMESPACE = 'payments.v1';
const SCHEMAS_DIRECTORY = fileURLToPath(new URL('../../../schemas/', import.meta.url));

export interface RecordSchema {
  type: 'record';
  name: string;
  namespace: string;
  doc?: string;
  fields: { name: string; type: unknown; doc?: string; default?: unknown }[];
}

/** Longs are bigint end to end (invariant I8): avsc's own long type refuses what a double cannot hold. */
const bigintLong = avsc.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigInt64LE(value);
    return buffer;
  },
  fromJSON: BigInt,
  toJSON: (value: bigint) => value.toString(),
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (left: bigint, right: bigint) => (left === right ? 0 : left < right ? -1 : 1),
});

/** The buffer that avsc passes to a type; avsc's own declarations leave it out. */
interface Tap {
  pos: number;
  readLong(): number;
  writeLong(value: number): void;
}
interface TapMethods {
  _read(tap: Tap): unknown;
  _write(tap: Tap, value: unknown): void;
}

/** Below it, twice a long is an exact double, which avsc's arithmetic needs. */
const DOUBLED_MAX = 2 ** 52;
/** Nearly every long is that small. avsc's path for larger ones, with 8-byte buffers, costs several times as much. */
const anyLong = bigintLong as unknown as TapMethods;
const fastLong = Object.create(bigintLong, {
  _read: {
    value: (tap: Tap): unknown => {
      const { pos } = tap;
      const double = tap.readLong();
      if (Math.abs(double) < DOUBLED_MAX) return BigInt(double);
      tap.pos = pos;
      return anyLong._read(tap);
    },
  },
  _write: {
    value: (tap: Tap, value: unknown): void => {
      const double = typeof value === 'bigint' ? Number(value) : NaN;
      if (Math.abs(double) < DOUBLED_MAX) tap.writeLong(double);
      else anyLong._write(tap, value);
    },
  },
}) as avsc.Type;

/** Half of a surrogate pair has no UTF-8, and strict readers would fail on such a record. We write U+FFFD instead. */
const plainString = avsc.Type.forSchema('string') as unknown as TapMethods;
const wellFormedString = Object.create(plainString, {
  _write: {
    value: (tap: Tap, value: unknown): void =>
      plainString._write(tap, typeof value === 'string' && !value.isWellFormed() ? value.toWellFormed() : value),
  },
}) as avsc.Type;

/** The same for the names of map entries. */
function wellFormedMap(schema: avsc.Schema, options: avsc.ForSchemaOptions): avsc.Type {
  const map = new avsc.types.MapType(schema, options) as unknown as TapMethods;
  return Object.create(map, {
    _write: { value: (tap: Tap, value: unknown): void => map._write(tap, withWellFormedNames(value)) },
  }) as avsc.Type;
}

function withWellFormedNames(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.keys(value).every((name) => name.isWellFormed()))
    return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name.toWellFormed(), entry as unknown]));
}

/** Options for every avsc type that this project makes. */
export const AVRO_OPTIONS: avsc.ForSchemaOptions = {
  // Records are plain data: methods on them would look like unknown fields of a command.
  omitRecordMethods: true,
  typeHook: (schema, options) => {
    const name = typeof schema === 'object' && 'type' in schema ? (schema as { type: unknown }).type : schema;
    if (name === 'map') return wellFormedMap(schema, options);
    return name === 'long' ? fastLong : name === 'string' ? wellFormedString : undefined;
  },
} as Partial<avsc.ForSchemaOptions> as avsc.ForSchemaOptions;

/** Reads one record's file as it is, references unresolved. @param recordName one of the private records as `internal/<name>` */
export function readSchemaFile(recordName: string): RecordSchema {
  return JSON.parse(readFileSync(`${SCHEMAS_DIRECTORY}${recordName}.avsc`, 'utf8')) as RecordSchema;
}

/** The self-contained schema of a record: each named record defined where it is first used. */
export function loadSchema(recordName: string): RecordSchema {
  return inlineRecord(recordName, new Set());
}

/** The avsc type of one of our records: for reading into and writing from. */
export function loadType(recordName: string): avsc.Type {
  // A copy, because avsc adds the names that it finds to its options.
  return avsc.Type.forSchema(loadSchema(recordName) as unknown as avsc.Schema, { ...AVRO_OPTIONS });
}

function inlineRecord(recordName: string, defined: Set<string>): RecordSchema {
  const schema = readSchemaFile(recordName);
  defined.add(`${schema.namespace}.${schema.name}`);
  return { ...schema, fields: schema.fields.map((field) => ({ ...field, type: inlineType(field.type, defined) })) };
}

function inlineType(type: unknown, defined: Set<string>): unknown {
  if (typeof type === 'string') {
    if (!type.startsWith(`${RECORD_NAMESPACE}.`) || defined.has(type)) return type;
    return inlineRecord(type.slice(RECORD_NAMESPACE.length + 1), defined);
  }
  if (Array.isArray(type)) return type.map((branch) => inlineType(branch, defined));
  if (typeof type === 'object' && type !== null && 'items' in type) {
    return { ...type, items: inlineType(type.items, defined) };
  }
  return type;
}
