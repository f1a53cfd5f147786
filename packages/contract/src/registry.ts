/**
 * Avro in the Confluent wire format, through the schema registry.
 *
 * Writing: we look up the id of each of our schemas once, by its subject. The registry's client makes a type of the schema
 * with that id. Registering is a deployment step.
 *
 * Reading: the writer's schema comes from the registry (writer-look-up.ts) and is resolved into our own record, so that we
 * understand older and newer publishers. Schemas and bytes of others have limits. We cache found schemas, because ids never
 * change. We look up an unknown id, or one of another subject, each time, because it may have been registered since.
 */
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import type avsc from 'avsc';
import { avroBytes } from './avro-bytes.ts';
import { COMMAND_RECORDS } from './commands.ts';
import {
  failureOfRequest,
  failureOfStatus,
  RegistryError,
  registryError,
  type RegistryFailure,
} from './registry-failure.ts';
import { askRegistry, messageOf, numberIn, type RegistryAccess } from './registry-http.ts';
import { AVRO_OPTIONS, loadSchema } from './schemas.ts';
import { settledWithin } from './settled-within.ts';
import { subjectOf } from './topics.ts';
import { LOOK_UP_DEADLINE_MS, WriterLookUp, type LookUpTime, type NoWriter, type Writer } from './writer-look-up.ts';
import { readerRecord, type ReaderRecord } from './writer-schema.ts';

/** Magic byte and schema id before the Avro bytes. */
const WIRE_HEADER_BYTES = 5;
/** Writers' schemas to cache, oldest dropped first. A topic has only a few versions in use. */
const WRITERS_MAX = 200;
/** Instructions to us: their writers must not use fields that we would miss. */
const ORDERS: readonly string[] = [...Object.values(COMMAND_RECORDS), 'OperatorDecision'];

export interface RegistryOptions extends RegistryAccess {
  /** Topics with a schema, and the record of each. */
  readonly records: ReadonlyMap<string, string>;
  /** Default: the machine's clock. */
  readonly time?: LookUpTime;
}

/** Why the registry cannot be used, as last found. */
export interface RegistryFault {
  readonly failure: RegistryFailure;
  /** The request, the registry, and the remedy. */
  readonly problem: string;
}

/** A command or decision with unknown fields keeps them as base64 of the bytes. */
export type DecodeResult = { kind: 'record'; value: unknown } | NoWriter;

interface OwnSchema {
  readonly id: number;
  readonly type: avsc.Type;
}

export class RecordRegistry {
  readonly #client: SchemaRegistry;
  readonly #access: RegistryAccess;
  readonly #writerLookUp: WriterLookUp;
  readonly #records: ReadonlyMap<string, string>;
  readonly #readers = new Map<string, ReaderRecord>();
  /** By topic and id: several subjects may share an id. */
  readonly #writers = new Map<string, Writer>();
  readonly #lookUps = new Map<string, Promise<Writer>>();
  /** By topic. */
  readonly #own = new Map<string, OwnSchema>();
  readonly #ownLookUps = new Map<string, Promise<OwnSchema>>();
  /** The last failed request since the previous call of `fault`. Null: none failed, or a later one was answered. */
  #noted: RegistryFault | null = null;

