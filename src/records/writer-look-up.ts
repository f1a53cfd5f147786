/**
 * The schema that a value was written by, looked up in the registry by its id: one of the topic's own subject, with the
 * schemas that it refers to.
 *
 * An outage is never a bad message: each question has a deadline, and what could not be asked is `unavailable`.
 */
import { isJsonObject, isRawNumber, type JsonObject, type JsonValue } from './lossless-json.ts';
import { askRegistry, messageOf, registryRefusal, type RegistryAccess, type RegistryAnswer } from './registry-http.ts';
import {
  SCHEMA_LENGTH_MAX,
  writerSchema,
  WriterSchemaError,
  type ReaderRecord,
  type WriterSchema,
} from './writer-schema.ts';

/** A registry that hangs must not hold a lane; a healthy one answers in milliseconds. */
export const LOOK_UP_DEADLINE_MS = 5_000;
/** Look-ups of schemas that one refers to, one by another. */
const REFERENCES_MAX = 20;

/** Why there is no schema to read by, or a value cannot be read. */
export type NoWriter =
  | { kind: 'unreadable'; problem: string }
  | { kind: 'unknown-schema'; problem: string }
  | { kind: 'unavailable'; problem: string };

export type Writer = { kind: 'writer'; schema: WriterSchema } | NoWriter;

export class WriterLookUp {
  readonly #access: RegistryAccess;

  constructor(access: RegistryAccess) {
    this.#access = access;
  }

  async writerOf(subject: string, reader: ReaderRecord, schemaId: number): Promise<Writer> {
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
    throw new Error(registryRefusal(this.#access, answer.status) ?? `it answered ${answer.status}`);
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
