/**
 * Looks up a value's writer schema in the registry by its id, together with the schemas that it refers to. It must belong to
 * the topic's own subject.
 *
 * An outage must not look like a bad message: each request has a deadline, and a failed one gives `unavailable`. Nor must a
 * lagging replica: we look up an unknown id again after a second, and accept it if the subject's latest version has it.
 */
import { systemClock, type Clock } from './clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from './lossless-json.ts';
import { failureOfStatus, RegistryError, registryError, type RegistryFailure } from './registry-failure.ts';
import { askRegistry, numberIn, type RegistryAccess, type RegistryAnswer } from './registry-http.ts';
import {
  SCHEMA_LENGTH_MAX,
  writerSchema,
  WriterSchemaError,
  type ReaderRecord,
  type WriterSchema,
} from './writer-schema.ts';

/** A registry that hangs must not hold a lane; a healthy one answers in milliseconds. */
export const LOOK_UP_DEADLINE_MS = 5_000;
/** Limit of referenced schemas, direct and indirect. */
const REFERENCES_MAX = 20;

/** Pause before an unknown id is looked up again. */
const UNKNOWN_AGAIN_MS = 1_000;
/**
 * For this long an id that was unknown twice gets only one look-up. Otherwise many messages with it would delay the commands
 * behind them.
 */
const UNKNOWN_KEPT_MS = 30_000;
/** Unknown ids to remember. At this limit, a flood, every other id also gets only one look-up. */
const UNKNOWN_MAX = 10;

/** For tests. */
export interface LookUpTime extends Pick<Clock, 'monotonicMs'> {
  readonly sleep: (ms: number) => Promise<void>;
}

