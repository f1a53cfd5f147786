/** Values of the ledger as another release writes them: by a schema of its own. Written from the format's description alone. */
import { createHash } from 'node:crypto';
import avsc from 'avsc';
import { schemaRecords } from '../../src/ledger/ledger-value.ts';
import { AVRO_OPTIONS } from 'payment-processor-contract/schemas';

const HEAD_BYTES = 16;
const FINGERPRINT_AT = 8;

export interface Schema {
  name: string;
  fields: { name: string; type: unknown; default?: unknown }[];
}

export interface OtherRelease {
  /** What its owners write into each lane's ledger first. */
  readonly schema: { readonly key: string; readonly value: Buffer };
  /** The same value by its schema. @param more fields that ours does not have */
  written(ours: Buffer, more?: object): Buffer;
}

/**
 * @param record of schemas/internal/
 * @param change of our schema to its
 */
export function otherRelease(record: string, change: (schema: Schema) => void): OtherRelease {
  const oursText = schemaTexts().find((text) => (JSON.parse(text) as Schema).name === `payments.internal.v1.${record}`);
  if (oursText === undefined) throw new Error(`no schema of a ${record}`);
  const ours = typeOf(oursText);
  const changed = JSON.parse(oursText) as Schema;
  change(changed);
  const theirs = typeOf(JSON.stringify(changed));
  const text = JSON.stringify(theirs.schema());
  const fingerprint = createHash('sha256')
    .update(text)
    .digest()
    .subarray(0, HEAD_BYTES - FINGERPRINT_AT);
  return {
    schema: {
      key: `!schema:${fingerprint.toString('hex')}`,
      value: Buffer.concat([Buffer.of(2, 9), Buffer.alloc(HEAD_BYTES - 2), Buffer.from(text)]),
    },
    written: (value, more = {}) => {
      const plain = ours.fromBuffer(value.subarray(HEAD_BYTES)) as object;
      const body = theirs.toBuffer({ ...plain, ...more });
      return Buffer.concat([value.subarray(0, FINGERPRINT_AT), fingerprint, body]);
    },
  };
}

function schemaTexts(): string[] {
  return [...schemaRecords().values()].map((value) => value.toString('utf8', HEAD_BYTES));
}

function typeOf(text: string): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(text) as avsc.Schema, { ...AVRO_OPTIONS });
}
