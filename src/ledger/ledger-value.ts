/**
 * The value of a ledger record: the same bytes in Kafka and in the local store.
 *
 *   1 byte    format
 *   1 byte    class: the rule by which it may be forgotten, so that retention decodes nothing
 *   6 bytes   time, ms since 1970, from which the value has been in its class; 0: its class has none
 *   8 bytes   fingerprint of the schema that wrote the body
 *   the rest  body, Avro by a schema of schemas/internal/
 *
 * A reader of Avro needs the writer's schema. So before an owner writes its first value with a schema, it writes the record
 * `!schema:<fingerprint>`. A field that a release adds has a default, so a release reads what an earlier or later one wrote.
 *
 * A value in another format stops the lane: guessing about money is worse than waiting for the right release.
 */
import * as crypto from 'node:crypto';
import avsc from 'avsc';
import { avroBytes } from 'payment-processor-contract/avro-bytes';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { AVRO_OPTIONS } from 'payment-processor-contract/schemas';
import { readerRecord, writerSchema, type ReaderRecord } from 'payment-processor-contract/writer-schema';

/** This release cannot read a ledger value; the message says why. */
export class LedgerFormatError extends Error {}

/** A value with a schema that this process has not seen in any lane's ledger. */
export class UnknownSchemaError extends LedgerFormatError {}

/** @returns what `read` does; undefined if this release cannot read a value */
export function readable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof LedgerFormatError) return undefined;
    throw error;
  }
}

/**
 * UNKNOWN results, never forgotten. Each command type has its own class, so that the store counts them and finds the oldest without
 * decoding. The numbers are in stored values: they must not change with the list of commands.
 */
const UNKNOWN_CLASS = {
  'create-quote': 2,
  'execute-quote': 3,
  'transfer-in': 4,
  'reject-transaction': 5,
  'simulate-uma-receive': 6,
} as const satisfies Record<CommandType, number>;

/** Each class of values has one retention rule. */
export const VALUE_CLASS = {
  /** Never forgotten: transactions that may change, the owner's records of its lane, and values that this release does not know. */
  kept: 1,
  unknown: UNKNOWN_CLASS,
  claim: 8,
  schema: 9,
  /** Entries without a result. */
  unfinished: 16,
  /** Transactions at rest: we expect no more changes. */
  transaction: 64,
  /** Entries with a certain result. The highest class, because most values have it and the store appends to its end. */
  done: 65,
} as const;
export type ValueClass =
  (typeof UNKNOWN_CLASS)[CommandType] | (typeof VALUE_CLASS)[Exclude<keyof typeof VALUE_CLASS, 'unknown'>];

const CLASSES: ReadonlySet<number> = new Set(
  Object.values(VALUE_CLASS).flatMap((one) => (typeof one === 'number' ? [one] : Object.values(one))),
);
/** A map, because the store looks a class up for every row that it adds or removes. */
const UNKNOWN_COMMANDS: ReadonlyMap<number, CommandType> = new Map(
  COMMAND_TYPES.map((command) => [UNKNOWN_CLASS[command], command]),
);

/** The command of an UNKNOWN result; null for any other class. */
export function unknownCommandOf(valueClass: number): CommandType | null {
  return UNKNOWN_COMMANDS.get(valueClass) ?? null;
}

/** Whether the class is one of entries. */
export function isEntryClass(valueClass: number): boolean {
  return valueClass === VALUE_CLASS.done || valueClass === VALUE_CLASS.unfinished || UNKNOWN_COMMANDS.has(valueClass);
}

const FORMAT = 2;
/** `{`: builds before 1.0.0 wrote JSON. */
const FORMAT_OF_JSON = 0x7b;
const AT = { class: 1, time: 2, fingerprint: 8, body: 16 } as const;
const TIME_BYTES = 6;
const FINGERPRINT_BYTES = AT.body - AT.fingerprint;
const TIME_MAX = 2 ** (8 * TIME_BYTES) - 1;