const REAL_TIME: LookUpTime = {
  monotonicMs: () => systemClock.monotonicMs(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Why there is no schema, or why a value cannot be read. */
export type NoWriter =
  | { kind: 'unreadable'; problem: string }
  | { kind: 'unknown-schema'; problem: string }
  | { kind: 'unavailable'; problem: string; failure: RegistryFailure };

export type Writer = { kind: 'writer'; schema: WriterSchema } | NoWriter;

export class WriterLookUp {
  readonly #access: RegistryAccess;
  readonly #time: LookUpTime;
  /** Subjects and ids, with the time of the second failed look-up. */
  readonly #unknown = new Map<string, number>();

  constructor(access: RegistryAccess, time = REAL_TIME) {
    this.#access = access;
    this.#time = time;
  }

  async writerOf(subject: string, reader: ReaderRecord, schemaId: number): Promise<Writer> {
    const writer = await this.#lookUp(subject, reader, schemaId);
    if (writer.kind !== 'unknown-schema' || this.#isLookedUpOnce(subject, schemaId)) return writer;
    await this.#time.sleep(UNKNOWN_AGAIN_MS);
    const again = await this.#lookUp(subject, reader, schemaId);
    if (again.kind === 'unknown-schema') this.#unknown.set(`${subject} ${schemaId}`, this.#time.monotonicMs());
    return again;
  }

  #isLookedUpOnce(subject: string, schemaId: number): boolean {
    for (const [name, sinceMs] of this.#unknown)
      if (this.#time.monotonicMs() - sinceMs >= UNKNOWN_KEPT_MS) this.#unknown.delete(name);
    return this.#unknown.has(`${subject} ${schemaId}`) || this.#unknown.size >= UNKNOWN_MAX;
  }

  async #lookUp(subject: string, reader: ReaderRecord, schemaId: number): Promise<Writer> {
    try {
      const found = await this.#ask('GET', `/schemas/ids/${schemaId}`);
      if (isAbsent(found)) {
        return await this.#latestOr(subject, reader, schemaId, {
          kind: 'unknown-schema',
          problem: `the schema registry does not know schema id ${schemaId}: register the schema under ${subject} in this registry, and write with its id`,
        });
      }
      const schema = found.isTooLong ? null : schemaOf(found.body);
      if (schema === null) {
        if (found.isTooLong) return unreadable(schemaId, `is longer than ${SCHEMA_LENGTH_MAX} characters`);
        throw this.#notARegistry(found);
      }
      const registered = await this.#ask('POST', `/subjects/${encodeURIComponent(subject)}`, schema);
      if (isAbsent(registered)) {
        return await this.#latestOr(subject, reader, schemaId, {
          kind: 'unknown-schema',
          problem: `schema id ${schemaId} does not belong to subject ${subject}: register the schema there, or write with one that is registered there`,
        });
      }
      if (!registered.isTooLong && numberIn(registered.body, 'id') === null) throw this.#notARegistry(registered);
      return await this.#compiled(reader, schemaId, schema);
    } catch (error) {
      if (!(error instanceof RegistryError) || error.failure === null) throw error;
      return {
        kind: 'unavailable',
        problem: `schema id ${schemaId} of subject ${subject} cannot be looked up: ${error.message}`,
        failure: error.failure,
      };
    }
  }

  async #compiled(reader: ReaderRecord, schemaId: number, schema: RegisteredSchema): Promise<Writer> {
    if (schema.schemaType !== 'AVRO') return unreadable(schemaId, `is ${schema.schemaType}, not AVRO`);
    const referred = await this.#referencedTexts(schema.references);
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

  /** The texts of referenced schemas, each after its own references; null: missing, or too many. */
  async #referencedTexts(references: readonly Reference[]): Promise<string[] | null> {
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
      if (isAbsent(found) || found.isTooLong) return null;
      const schema = schemaOf(found.body);
      if (schema === null) throw this.#notARegistry(found);
      const unread = schema.references.filter((inner) => !texts.has(nameOf(inner)));
      if (unread.length === 0) texts.set(nameOf(next), schema.schema);
      else waiting.unshift(...unread, next);
    }
    return [...texts.values()];
  }

  /**
   * The subject's latest version may have the id.
   * @throws RegistryError if the subject has no version: a registry that lost its data knows no id, so we cannot tell
   */
  async #latestOr(subject: string, reader: ReaderRecord, schemaId: number, verdict: Writer): Promise<Writer> {
    const latest = await this.#ask('GET', `/subjects/${encodeURIComponent(subject)}/versions/latest`);
    if (latest.status !== 200) throw registryError({ kind: 'subject-missing', subjects: [subject] }, this.#access.url);
    const schema = schemaOf(latest.body);
    if (schema === null || numberIn(latest.body, 'id') !== schemaId) return verdict;
    return this.#compiled(reader, schemaId, schema);
  }

  /** @throws RegistryError if no registry answers the question */
  async #ask(method: 'GET' | 'POST', path: string, body?: object): Promise<RegistryAnswer> {
    return askRegistry(this.#access, method, path, {
      timeoutMs: LOOK_UP_DEADLINE_MS,
      ...(body === undefined ? {} : { body }),
    });
  }

  #notARegistry({ status }: RegistryAnswer): RegistryError {
    return registryError(failureOfStatus(status, 'application/json', null), this.#access.url);
  }
}

interface Reference {
  readonly subject: string;
  readonly version: number;
}

interface RegisteredSchema {
  readonly schema: string;
  readonly schemaType: string;
  readonly references: readonly Reference[];
}

/** Null: the body holds no schema. */
function schemaOf({ references, schema, schemaType }: JsonObject): RegisteredSchema | null {
  if (typeof schema !== 'string') return null;
  const listed = Array.isArray(references) ? references.map(referenceOf) : [];
  return {
    schema,
    schemaType: typeof schemaType === 'string' ? schemaType : 'AVRO',
    references: listed.filter((reference) => reference !== null),
  };
}

function referenceOf(value: JsonValue): Reference | null {
  const object: JsonObject = isJsonObject(value) ? value : {};
  const { subject } = object;
  const version = numberIn(object, 'version');
  return typeof subject === 'string' && version !== null ? { subject, version } : null;
}

/** It does not exist, or the registry does not accept its form. */
function isAbsent({ status }: RegistryAnswer): boolean {
  return status !== 200;
}

function unreadable(schemaId: number, problem: string): Writer {
  return { kind: 'unreadable', problem: `schema id ${schemaId} ${problem}` };
}
