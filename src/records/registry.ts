/**
 * Avro in the Confluent wire format, through the schema registry.
 *
 * Writing is the registry client's: the id of each of our schemas is looked up once by its subject (registering is a
 * deployment step, not ours).
 * Reading is ours, for what others registered and wrote has to be bounded: the writer's schema comes from the registry by
 * its id, which must be one of the topic's own subject, and is resolved into our own record, so that older and newer
 * publishers are both understood. What was found is kept, for ids never change; that an id is not known, or not the
 * subject's, is asked again each time, for it may be registered since.
 *
 * An outage is never a bad message: each look-up has a deadline, and what could not be asked is `unavailable`.
 */
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { COMMAND_RECORDS } from './commands.ts';
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue } from './lossless-json.ts';
import { askRegistry, type RegistryAccess, type RegistryAnswer } from './registry-http.ts';
import { AVRO_OPTIONS, loadSchema } from './schemas.ts';
import { subjectOf } from './topics.ts';
import {
  readerRecord,
  SCHEMA_LENGTH_MAX,
  writerSchema,
  WriterSchemaError,
  type ReaderRecord,
  type WriterSchema,
} from './writer-schema.ts';

/** A registry that hangs must not hold a lane; a healthy one answers in milliseconds. */
const LOOK_UP_DEADLINE_MS = 5_000;
/** Magic byte and schema id before the Avro bytes. */
const WIRE_HEADER_BYTES = 5;
/** Writers' schemas that are kept; a topic has a few versions in use. The oldest found goes first. */
const WRITERS_MAX = 200;
/** Look-ups of schemas that one refers to, one by another. */
const REFERENCES_MAX = 20;
/** Records whose writers must not say what we would not see: orders to us, not news from us. */
const ORDERS: readonly string[] = [...Object.values(COMMAND_RECORDS), 'OperatorDecision'];

export interface RegistryOptions {
  url: string;
  username: string | null;
  password: string | null;
  /** Topics with a schema, and the record of each. */
  records: ReadonlyMap<string, string>;
}

export type DecodeResult =
  /** Of a command or decision with what its writer said in fields that we do not know, as base64 of the bytes. */
  | { kind: 'record'; value: unknown }
  | { kind: 'unreadable'; problem: string }
  | { kind: 'unknown-schema'; problem: string }
  | { kind: 'unavailable'; problem: string };

type Writer = { kind: 'writer'; schema: WriterSchema } | Exclude<DecodeResult, { kind: 'record' }>;

/** The registry could not be asked, or does not have what it must have; the message says what to do. */
export class RegistryError extends Error {
  readonly missing: boolean;
  constructor(message: string, options: { missing: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'RegistryError';
    this.missing = options.missing;
  }
}

export class RecordRegistry {
  readonly #access: RegistryAccess;
  readonly #client: SchemaRegistry;
  readonly #records: ReadonlyMap<string, string>;
  readonly #readers = new Map<string, ReaderRecord>();
  /** By topic and id: an id may be of several subjects. */
  readonly #writers = new Map<string, Writer>();
  readonly #lookUps = new Map<string, Promise<Writer>>();
  readonly #ownIds = new Map<string, number>();

  constructor(options: RegistryOptions) {
    this.#access = options;
    const { password, url, username } = options;
    const auth = username === null ? {} : { auth: { username, password: password ?? '' } };
    this.#client = new SchemaRegistry(
      { host: url, retry: { retries: 0 }, ...auth },
      { forSchemaOptions: AVRO_OPTIONS },
    );
    this.#records = options.records;
  }

  /**
   * Looks up the ids of the schemas that will be written.
   * @throws RegistryError naming every topic whose schema is not registered, or what failed
   */
  async prepare(topics: Iterable<string>): Promise<void> {
    const missing: string[] = [];
    for (const topic of topics) {
      try {
        await this.#ownId(topic);
      } catch (error) {
        if (!(error instanceof RegistryError) || !error.missing) throw error;
        missing.push(subjectOf(topic));
      }
    }
    if (missing.length > 0) {
      throw new RegistryError(
        `the schema registry does not have our schema under ${missing.join(', ')}: run \`npm run cli -- schemas register\``,
        { missing: true },
      );
    }
  }

  /**
   * Writes a record in the wire format.
   * @throws RegistryError when the schema's id is not known yet and cannot be looked up
   */
  async encode(topic: string, value: object): Promise<Buffer> {
    return this.#client.encode(await this.#ownId(topic), wellFormed(value));
  }

