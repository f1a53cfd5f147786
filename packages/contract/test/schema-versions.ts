/** Versions of our schemas as earlier and later releases have them, and values of any of them. */
import avsc from 'avsc';
import { AVRO_OPTIONS, type RecordSchema } from '../src/schemas.ts';

/** What a later release adds to each record: one field that may be absent, and one with another default. */
export const ADDED = [
  { name: 'addedText', type: ['null', 'string'], default: null },
  { name: 'addedCount', type: 'int', default: 7 },
];

/** As the next release may have it: every record in it has more fields, the nested ones too. */
export function nextVersion(schema: RecordSchema): RecordSchema {
  return withAdded(schema) as RecordSchema;
}

function withAdded(type: unknown): unknown {
  if (Array.isArray(type)) return type.map(withAdded);
  if (typeof type !== 'object' || type === null) return type;
  if ('fields' in type) {
    const record = type as RecordSchema;
    const fields = [...record.fields, ...ADDED];
    return { ...record, fields: fields.map((field) => ({ ...field, type: withAdded(field.type) })) };
  }
  return 'items' in type ? { ...type, items: withAdded(type.items) } : type;
}

/** A type of its own for each version: avsc notes the names that it has met in its options. */
export function typeOf(schema: RecordSchema): avsc.Type {
  return avsc.Type.forSchema(schema as unknown as avsc.Schema, { ...AVRO_OPTIONS });
}

/** A value of the schema with every field filled in, so that what is lost is seen. */
export function fullValue(schema: RecordSchema): Record<string, unknown> {
  const named = new Map<string, RecordSchema>();
  const valueOf = (type: unknown): unknown => {
    if (Array.isArray(type)) return valueOf(type.find((branch) => branch !== 'null'));
    if (typeof type === 'object' && type !== null) {
      if ('fields' in type) {
        const record = type as RecordSchema;
        named.set(`${record.namespace}.${record.name}`, record);
        return Object.fromEntries(record.fields.map((field) => [field.name, valueOf(field.type)]));
      }
      if ('items' in type) return [valueOf(type.items)];
      if ('values' in type) return { entry: valueOf(type.values) };
      return valueOf((type as { type: unknown }).type);
    }
    switch (type) {
      case 'string':
        return 'text';
      case 'boolean':
        return true;
      case 'int':
        return 3;
      case 'long':
        return 9_007_199_254_740_993n;
      default: {
        const record = named.get(String(type));
        if (record === undefined) throw new Error(`no value for the type ${String(type)}`);
        return valueOf(record);
      }
    }
  };
  return valueOf(schema) as Record<string, unknown>;
}
