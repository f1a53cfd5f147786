/** A registered schema that is not ours. */
import { randomUUID } from 'node:crypto';
import { subjectOf } from 'payment-processor-contract/topics';

/** Registers a record with an array of nulls, whose items take no bytes. @returns the schema's id */
export async function registerForeignSchema(registryUrl: string): Promise<number> {
  const name = `Nothing${randomUUID().replaceAll('-', '')}`;
  const schema = { type: 'record', name, fields: [{ name: 'nothing', type: { type: 'array', items: 'null' } }] };
  const url = `${registryUrl}/subjects/${subjectOf(name)}/versions`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
    body: JSON.stringify({ schema: JSON.stringify(schema), schemaType: 'AVRO' }),
  });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { id: number }).id;
}
