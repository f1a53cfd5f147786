/**
 * The Avro schemas of `schemas/`, one file per record, made self-contained.
 *
 * A file may name another record (`payments.v1.Quote`); the registry wants each subject whole, so the named record is
 * put in its place where it is first used.
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

/** Options for every avsc type that this project makes, the registry client's included. */
export const AVRO_OPTIONS: avsc.ForSchemaOptions = {
  // Records are plain data: methods on them would look like fields that a command does not have.
  omitRecordMethods: true,
  typeHook: (schema) => {
    const name = typeof schema === 'object' && 'type' in schema ? (schema as { type: unknown }).type : schema;
    return name === 'long' ? bigintLong : undefined;
  },
} as Partial<avsc.ForSchemaOptions> as avsc.ForSchemaOptions;

/** Reads one record's file as it is, references unresolved. */
export function readSchemaFile(recordName: string): RecordSchema {
  return JSON.parse(readFileSync(`${SCHEMAS_DIRECTORY}${recordName}.avsc`, 'utf8')) as RecordSchema;
}

/** The self-contained schema of a record: each named record defined where it is first used. */
export function loadSchema(recordName: string): RecordSchema {
  return inlineRecord(recordName, new Set());
}

/** The avsc type of one of our records: what we read into and write from. */
export function loadType(recordName: string): avsc.Type {
  // A copy: avsc notes the names that it has met in its options.
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