  /** Reads a value of the topic into our own record of it. Never throws for what the bytes or the schema say. */
  async decode(topic: string, bytes: Buffer): Promise<DecodeResult> {
    if (bytes.length < WIRE_HEADER_BYTES || bytes[0] !== 0) {
      return {
        kind: 'unreadable',
        problem:
          `not in the Confluent wire format, a zero byte and the schema id before the Avro bytes (${bytes.length} bytes): ` +
          'write it with a serializer that uses the schema registry; JSON needs the header content-type: application/json',
      };
    }
    const schemaId = bytes.readInt32BE(1);
    const writer = await this.#writer(topic, this.#reader(topic), schemaId);
    if (writer.kind !== 'writer') return writer;
    try {
      return { kind: 'record', value: writer.schema.read(bytes.subarray(WIRE_HEADER_BYTES)) };
    } catch (error) {
      return { kind: 'unreadable', problem: `the bytes do not fit schema id ${schemaId}: ${messageOf(error)}` };
    }
  }

  async #writer(topic: string, reader: ReaderRecord, schemaId: number): Promise<Writer> {
    const name = `${topic} ${schemaId}`;
    const known = this.#writers.get(name);
    if (known !== undefined) return known;
    let lookUp = this.#lookUps.get(name);
    if (lookUp === undefined) {
      lookUp = this.#lookUp(subjectOf(topic), reader, schemaId).finally(() => this.#lookUps.delete(name));
      this.#lookUps.set(name, lookUp);
    }
    const writer = await lookUp;
    // What will never be otherwise; an id that is not known, or not the subject's, may be registered any time.
    if (writer.kind === 'writer' || writer.kind === 'unreadable') {
      const [oldest] = this.#writers.keys();
      if (this.#writers.size >= WRITERS_MAX && oldest !== undefined) this.#writers.delete(oldest);
      this.#writers.set(name, writer);
    }
    return writer;
  }