/**
 * What a value's head says, without decoding the value.
 * @throws LedgerFormatError for a value of a JSON ledger
 */
export function headOf(value: Buffer): { valueClass: ValueClass; timeMs: number } {
  if (value[0] === FORMAT_OF_JSON) throw new LedgerFormatError(JSON_LEDGER_PROBLEM);
  const valueClass = classOf(value);
  return { valueClass, timeMs: valueClass === VALUE_CLASS.kept ? 0 : value.readUIntBE(AT.time, TIME_BYTES) };
}

/** True for an entry without a result; also for any value of class `kept`, such as one that we cannot read. */
export function mayBeUnfinished(value: Buffer): boolean {
  const valueClass = classOf(value);
  return valueClass === VALUE_CLASS.unfinished || valueClass === VALUE_CLASS.kept;
}

/** True for an entry with the result UNKNOWN; also for any value of class `kept`, such as one that we cannot read. */
export function mayBeUnknown(value: Buffer): boolean {
  const valueClass = classOf(value);
  return unknownCommandOf(valueClass) !== null || valueClass === VALUE_CLASS.kept;
}

/** Keeps values that this release cannot read; decoding one throws. */
function classOf(value: Buffer): ValueClass {
  const valueClass = hasHead(value) ? value.readUInt8(AT.class) : VALUE_CLASS.kept;
  return isValueClass(valueClass) ? valueClass : VALUE_CLASS.kept;
}

function hasHead(value: Buffer): boolean {
  return value[0] === FORMAT && value.length >= AT.body;
}

function isValueClass(number: number): number is ValueClass {
  return CLASSES.has(number);
}

const JSON_LEDGER_PROBLEM =
  'the ledger is in the JSON format of builds before 1.0.0, which this release does not read. Let the build that wrote it finish ' +
  'its admitted commands. Then continue under another TOPIC_PREFIX (docs/runbooks/new-cluster.md). Do not delete the ledger topic: ' +
  'the processor would forget keys and pay copies again';

/** Prefix of the keys of schema records; the fingerprint in hexadecimal follows. */
export const SCHEMA_PREFIX = '!schema:';

/** Schema texts by their fingerprint. A text determines its fingerprint, so all lanes share them and none goes stale. */
const schemas = new Map<string, string>();
const ownSchemas = new Map<string, Buffer>();

/** @throws Error for bytes that do not fit the schema */
type Reader = (value: Buffer) => unknown;

/** One of the records of schemas/internal/. */
export class InternalRecord<Value extends object> {
  readonly #record: ReaderRecord;
  readonly #isUntrusted: boolean;
  readonly #fingerprint: Buffer;
  readonly #readOwn: Reader;
  readonly #readers = new Map<string, Reader>();

