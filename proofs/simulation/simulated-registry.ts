/** The schema registry of a simulation: every schema is there, each topic's under a number of its own. */
import type avsc from 'avsc';
import type { RecordRegistry } from '../../src/records/registry.ts';
import { loadType } from '../../src/records/schemas.ts';

const WIRE_HEADER_BYTES = 5;
/** A value on which our code fails. */
export const BUG = 'a bug of ours';

/** Types are costly to make, and the same in every history. */
const types = new Map<string, avsc.Type>();

export function simulatedRegistry(records: ReadonlyMap<string, string>): RecordRegistry {
  const typeOf = (topic: string): avsc.Type => {
    const name = records.get(topic) ?? '';
    const type = types.get(name) ?? loadType(name);
    types.set(name, type);
    return type;
  };
  const registry: Pick<RecordRegistry, 'encode' | 'decode'> = {
    encode: async (topic, value) => {
      const header = Buffer.alloc(WIRE_HEADER_BYTES);
      header.writeInt32BE([...records.keys()].indexOf(topic) + 1, 1);
      return Buffer.concat([header, typeOf(topic).toBuffer(value)]);
    },
    decode: async (topic, bytes) => {
      if (bytes.toString() === BUG) throw new TypeError(BUG);
      return { kind: 'record', value: valueOf(typeOf(topic), bytes) };
    },
  };
  return registry as RecordRegistry;
}

/** Reads an event as its subscribers would. */
export function eventValue(records: ReadonlyMap<string, string>, topic: string, bytes: Buffer): unknown {
  const type = types.get(records.get(topic) ?? '');
  if (type === undefined) throw new Error(`nothing was written to ${topic}`);
  return valueOf(type, bytes);
}

function valueOf(type: avsc.Type, bytes: Buffer): unknown {
  return type.fromBuffer(bytes.subarray(WIRE_HEADER_BYTES)) as unknown;
}