  async #lookUp(subject: string, reader: ReaderRecord, schemaId: number): Promise<Writer> {
    try {
      const found = await this.#ask('GET', `/schemas/ids/${schemaId}`);
      if (isAbsent(found)) {
        return await this.#unlessSubjectIsLost(subject, schemaId, {
          kind: 'unknown-schema',
          problem: `the schema registry does not know schema id ${schemaId}: register the schema under ${subject} in this registry, and write by its id`,
        });
      }
      const schema = found.isTooLong ? null : schemaOf(found.body);
      if (schema === null) {
        if (!found.isTooLong) throw new Error(`it answered ${found.status} without a schema`);
        return unreadable(schemaId, `is longer than ${SCHEMA_LENGTH_MAX} characters`);
      }
      const registered = await this.#ask('POST', `/subjects/${encodeURIComponent(subject)}`, schema);
      if (isAbsent(registered)) {
        return await this.#unlessSubjectIsLost(subject, schemaId, {
          kind: 'unknown-schema',
          problem: `schema id ${schemaId} is none of subject ${subject}: register the schema there, or write by one that is registered there`,
        });
      }
      return await this.#compiled(reader, schemaId, schema);
    } catch (error) {
      return { kind: 'unavailable', problem: `schema id ${schemaId} cannot be looked up: ${messageOf(error)}` };
    }
  }

  async #compiled(reader: ReaderRecord, schemaId: number, schema: RegisteredSchema): Promise<Writer> {
    if (schema.schemaType !== 'AVRO') return unreadable(schemaId, `is ${schema.schemaType}, not AVRO`);
    const referred = await this.#referredTo(schema.references);
    if (referred === null) {
      return {
        kind: 'unknown-schema',
        problem: `schema id ${schemaId} refers to schemas that the registry does not have, or to more than ${REFERENCES_MAX}`,
      };
    }
    try {
      return { kind: 'writer', schema: writerSchema([...referred, schema.schema], reader) };
    } catch (error) {
      if (error instanceof WriterSchemaError) return unreadable(schemaId, error.message);
      throw error;
    }
  }

  /** The texts of schemas that are referred to, each after those that it refers to itself; null: not there, or too many. */
  async #referredTo(references: readonly Reference[]): Promise<string[] | null> {
    const texts = new Map<string, string>();
    const nameOf = ({ subject, version }: Reference): string => `${subject} ${version}`;
    const waiting = [...references];
    let asked = 0;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (texts.has(nameOf(next))) continue;
      asked += 1;
      if (asked > REFERENCES_MAX) return null;
      const { subject, version } = next;
      const found = await this.#ask('GET', `/subjects/${encodeURIComponent(subject)}/versions/${version}`);
      const schema = isAbsent(found) ? null : schemaOf(found.body);
      if (schema === null) return null;
      const unread = schema.references.filter((inner) => !texts.has(nameOf(inner)));
      if (unread.length === 0) texts.set(nameOf(next), schema.schema);
      else waiting.unshift(...unread, next);
    }
    return [...texts.values()];
  }

  /** A registry that lost its data knows no id either: an id is bad only while our own subject is there. */
  async #unlessSubjectIsLost(subject: string, schemaId: number, verdict: Writer): Promise<Writer> {
    const latest = await this.#ask('GET', `/subjects/${encodeURIComponent(subject)}/versions/latest`);
    if (latest.status === 200) return verdict;
    return {
      kind: 'unavailable',
      problem: `the registry knows neither schema id ${schemaId} for us nor our subject ${subject}`,
    };
  }

  /** @throws Error when the registry does not answer, or answers as one that cannot be asked just now */
  async #ask(method: 'GET' | 'POST', path: string, body?: object): Promise<RegistryAnswer> {
    const answer = await askRegistry(this.#access, method, path, {
      timeoutMs: LOOK_UP_DEADLINE_MS,
      ...(body === undefined ? {} : { body }),
    });
    if (answer.status === 200 || isAbsent(answer)) return answer;
    throw new Error(`it answered ${answer.status}`);
  }

  #recordName(topic: string): string {
    const recordName = this.#records.get(topic);
    if (recordName === undefined) throw new Error(`no record is known for topic ${topic}`);
    return recordName;
  }

  #reader(topic: string): ReaderRecord {
    const recordName = this.#recordName(topic);
    let reader = this.#readers.get(recordName);
    if (reader === undefined) {
      reader = readerRecord(recordName, ORDERS.includes(recordName));
      this.#readers.set(recordName, reader);
    }
    return reader;
  }

  async #ownId(topic: string): Promise<number> {
    const known = this.#ownIds.get(topic);
    if (known !== undefined) return known;
    const subject = subjectOf(topic);
    const schema = { type: SchemaType.AVRO as const, schema: JSON.stringify(loadSchema(this.#recordName(topic))) };
    try {
      const id = await withDeadline(this.#client.getRegistryIdBySchema(subject, schema));
      await withDeadline(this.#client.getSchema(id));
      this.#ownIds.set(topic, id);
      return id;
    } catch (error) {
      // The client wraps a 404 of this call in an error of its own, without a status.
      const missing =
        statusOf(error) === 404 || (error instanceof Error && error.name === 'ConfluentSchemaRegistryError');
      throw new RegistryError(
        missing
          ? `subject ${subject} does not have our schema`
          : `the schema registry cannot be asked for ${subject}: ${messageOf(error)}`,
        { missing, cause: error },
      );
    }
  }
}

interface Reference {
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

interface RegisteredSchema {
  readonly schema: string;
  readonly schemaType: string;
  readonly references: readonly Reference[];
}

/** Null: the body holds no schema. */
function schemaOf(body: JsonValue): RegisteredSchema | null {
  const { schema, schemaType, references }: JsonObject = isJsonObject(body) ? body : {};
  if (typeof schema !== 'string') return null;
  const listed = Array.isArray(references) ? references.map(referenceOf) : [];
  return {
    schema,
    schemaType: typeof schemaType === 'string' ? schemaType : 'AVRO',
    references: listed.filter((reference) => reference !== null),
  };
}

function referenceOf(value: JsonValue): Reference | null {
  const { name, subject }: JsonObject = isJsonObject(value) ? value : {};
  const version = numberOf(value, 'version');
  return typeof name === 'string' && typeof subject === 'string' && version !== null
    ? { name, subject, version }
    : null;
}

function numberOf(body: JsonValue, name: string): number | null {
  const value = isJsonObject(body) ? body[name] : null;
  return isRawNumber(value) && /^\d{1,10}$/.test(value.rawJSON) ? Number(value.rawJSON) : null;
}

/**
 * Answers about what was asked for: it is not there, or not in a form that the registry takes. The others are about
 * the registry: log-in, time, limits, faults.
 */
function isAbsent({ status }: RegistryAnswer): boolean {
  return [400, 404, 409, 422].includes(status);
}

function unreadable(schemaId: number, problem: string): Writer {
  return { kind: 'unreadable', problem: `schema id ${schemaId} ${problem}` };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function statusOf(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined;
}

async function withDeadline<Value>(promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${LOOK_UP_DEADLINE_MS} ms`)), LOOK_UP_DEADLINE_MS);
  });
  try {
    return await Promise.race([promise, deadline]);
  } finally {
    clearTimeout(timer);
  }
}

/** Half of a surrogate pair has no UTF-8: strict readers would not get past a record that has one. */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, wellFormed(part)]));
}