  /** @param options the password is read for each request */
  constructor(options: RegistryOptions) {
    const { url, username } = options;
    this.#access = options;
    this.#writerLookUp = new WriterLookUp(options, options.time);
    const login = {
      username: username ?? '',
      get password() {
        return options.password ?? '';
      },
    };
    const auth = username === null ? {} : { auth: login };
    this.#client = new SchemaRegistry(
      { host: url, retry: { retries: 0 }, ...auth },
      { forSchemaOptions: AVRO_OPTIONS },
    );
    this.#records = options.records;
  }

  /**
   * Looks up the ids of the schemas that we will write.
   * @throws RegistryError naming every subject that lacks our schema, or the first other failure
   */
  async prepare(topics: Iterable<string>): Promise<void> {
    const missing: string[] = [];
    for (const topic of topics) {
      try {
        await this.#ownSchema(topic);
      } catch (error) {
        if (!(error instanceof RegistryError) || !error.missing) throw error;
        missing.push(subjectOf(topic));
      }
    }
    if (missing.length > 0) throw registryError({ kind: 'subject-missing', subjects: missing }, this.#access.url);
  }

  /**
   * The failure of the last request made for messages since the previous call. If none failed, it looks up the id of one of
   * our schemas. Never throws.
   * @returns null: the registry works
   */
  async fault(): Promise<RegistryFault | null> {
    const noted = this.#noted;
    this.#noted = null;
    const [topic] = this.#own.keys();
    if (noted !== null || topic === undefined) return noted;
    try {
      await this.#lookUpId(topic);
      return null;
    } catch (error) {
      return error instanceof RegistryError ? faultOf(error) : null;
    }
  }

  /** Looks up the topic's schema if it is not known yet. @throws RegistryError if the look-up fails */
  async ready(topic: string): Promise<void> {
    if (!this.#own.has(topic)) await this.#ownSchema(topic);
  }

  /**
   * Writes a record in the wire format. Synchronous, so the topic must be prepared or ready.
   * @throws Error if it is not, or the record does not match the schema
   */
  encode(topic: string, value: object): Buffer {
    const own = this.#own.get(topic);
    if (own === undefined) throw new Error(`the schema of ${topic} was not looked up before a record was written`);
    const { id, type } = own;
    const bytes = avroBytes(type, value, WIRE_HEADER_BYTES);
    bytes.writeUInt8(0, 0);
    bytes.writeInt32BE(id, 1);
    return bytes;
  }

  /**
   * Reads a value of the topic into our own record. Never throws because of the bytes or the schema.
   * @returns a promise if the writer's schema must be looked up
   */
  decode(topic: string, bytes: Buffer): DecodeResult | Promise<DecodeResult> {
    if (bytes.length < WIRE_HEADER_BYTES || bytes[0] !== 0) {
      return {
        kind: 'unreadable',
        problem:
          `not in the Confluent wire format, a zero byte and the schema id before the Avro bytes (${bytes.length} bytes): ` +
          'write it with a serializer that uses the schema registry; JSON needs the header content-type: application/json',
      };
    }
    const schemaId = bytes.readInt32BE(1);
    // No look-up: a gateway in front of the registry may have no route for a negative id, which would look like an
    // outage.
    if (schemaId < 0)
      return { kind: 'unreadable', problem: `schema id ${schemaId} is negative, so no registry has it` };
    const name = `${topic} ${schemaId}`;
    const known = this.#writers.get(name);
    if (known !== undefined) return readBy(known, schemaId, bytes);
    return this.#lookUpWriter(topic, name, schemaId).then((writer) => readBy(writer, schemaId, bytes));
  }

  async #lookUpWriter(topic: string, name: string, schemaId: number): Promise<Writer> {
    const reader = this.#reader(topic);
    const writer = await shared(this.#lookUps, name, () =>
      this.#writerLookUp.writerOf(subjectOf(topic), reader, schemaId),
    );
    this.#noted = writer.kind === 'unavailable' ? writer : null;
    // Only final answers are kept. An unknown id, or one of another subject, may be registered at any time.
    if (writer.kind === 'writer' || writer.kind === 'unreadable') {
      const [oldest] = this.#writers.keys();
      if (this.#writers.size >= WRITERS_MAX && oldest !== undefined) this.#writers.delete(oldest);
      this.#writers.set(name, writer);
    }
    return writer;
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

  #ownSchema(topic: string): Promise<OwnSchema> {
    return shared(this.#ownLookUps, topic, () => this.#lookUpOwn(topic));
  }

  async #lookUpOwn(topic: string): Promise<OwnSchema> {
    try {
      const id = await this.#lookUpId(topic);
      const own = { id, type: await this.#fetchType(id) };
      this.#noted = null;
      this.#own.set(topic, own);
      return own;
    } catch (error) {
      if (error instanceof RegistryError) this.#noted = faultOf(error);
      throw error;
    }
  }

  /** @throws RegistryError */
  async #lookUpId(topic: string): Promise<number> {
    const subject = subjectOf(topic);
    const body = { schema: JSON.stringify(loadSchema(this.#recordName(topic))) };
    try {
      const path = `/subjects/${encodeURIComponent(subject)}`;
      const answer = await askRegistry(this.#access, 'POST', path, { timeoutMs: LOOK_UP_DEADLINE_MS, body });
      if (answer.status !== 200)
        throw registryError({ kind: 'subject-missing', subjects: [subject] }, this.#access.url);
      const id = numberIn(answer.body, 'id');
      if (id === null) throw registryError(failureOfStatus(200, 'application/json', null), this.#access.url);
      return id;
    } catch (error) {
      if (!(error instanceof RegistryError) || error.missing) throw error;
      const { failure } = error;
      throw new RegistryError(`subject ${subject} cannot be looked up: ${error.message}`, { failure, cause: error });
    }
  }

  /** @throws RegistryError */
  async #fetchType(id: number): Promise<avsc.Type> {
    try {
      const fetched = this.#client.getSchema(id);
      if (!(await settledWithin(fetched, LOOK_UP_DEADLINE_MS)))
        throw new Error(`no answer within ${LOOK_UP_DEADLINE_MS} ms`);
      return (await fetched) as avsc.Type;
    } catch (error) {
      const status = statusOf(error);
      const failure =
        status === undefined
          ? failureOfRequest(error, LOOK_UP_DEADLINE_MS)
          : failureOfStatus(status, null, messageOf(error));
      throw registryError(failure, this.#access.url, error);
    }
  }
}

/** Thousands that ask for the same at once share one look-up. */
function shared<Value>(
  running: Map<string, Promise<Value>>,
  name: string,
  lookUp: () => Promise<Value>,
): Promise<Value> {
  const known = running.get(name);
  if (known !== undefined) return known;
  const begun = lookUp().finally(() => running.delete(name));
  running.set(name, begun);
  return begun;
}

function readBy(writer: Writer, schemaId: number, bytes: Buffer): DecodeResult {
  if (writer.kind !== 'writer') return writer;
  try {
    return { kind: 'record', value: writer.schema.read(bytes.subarray(WIRE_HEADER_BYTES)) };
  } catch (error) {
    return { kind: 'unreadable', problem: `the bytes do not fit schema id ${schemaId}: ${messageOf(error)}` };
  }
}

function faultOf({ failure, message }: RegistryError): RegistryFault | null {
  return failure === null ? null : { failure, problem: message };
}

function statusOf(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined;
}
