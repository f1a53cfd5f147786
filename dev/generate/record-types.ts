/**
 * Writes packages/contract/src/types.ts from schemas/*.avsc; with `--check` only compares, and exits 1 when the file is stale.
 */
import { RECORD_NAMESPACE, readSchemaFile } from 'payment-processor-contract/schemas';
import { recordNames, writeOrCheck } from './generated-file.ts';

function typeScriptOf(type: unknown): string {
  if (Array.isArray(type)) {
    const branches = type.map(typeScriptOf);
    return [...branches.filter((branch) => branch !== 'null'), ...branches.filter((branch) => branch === 'null')].join(
      ' | ',
    );
  }
  if (typeof type === 'object' && type !== null && 'type' in type) {
    if (type.type === 'array' && 'items' in type) return `${typeScriptOf(type.items)}[]`;
    if (type.type === 'map' && 'values' in type) return `Record<string, ${typeScriptOf(type.values)}>`;
    return typeScriptOf(type.type);
  }
  switch (type) {
    case 'null':
    case 'string':
    case 'boolean':
      return type;
    case 'int':
      return 'number';
    case 'long':
      return 'bigint';
    default:
      if (typeof type === 'string' && type.startsWith(`${RECORD_NAMESPACE}.`))
        return type.slice(RECORD_NAMESPACE.length + 1);
      throw new Error(
        `schemas: no TypeScript type for ${JSON.stringify(type)}; add it to dev/generate/record-types.ts`,
      );
  }
}

function interfaceOf(recordName: string): string {
  const schema = readSchemaFile(recordName);
  const fields = schema.fields.map((field) => {
    const comment = field.doc === undefined ? '' : `  /** ${field.doc} */\n`;
    return `${comment}  ${field.name}: ${typeScriptOf(field.type)};`;
  });
  return `/** ${schema.doc ?? recordName} */\nexport interface ${recordName} {\n${fields.join('\n')}\n}\n`;
}

const header =
  '// Generated from schemas/*.avsc by `npm run generate`; edit the schemas, not this file.\n' +
  '// Avro long is bigint; a timestamp-millis is milliseconds since 1970 as bigint.\n\n';
writeOrCheck('packages/contract/src/types.ts', 'schemas/', header + recordNames().map(interfaceOf).join('\n'));
