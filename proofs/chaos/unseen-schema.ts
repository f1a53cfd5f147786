/** Commands with schema ids that no processor has seen: the same fields, under a schema with a different doc text. */
import { createRegistry } from 'payment-processor-client/internal/settings';
import { readCommandFields } from 'payment-processor-contract/command-fields';
import { COMMAND_RECORDS, COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { loadSchema } from 'payment-processor-contract/schemas';
import { subjectOf } from 'payment-processor-contract/topics';
import type { Stack } from '../../test/support/stack.ts';

export type CommandEncoder = (type: CommandType, fields: object) => Promise<Buffer>;

/** Registers another version of each command's schema. @returns an encoder for it, which also works without the registry */
export async function unseenSchemaEncoder(stack: Stack): Promise<CommandEncoder> {
  const registry = createRegistry(stack.settings);
  await registry.prepare(Object.values(stack.topics.commands));
  const ids = new Map<CommandType, number>();
  for (const type of COMMAND_TYPES) ids.set(type, await registerAnew(stack, type));
  return async (type, fields) => {
    const read = readCommandFields(type, fields);
    if (!read.ok) throw new Error(`not the fields of ${type}`);
    const value = registry.encode(stack.topics.commands[type], read.value);
    // The schema id is behind the wire format's zero byte; the fields' bytes are the same under both schemas.
    value.writeInt32BE(ids.get(type) ?? 0, 1);
    return value;
  };
}

async function registerAnew(stack: Stack, type: CommandType): Promise<number> {
  const schema = { ...loadSchema(COMMAND_RECORDS[type]), doc: `documented anew at ${Date.now()}` };
  const url = `${stack.settings.SCHEMA_REGISTRY_URL}/subjects/${subjectOf(stack.topics.commands[type])}/versions`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(schema), schemaType: 'AVRO' }),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { id: number }).id;
}
