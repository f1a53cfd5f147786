/**
 * Avro schemas as data: `avro-survey.ts` walks a value's bytes by them. Reading is strict: we understand all of a publisher's
 * schema, or refuse it with a reason.
 */
const PRIMITIVES = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const;
type Primitive = (typeof PRIMITIVES)[number];

export type AvroSchema =
  | { kind: Primitive }
  | { kind: 'fixed'; bytes: number }
  | { kind: 'enum'; symbols: readonly string[] }
  | { kind: 'array'; items: AvroSchema }
  | { kind: 'map'; values: AvroSchema }
  | { kind: 'union'; branches: readonly AvroSchema[] }
  | { kind: 'record'; name: string; fields: AvroField[] };

export interface AvroField {
  readonly name: string;
  readonly schema: AvroSchema;
}

/** Types read so far, by full name. */
export type NamedTypes = Map<string, AvroSchema>;

/** The schema cannot be read; the message says why. */
class AvroSchemaError extends Error {}

/**
 * @param named types that the schema may refer to; types that it defines are added
 * @param namespace of the enclosing record, for names without one
 * @throws AvroSchemaError
 */
export function readAvroSchema(schema: unknown, named: NamedTypes, namespace = ''): AvroSchema {
  if (typeof schema === 'string') return typeNamed(schema, named, namespace);
  if (Array.isArray(schema)) {
    return { kind: 'union', branches: schema.map((branch) => readAvroSchema(branch, named, namespace)) };
  }
  if (!isObject(schema)) throw new AvroSchemaError('a type is neither a name nor an object nor a list');
  const { type } = schema;
  switch (type) {
    case 'array':
      return { kind: 'array', items: readAvroSchema(schema['items'], named, namespace) };
    case 'map':
      return { kind: 'map', values: readAvroSchema(schema['values'], named, namespace) };
    case 'record':
    case 'enum':
    case 'fixed':
      return readNamedType(schema, type, named, namespace);
    default:
      // {"type": "long", "logicalType": ...} and {"type": {...}}.
      return readAvroSchema(type, named, namespace);
  }
}

function typeNamed(name: string, named: NamedTypes, namespace: string): AvroSchema {
  const primitive = PRIMITIVES.find((one) => one === name);
  if (primitive !== undefined) return { kind: primitive };
  const known = named.get(fullName(name, namespace)) ?? named.get(name);
  if (known === undefined) throw new AvroSchemaError(`it refers to ${name.slice(0, 100)}, which it does not define`);
  return known;
}

function readNamedType(
  schema: Record<string, unknown>,
  type: 'record' | 'enum' | 'fixed',
  named: NamedTypes,
  outerNamespace: string,
): AvroSchema {
  const { name: givenName, namespace: givenNamespace } = schema;
  if (typeof givenName !== 'string') throw new AvroSchemaError(`a ${type} has no name`);
  const name = fullName(givenName, typeof givenNamespace === 'string' ? givenNamespace : outerNamespace);
  const namespace = name.slice(0, Math.max(0, name.lastIndexOf('.')));
  if (type === 'enum') return define(named, name, { kind: 'enum', symbols: symbolsOf(schema['symbols'], name) });
  if (type === 'fixed') return define(named, name, { kind: 'fixed', bytes: sizeOf(schema['size'], name) });
  const record: AvroSchema & { kind: 'record' } = { kind: 'record', name, fields: [] };
  // Added before its fields, which may refer to it.
  define(named, name, record);
  if (!Array.isArray(schema['fields'])) throw new AvroSchemaError(`the record ${name} has no fields`);
  for (const field of schema['fields'] as unknown[]) {
    if (!isObject(field) || typeof field['name'] !== 'string') {
      throw new AvroSchemaError(`the record ${name} has a field without a name`);
    }
    if (field['name'] in Object.prototype) {
      throw new AvroSchemaError(`the record ${name} has a field named ${field['name']}, which cannot be read`);
    }
    record.fields.push({ name: field['name'], schema: readAvroSchema(field['type'], named, namespace) });
  }
  return record;
}

function fullName(name: string, namespace: string): string {
  return name.includes('.') || namespace === '' ? name : `${namespace}.${name}`;
}

function define(named: NamedTypes, name: string, schema: AvroSchema): AvroSchema {
  if (named.has(name)) throw new AvroSchemaError(`it defines ${name} twice`);
  named.set(name, schema);
  return schema;
}

function symbolsOf(symbols: unknown, name: string): string[] {
  if (Array.isArray(symbols) && symbols.every((symbol) => typeof symbol === 'string')) return symbols;
  throw new AvroSchemaError(`the enum ${name} has no symbols`);
}

function sizeOf(size: unknown, name: string): number {
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0) return size;
  throw new AvroSchemaError(`the fixed ${name} has no size`);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
