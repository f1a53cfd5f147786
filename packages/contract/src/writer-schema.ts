/**
 * A publisher's schema, and how we read its values into our own record. Schemas of others come from the registry, so we check
 * their limits before we compile them.
 */
import avsc from 'avsc';
import { avroTypeOf, surveyAvro } from './avro-survey.ts';
import { ambiguityOf } from './json-ambiguity.ts';
import { AVRO_OPTIONS, loadType, type RecordSchema } from './schemas.ts';

/** Characters of a schema with its references: ten times our largest. */
export const SCHEMA_LENGTH_MAX = 128 * 1024;

/** One of our records, for reading into and writing from. */
export interface ReaderRecord {
  readonly name: string;
  readonly type: avsc.Type;
  /** Whether to keep values of unknown fields, so that they are noticed and refused. */
  readonly keepsUnknown: boolean;
}

export interface WriterSchema {
  /**
   * @returns the fields of our record
   * @throws Error if the bytes do not match the schema; the message says why
   */
  read(bytes: Buffer): unknown;
}

/** The schema cannot be used; the message completes a sentence that begins with its id. */
export class WriterSchemaError extends Error {}

export function readerRecord(name: string, keepsUnknown: boolean): ReaderRecord {
  return { name, type: loadType(name), keepsUnknown };
}

/**
 * @param texts the referenced schemas, each after its own references; then the schema
 * @throws WriterSchemaError
 */
export function writerSchema(texts: readonly string[], reader: ReaderRecord): WriterSchema {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > SCHEMA_LENGTH_MAX) {
    throw new WriterSchemaError(`has ${length} characters; a schema has at most ${SCHEMA_LENGTH_MAX}`);
  }
  try {
    // Field names of others must not clash with members that every object has.
    const registry = Object.create(null) as NonNullable<avsc.ForSchemaOptions['registry']>;
    let type: avsc.Type | null = null;
    for (const text of texts) {
      if (ambiguityOf(text)?.kind === 'too-deep') throw new WriterSchemaError('is nested too deeply');
      const options = { ...AVRO_OPTIONS, typeHook: readableType, registry };
      type = avsc.Type.forSchema(JSON.parse(text) as avsc.Schema, options);
    }
    if (type === null) throw new WriterSchemaError('is empty');
    const ours = reader.type.name ?? reader.name;
    if (type.typeName !== 'record') throw new WriterSchemaError(`is not a record: write a record named ${ours}`);
    if (type.name !== ours) {
      throw new WriterSchemaError(`describes a record named ${type.name?.slice(0, 100)}: name it ${ours}`);
    }
    return compiled(type, reader, reader.type.createResolver(type));
  } catch (error) {
    if (error instanceof WriterSchemaError) throw error;
    const message = (error instanceof Error ? error.message : String(error)).replace(
      /^no alias found for /,
      'there is no record of ours named ',
    );
    throw new WriterSchemaError(
      `cannot be read as ${reader.name} (${message.slice(0, 300)}): write with the schema that \`schemas register\` registers`,
    );
  }
}

/** @throws Error for a field that no value can have as its own */
function readableType(schema: avsc.Schema, options: avsc.ForSchemaOptions): avsc.Type | undefined {
  const { fields, name } = schema as Partial<RecordSchema>;
  const taken = Array.isArray(fields) ? fields.find((field) => field.name in Object.prototype) : undefined;
  if (taken !== undefined) throw new Error(`the record ${name} has a field named ${taken.name}, which cannot be read`);
  return AVRO_OPTIONS.typeHook(schema, options);
}

function compiled(type: avsc.Type, reader: ReaderRecord, resolver: unknown): WriterSchema {
  const [writerType, readerType] = [avroTypeOf(type), avroTypeOf(reader.type)];
  return {
    read: (bytes) => {
      const lost = surveyAvro(bytes, writerType, readerType);
      const value: unknown = reader.type.fromBuffer(bytes, resolver as never);
      // A release that knows the field must not take these bytes for its value: no field of a command is such an object.
      if (reader.keepsUnknown)
        for (const { path, bytes: kept } of lost) put(value, path, { unreadAvro: [kept.toString('base64')] });
      return value;
    },
  };
}

/** Sets a member of any name; the path leads through existing members. */
function put(root: unknown, path: readonly (string | number)[], value: object): void {
  const holder = path.slice(0, -1).reduce((inner, name) => (inner as Record<string, unknown>)[name], root);
  Object.defineProperty(holder, String(path.at(-1)), {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
