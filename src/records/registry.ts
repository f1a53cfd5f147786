/**
 * Avro in the Confluent wire format, through the schema registry.
 *
 * Writing: the id of each of our schemas is looked up once by its subject (registering is a deployment step, not ours).
 * Reading: the writer's schema comes from the registry by its id (cached for good, for ids never change), and is
 * resolved into our own record, so that older and newer publishers are both understood.
 *
 * An outage is never a bad message: each look-up has a deadline, and what could not be asked is `unavailable`.
 */
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import type avsc from 'avsc';
import { AVRO_OPTIONS, loadSchema, loadType } from './schemas.ts';
import { subjectOf } from './topics.ts';

/** A registry that hangs must not hold a lane; a healthy one answers in milliseconds. */
const LOOK_UP_DEADLINE_MS = 5_000;
/** How long an id that the registry did not know is taken as unknown without asking again. */
const UNKNOWN_ID_MEMORY_MS = 10_000;
/** Ids remembered as unknown; more than a publisher in error makes, small in memory. */
const UNKNOWN_IDS_MAX = 1_000;
/** Magic byte and schema id before the Avro bytes. */
const WIRE_HEADER_BYTES = 5;

export interface RegistryOptions {
  url: string;
  username: string | null;
  password: string | null;
  /** Topics with a schema, and the record of each. */
  records: ReadonlyMap<string, string>;
}

export type DecodeResult =
  | { kind: 'record'; value: unknown }
  | { kind: 'unreadable'; problem: string }
  | { kind: 'unknown-schema'; problem: string }
  | { kind: 'unavailable'; problem: string };

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
  readonly #options: RegistryOptions;
  readonly #client: SchemaRegistry;
  readonly #readerTypes = new Map<string, avsc.Type>();
  readonly #resolvers = new Map<string, unknown>();
  readonly #writerIds = new Map<string, number>();
  readonly #unknownUntilMs = new Map<number, number>();

  constructor(options: RegistryOptions) {
    this.#options = options;
    const auth =
      options.username === null ? {} : { auth: { username: options.username, password: options.password ?? '' } };
    this.#client = new SchemaRegistry(
      { host: options.url, retry: { retries: 0 }, ...auth },
      { forSchemaOptions: AVRO_OPTIONS },
    );
  }

  /**
   * Looks up the ids of the schemas that will be written.
   * @throws RegistryError naming every topic whose schema is not registered, or what failed
   */
  async prepare(topics: Iterable<string>): Promise<void> {
    const missing: string[] = [];
    for (const topic of topics) {
      try {
        await this.#writerId(topic);
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
    return this.#client.encode(await this.#writerId(topic), value);
  }

  /** Reads a value of the topic into our own record of it. Never throws for what the bytes say. */
  async decode(topic: string, bytes: Buffer, nowMs: number): Promise<DecodeResult> {
    if (bytes.length < WIRE_HEADER_BYTES || bytes[0] !== 0) {
      return {
        kind: 'unreadable',
        problem: `not in the Confluent wire format: ${bytes.length} bytes that do not begin with a zero byte and a schema id`,
      };
    }
    const schemaId = bytes.readInt32BE(1);
    const recordName = this.#recordName(topic);
    const resolved = await this.#resolver(recordName, schemaId, topic, nowMs);
    if (resolved.kind !== 'resolver') return resolved;
    try {
      const value: unknown = this.#readerType(recordName).fromBuffer(
        bytes.subarray(WIRE_HEADER_BYTES),
        resolved.resolver as never,
      );
      return { kind: 'record', value };
    } catch (error) {
      return { kind: 'unreadable', problem: `bytes do not fit schema id ${schemaId}: ${messageOf(error)}` };
    }
  }

  async #resolver(
    recordName: string,
    schemaId: number,
    topic: string,
    nowMs: number,
  ): Promise<{ kind: 'resolver'; resolver: unknown } | Exclude<DecodeResult, { kind: 'record' }>> {
    const cacheName = `${recordName} ${schemaId}`;
    const cached = this.#resolvers.get(cacheName);
    if (cached !== undefined) return { kind: 'resolver', resolver: cached };
    if ((this.#unknownUntilMs.get(schemaId) ?? 0) > nowMs) return unknownSchema(schemaId);
    let writerType: avsc.Type;
    try {
      writerType = (await withDeadline(this.#client.getSchema(schemaId))) as unknown as avsc.Type;
    } catch (error) {
      if (statusOf(error) !== 404)
        return { kind: 'unavailable', problem: `schema id ${schemaId} cannot be looked up: ${messageOf(error)}` };
      return this.#unknownOrUnavailable(schemaId, topic, nowMs);
    }
    try {
      const resolver = this.#readerType(recordName).createResolver(writerType);
      this.#resolvers.set(cacheName, resolver);
      return { kind: 'resolver', resolver };
    } catch (error) {
      return { kind: 'unreadable', problem: `schema id ${schemaId} does not fit ${recordName}: ${messageOf(error)}` };
    }
  }

  /** A registry that lost its data also answers 404: an id is unknown only if our own subject is still there. */
  async #unknownOrUnavailable(
    schemaId: number,
    topic: string,
    nowMs: number,
  ): Promise<Exclude<DecodeResult, { kind: 'record' }>> {
    try {
      await withDeadline(this.#client.getLatestSchemaId(subjectOf(topic)));
    } catch (error) {
      return {
        kind: 'unavailable',
        problem: `the registry knows neither schema id ${schemaId} nor our subject ${subjectOf(topic)}: ${messageOf(error)}`,
      };
    }
    if (this.#unknownUntilMs.size >= UNKNOWN_IDS_MAX) this.#unknownUntilMs.clear();
    this.#unknownUntilMs.set(schemaId, nowMs + UNKNOWN_ID_MEMORY_MS);
    return unknownSchema(schemaId);
  }

  #recordName(topic: string): string {
    const recordName = this.#options.records.get(topic);
    if (recordName === undefined) throw new Error(`no record is known for topic ${topic}`);
    return recordName;
  }

  #readerType(recordName: string): avsc.Type {
    let type = this.#readerTypes.get(recordName);
    if (type === undefined) {
      type = loadType(recordName);
      this.#readerTypes.set(recordName, type);
    }
    return type;
  }

  async #writerId(topic: string): Promise<number> {
    const known = this.#writerIds.get(topic);
    if (known !== undefined) return known;
    const subject = subjectOf(topic);
    const schema = { type: SchemaType.AVRO as const, schema: JSON.stringify(loadSchema(this.#recordName(topic))) };
    try {
      const id = await withDeadline(this.#client.getRegistryIdBySchema(subject, schema));
      await withDeadline(this.#client.getSchema(id));
      this.#writerIds.set(topic, id);
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

function unknownSchema(schemaId: number): { kind: 'unknown-schema'; problem: string } {
  return { kind: 'unknown-schema', problem: `the schema registry does not know schema id ${schemaId}` };
}

function statusOf(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
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
