/** JSON Schema of a record in JSON: the same members by name, optional if they have a default, and no others. */
import { readSchemaFile, RECORD_NAMESPACE } from 'payment-processor-contract/schemas';

/** Schemas by record, with all that they refer to; references are to `#/components/schemas/<name>`. */
export function jsonSchemasOf(recordNames: readonly string[]): Record<string, object> {
  const schemas: Record<string, object> = {};
  const pending = [...recordNames];
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (schemas[name] !== undefined) continue;
    const record = readSchemaFile(name);
    schemas[name] = {
      type: 'object',
      ...(record.doc === undefined ? {} : { description: record.doc }),
      properties: Object.fromEntries(
        record.fields.map((field) => [
          field.name,
          {
            ...typeOf(field.type, (referred) => void pending.push(referred)),
            ...(field.doc === undefined ? {} : { description: field.doc }),
          },
        ]),
      ),
      required: record.fields.filter((field) => !('default' in field)).map((field) => field.name),
      additionalProperties: false,
    };
  }
  return schemas;
}

function typeOf(type: unknown, refer: (recordName: string) => void): object {
  if (Array.isArray(type)) return { anyOf: type.map((branch) => typeOf(branch, refer)) };
  if (typeof type === 'object' && type !== null) {
    if ('items' in type) return { type: 'array', items: typeOf(type.items, refer) };
    if ('values' in type) return { type: 'object', additionalProperties: typeOf(type.values, refer) };
    return typeOf((type as { type: unknown }).type, refer);
  }
  switch (type) {
    case 'null':
    case 'string':
    case 'boolean':
      return { type };
    case 'int':
      return { type: 'integer', format: 'int32' };
    case 'long':
      return { type: 'integer', format: 'int64' };
    default: {
      const name = String(type);
      if (!name.startsWith(`${RECORD_NAMESPACE}.`)) throw new Error(`no JSON Schema for the Avro type ${name}`);
      const referred = name.slice(RECORD_NAMESPACE.length + 1);
      refer(referred);
      return { $ref: `#/components/schemas/${referred}` };
    }
  }
}
