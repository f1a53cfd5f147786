/** A simulation's schema registry. It has every schema, with a different id for each topic. */
import type { DecodeResult, RecordRegistry } from 'payment-processor-contract/registry';
import { loadSchema } from 'payment-processor-contract/schemas';
import {
  readerRecord,
  writerSchema,
  type ReaderRecord,
  type WriterSchema,
} from 'payment-processor-contract/writer-schema';
import { framed } from '../../test/support/registry-frame.ts';

const WIRE_HEADER_BYTES = 5;
/** The value that makes our code fail. */
export const BUG = 'a bug of ours';

interface RecordTypes {
  readonly own: ReaderRecord;
  /** The same schema, in the writer's role. */
  readonly writer: WriterSchema;
}

/** Kept, because types are slow to make and the same in every history. */
const types = new Map<string, RecordTypes>();

function typesOf(name: string): RecordTypes {
  const known = types.get(name);
  if (known !== undefined) return known;
  const own = readerRecord(name, true);
  const made = { own, writer: writerSchema([JSON.stringify(loadSchema(name))], own) };
  types.set(name, made);
  return made;
}

export function simulatedRegistry(records: ReadonlyMap<string, string>): RecordRegistry {
  const of = (topic: string): RecordTypes => typesOf(records.get(topic) ?? '');
  // Like a real process, requests a topic's schema at its first message.
  const asked = new Set<string>();
  const read = (topic: string, bytes: Buffer): DecodeResult => {
    if (bytes.toString() === BUG) throw new TypeError(BUG);
    try {
      return { kind: 'record', value: of(topic).writer.read(bytes.subarray(WIRE_HEADER_BYTES)) };
    } catch (error) {
      return { kind: 'unreadable', problem: String(error) };
    }
  };
  const registry: Pick<RecordRegistry, 'encode' | 'decode'> = {
    encode: (topic, value) => framed([...records.keys()].indexOf(topic) + 1, of(topic).own.type.toBuffer(value)),
    decode: (topic, bytes) => {
      if (asked.has(topic)) return read(topic, bytes);
      asked.add(topic);
      return Promise.resolve().then(() => read(topic, bytes));
    },
  };
  return registry as RecordRegistry;
}

/** Reads an event as its subscribers would. */
export function eventValue(records: ReadonlyMap<string, string>, topic: string, bytes: Buffer): unknown {
  return typesOf(records.get(topic) ?? '').writer.read(bytes.subarray(WIRE_HEADER_BYTES));
}
