/**
 * Avro in the Confluent wire format, through the schema registry.
 *
 * Writing is the registry client's: the id of each of our schemas is looked up once by its subject (registering is a
 * deployment step, not ours).
 * Reading is ours, for what others registered and wrote has to be bounded: the writer's schema comes from the registry
 * (writer-look-up.ts) and is resolved into our own record, so that older and newer publishers are both understood. What was
 * found is kept, for ids never change; that an id is not known, or not the subject's, is asked again each time, for it may
 * be registered since.
 */
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { COMMAND_RECORDS } from './commands.ts';
import { messageOf, registryRefusal } from './registry-http.ts';
import { AVRO_OPTIONS, loadSchema } from './schemas.ts';
import { subjectOf } from './topics.ts';
import { wellFormed } from './well-formed.ts';
import { LOOK_UP_DEADLINE_MS, WriterLookUp, type NoWriter, type Writer } from './writer-look-up.ts';
import { readerRecord, type ReaderRecord } from './writer-schema.ts';

/** Magic byte and schema id before the Avro bytes. */
const WIRE_HEADER_BYTES = 5;
/** Writers' schemas that are kept; a topic has a few versions in use. The oldest found goes first. */
const WRITERS_MAX = 200;
/** Records whose writers must not say what we would not see: orders to us, not news from us. */
const ORDERS: readonly string[] = [...Object.values(COMMAND_RECORDS), 'OperatorDecision'];

export interface RegistryOptions {
  url: string;
  username: string | null;
  password: string | null;
  /** Topics with a schema, and the record of each. */
  records: ReadonlyMap<string, string>;
}

/** The record of a command or decision has what its writer said in fields that we do not know, as base64 of the bytes. */
export type DecodeResult = { kind: 'record'; value: unknown } | NoWriter;

/** The registry could not be asked, or does not have what it must have; the message says what to do. */
export class RegistryError extends Error {
  readonly missing: boolean;
  /** It is there, and refused our log-in or rights: waiting does not mend it. */
  readonly refused: boolean;
  constructor(message: string, options: { missing: boolean; refused?: boolean; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'RegistryError';
    this.missing = options.missing;
    this.refused = options.refused ?? false;
  }
}

export class RecordRegistry {
  readonly #client: SchemaRegistry;
  readonly #url: string;
  readonly #writerLookUp: WriterLookUp;
  readonly #records: ReadonlyMap<string, string>;
  readonly #readers = new Map<string, ReaderRecord>();
  /** By topic and id: an id may be of several subjects. */
  readonly #writers = new Map<string, Writer>();
  readonly #lookUps = new Map<string, Promise<Writer>>();
  readonly #ownIds = new Map<string, number>();

  constructor(options: RegistryOptions) {
    const { password, url, username } = options;
    this.#url = url;
    this.#writerLookUp = new WriterLookUp(options);
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
      lookUp = this.#writerLookUp
        .writerOf(subjectOf(topic), reader, schemaId)
        .finally(() => this.#lookUps.delete(name));
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
      const refusal = registryRefusal({ url: this.#url }, statusOf(error));
      if (refusal !== null) throw new RegistryError(refusal, { missing: false, refused: true, cause: error });
      throw new RegistryError(
        missing
          ? `subject ${subject} does not have our schema`
          : `the schema registry cannot be asked for ${subject}: ${messageOf(error)}`,
        { missing, cause: error },
      );
    }
  }
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