  /** @param isUntrusted not only lanes' owners may write it, so we check sizes before decoding */
  constructor(name: string, { isUntrusted = false } = {}) {
    this.#record = readerRecord(`internal/${name}`, false);
    this.#isUntrusted = isUntrusted;
    const text = JSON.stringify(this.#record.type.schema());
    this.#fingerprint = fingerprintOf(text);
    const value = valueOf(Buffer.from(`${' '.repeat(AT.body)}${text}`), VALUE_CLASS.schema, 0);
    ownSchemas.set(SCHEMA_PREFIX + this.#fingerprint.toString('hex'), value);
    this.#readOwn = this.#readerBy(text);
  }

  /** A value that is never forgotten. @throws as `encodeAs` does */
  encode(record: Value): Buffer {
    return this.encodeAs(VALUE_CLASS.kept, 0, record);
  }

  /** @throws Error if a field is of another type, or missing without a default */
  encodeAs(valueClass: ValueClass, timeMs: number, record: Value): Buffer {
    const value = valueOf(avroBytes(this.#record.type, record, AT.body), valueClass, timeMs);
    this.#fingerprint.copy(value, AT.fingerprint);
    return value;
  }

  /** Whether this release's own schema wrote it. */
  isOwn(value: Buffer): boolean {
    return hasHead(value) && value.compare(this.#fingerprint, 0, FINGERPRINT_BYTES, AT.fingerprint, AT.body) === 0;
  }

  /** @throws LedgerFormatError; its message quotes nothing of the value */
  decode(value: Buffer): Value {
    const read = this.isOwn(value) ? this.#readOwn : this.#readerOf(value);
    try {
      return read(value) as Value;
    } catch {
      // The message of avsc may quote the value.
      throw new LedgerFormatError(
        `a record of schema ${this.#record.name} cannot be read: its bytes do not fit that schema`,
      );
    }
  }

  #readerOf(value: Buffer): Reader {
    if (value[0] === FORMAT_OF_JSON) throw new LedgerFormatError(JSON_LEDGER_PROBLEM);
    if (!hasHead(value))
      throw new LedgerFormatError(
        `the ledger has a record of format ${value[0] ?? 'none'}, and this release reads format ${FORMAT}: run the release that wrote it`,
      );
    const hex = value.toString('hex', AT.fingerprint, AT.body);
    const cached = this.#readers.get(hex);
    if (cached !== undefined) return cached;
    const text = schemas.get(hex);
    const what = `schema ${hex} (${this.#record.name})`;
    if (text === undefined)
      throw new UnknownSchemaError(
        `the ledger does not have ${what}, by which a record was written: run the release that wrote the record`,
      );
    try {
      const reader = this.#readerBy(text);
      this.#readers.set(hex, reader);
      return reader;
    } catch (error) {
      throw new LedgerFormatError(
        `${what} does not fit this release's schema (${String(error)}): run the release that wrote it`,
      );
    }
  }

  /** @throws Error if values of that schema cannot be read as this record */
  #readerBy(text: string): Reader {
    const { type } = this.#record;
    if (this.#isUntrusted) {
      const schema = writerSchema([text], this.#record);
      return (value) => schema.read(value.subarray(AT.body));
    }
    const resolver = type.createResolver(avsc.Type.forSchema(JSON.parse(text) as avsc.Schema, { ...AVRO_OPTIONS }));
    return (value): unknown => type.fromBuffer(value.subarray(AT.body), resolver);
  }
}

/** Records of this release's schemas, for an owner whose lane's ledger lacks them. */
export function schemaRecords(): ReadonlyMap<string, Buffer> {
  return ownSchemas;
}

/**
 * Learns a schema from the ledger, so that its values can be read.
 * @param value of any ledger record: records other than schemas are ignored
 */
export function learnSchema(value: Buffer | null): void {
  if (value?.[0] !== FORMAT || value[AT.class] !== VALUE_CLASS.schema) return;
  const text = value.toString('utf8', AT.body);
  schemas.set(fingerprintOf(text).toString('hex'), text);
}

function fingerprintOf(text: string): Buffer {
  return Buffer.from(crypto.hash('sha256', text, 'buffer').subarray(0, FINGERPRINT_BYTES));
}

/** Writes the head, except the fingerprint, which the caller sets afterwards. @param bytes with room for the head */
function valueOf(bytes: Buffer, valueClass: ValueClass, timeMs: number): Buffer {
  bytes.writeUInt8(FORMAT, 0);
  bytes.writeUInt8(valueClass, AT.class);
  writeTime(bytes, timeMs, AT.time);
  bytes.fill(0, AT.fingerprint, AT.body);
  return bytes;
}

/** In six bytes, as in values and in the keys of the store's rows. A time beyond their range becomes the nearest one that fits. */
export function writeTime(bytes: Buffer, timeMs: number, at: number): void {
  bytes.writeUIntBE(Math.min(Math.max(0, Math.trunc(timeMs)), TIME_MAX), at, TIME_BYTES);
}
