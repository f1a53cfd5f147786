/** Versions of our schemas as earlier and later releases have them, and values of any of them. */
import avsc from 'avsc';
import { AVRO_OPTIONS, type RecordSchema } from '../src/schemas.ts';

/** What a later release adds to each record: one field that may be absent, and one with another default. */
export const ADDED = [
  { name: 'addedText', type: ['null', 'string'], default: null },
  { name: 'addedCount', type: 'int', default: 7 },
];

type Change = (record: RecordSchema) => RecordSchema['fields'];

/** The schema with the fields of each record in it, the nested ones included, changed. */
function changed(type: unknown, change: Change): unknown {
  if (Array.isArray(type)) return type.map((branch) => changed(branch, change));
  if (typeof type !== 'object' || type === null) return type;
  if ('fields' in type) {
    const record = type as RecordSchema;
    return { ...record, fields: change(record).map((field) => ({ ...field, type: changed(field.type, change) })) };
  }
  return 'items' in type ? { ...type, items: changed(type.items, change) } : type;
}

/** As the next release may have it: every record has more fields. */
export function nextVersion(schema: RecordSchema): RecordSchema {
  return changed(schema, ({ fields }) => [...fields, ...ADDED]) as RecordSchema;
}

/** As an earlier release may have had it: every record lacks the last of its fields that has a default and is no record. */
export function versionBefore(schema: RecordSchema): RecordSchema {
  return changed(schema, ({ fields }) => {
    const last = fields.findLast((field) => 'default' in field && !JSON.stringify(field.type).includes('"fields"'));
    return fields.filter((field) => field !== last);
  }) as RecordSchema;
}

/** The last of the fields that every value has: earlier ones may define records that later ones name. */
function withoutLastRequired(
  schema: RecordSchema,
  replacement: (field: RecordSchema['fields'][number]) => RecordSchema['fields'],
): RecordSchema {
  const last = schema.fields.findLast((field) => !('default' in field));
  return { ...schema, fields: schema.fields.flatMap((field) => (field === last ? replacement(field) : [field])) };
}

/** What no release may do: each breaks readers or writers of another version. */
export const FORBIDDEN: readonly { name: string; of: (schema: RecordSchema) => RecordSchema }[] = [
  {
    name: 'a new field without a default',
    of: (schema) => ({ ...schema, fields: [...schema.fields, { name: 'must', type: 'string' }] }),
  },
  { name: 'a required field left out', of: (schema) => withoutLastRequired(schema, () => []) },
  {
    name: 'a required field under another name',
    of: (schema) => withoutLastRequired(schema, (field) => [{ ...field, name: 'renamed' }]),
  },
  {
    name: 'another type of a field',
    // Of none that would be promoted to it.
    of: (schema) => withoutLastRequired(schema, (field) => [{ ...field, type: { type: 'array', items: 'string' } }]),
  },
];

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
