/**
 * Publishes payment commands: checks key and fields, writes them as Avro or JSON with CloudEvents headers.
 *
 * Publishing the same command with the same key again is safe while the processor remembers the key, 7 days after the
 * result (LEDGER_RETENTION): one key is one command, and a copy gets the first one's result. If you do not know whether
 * a publication arrived, publish it again.
 */
import { randomUUID } from 'node:crypto';
import { PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { RecordPublisher } from './kafka/record-publisher.ts';
import { AVRO_CONTENT_TYPE, eventHeaders, JSON_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import {
  canonicalJson,
  commandFingerprint,
  readCommandFields,
  type FieldProblem,
} from 'payment-processor-contract/command-fields';
import {
  COMMAND_HEADER_BYTES_MAX,
  COMMAND_RECORDS,
  COMMAND_TYPES,
  COMMAND_VALUE_BYTES_MAX,
  isCommandType,
  type CommandType,
} from 'payment-processor-contract/commands';
import { keyProblem } from 'payment-processor-contract/keys';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { RegistryError } from 'payment-processor-contract/registry-failure';
import { topicNames, type TopicNames } from 'payment-processor-contract/topics';
import { withBigints } from './amounts.ts';
import {
  clientError,
  PaymentClientError,
  requireInstant,
  requireOneOf,
  requireText,
  withClientErrors,
} from './client-error.ts';
import type { CommandInput } from './command-input.ts';
import { clientKafka } from './connection.ts';
import { notice, type Noticing } from './notices.ts';
import { registryOf, type PublisherSettings } from './settings.ts';

export interface PublishOptions {
  /** `avro` (default if the settings have a registry) requires registered schemas; `json` requires no registry. */
  contentType?: 'avro' | 'json';
  /** The instant after which no call may start. */
  expiresAt?: Date;
  /** Carried to the results and events of the command. */
  correlationId?: string;
  /** W3C trace context, carried to the results and events of the command. */
  traceparent?: string;
  tracestate?: string;
  /** `ce_source`: who publishes, a URI reference. */
  source?: string;
  /** `ce_id`; a new UUID if not given. A retrying publisher may reuse it. */
  commandId?: string;
}

export interface PublishedCommand {
  key: string;
  /** The command's `ce_id`; its result names it in `in-reply-to`. */
  commandId: string;
  topic: string;
  partition: number;
  offset: bigint;
}

function invalidCommand(type: string, problems: readonly FieldProblem[]): PaymentClientError {
  const list = problems.map(({ path, message }) => `${path === '' ? 'the value' : path} ${message}`);
  const message = `this ${type} command is not valid and was not sent: ${list.join('; ')}`;
  return new PaymentClientError('INVALID_COMMAND', message, { field: problems[0]?.path ?? '', problems });
}

const CONTENT_TYPES = { avro: AVRO_CONTENT_TYPE, json: JSON_CONTENT_TYPE } as const;
const TEXT_OPTIONS = ['correlationId', 'traceparent', 'tracestate', 'source', 'commandId'] as const;
const DEFAULT_SOURCE = 'payment-commands-client';

export interface PublisherOptions extends Noticing {
  /** How long connecting, and each write, is retried; default: half a minute. */
  retry?: typeof PATIENT_RETRY;
}

export class PaymentCommandPublisher {
  readonly #topics: TopicNames;
  /** Null: no registry is set, so it publishes JSON. */
  readonly #registry: RecordRegistry | null;
  readonly #records: RecordPublisher;
  readonly #noticing: Noticing;

  private constructor(
    topics: TopicNames,
    registry: RecordRegistry | null,
    records: RecordPublisher,
    noticing: Noticing,
  ) {
    this.#noticing = noticing;
    this.#topics = topics;
    this.#registry = registry;
    this.#records = records;
  }

  /** @throws PaymentClientError */
  static async connect(settings: PublisherSettings, options: PublisherOptions = {}): Promise<PaymentCommandPublisher> {
    const retry = options.retry ?? PATIENT_RETRY;
    return withClientErrors(async () => {
      const topics = topicNames(settings.TOPIC_PREFIX);
      const kafka = clientKafka(settings, 'payment-command-publisher', retry);
      const records = await RecordPublisher.connect(kafka, Object.values(topics.commands), retry);
      return new PaymentCommandPublisher(topics, registryOf(settings), records, options);
    });
  }

  /**
   * @param key names the command, across all types; 1 to 200 characters of 0x21 to 0x7E
   * @returns once every in-sync replica has the command
   * @throws PaymentClientError; `mayBeWritten`: the command may have arrived anyway
   */
  async publish<Type extends CommandType>(
    type: Type,
    key: string,
    fields: CommandInput<Type>,
    options: PublishOptions = {},
  ): Promise<PublishedCommand> {
    return this.publishUntyped(type, key, fields, options);
  }

  /** Like publish, for untyped fields, such as JSON read by parseLossless. */
  async publishUntyped(
    type: CommandType,
    key: string,
    fields: unknown,
    options: PublishOptions = {},
  ): Promise<PublishedCommand> {
    const startMs = performance.now();
    try {
      const published = await this.#publish(type, key, fields, options);
      const { offset, partition, topic } = published;
      const ms = performance.now() - startMs;
      notice(this.#noticing, { kind: 'published', type, key, topic, partition, offset, ms });
      return published;
    } catch (error) {
      const failed = clientError(error);
      notice(this.#noticing, { kind: 'publish-failed', type, key, error: failed, ms: performance.now() - startMs });
      throw failed;
    }
  }

  async #publish(type: CommandType, key: string, fields: unknown, options: PublishOptions): Promise<PublishedCommand> {
    const checked = checkCommand(type, key, fields);
    checkPublishOptions(type, key, options);
    const topic = this.#topics.commands[type];
    const contentType = options.contentType ?? (this.#registry === null ? 'json' : 'avro');
    const commandId = options.commandId ?? randomUUID();
    const headers = headersOf(type, key, commandId, { ...options, contentType });
    // The canonical form leaves out nulls: an older processor may not know these fields.
    const value = contentType === 'json' ? Buffer.from(canonicalJson(checked)) : await this.#encode(topic, checked);
    if (value.length > COMMAND_VALUE_BYTES_MAX) {
      const message = `takes ${value.length} bytes; a command may take at most ${COMMAND_VALUE_BYTES_MAX}`;
      throw invalidCommand(type, [{ path: '', message }]);
    }
    const at = await this.#records.publish({ topic, key: Buffer.from(key), value, headers });
    return { key, commandId, topic, ...at };
  }

  async #encode(topic: string, fields: object): Promise<Buffer> {
    if (this.#registry === null) {
      const problem = 'publishing Avro requires SCHEMA_REGISTRY_URL: set it, or publish JSON';
      throw new RegistryError(problem, { failure: null });
    }
    await this.#registry.ready(topic);
    return this.#registry.encode(topic, fields);
  }

  /** Sends the queued commands and disconnects. */
  async close(): Promise<void> {
    await this.#records.close();
  }
}

/**
 * The fields of a command with defaults applied, amounts as bigint.
 * @throws PaymentClientError
 */
export function checkCommand(type: CommandType, key: string, fields: unknown): object {
  if (!isCommandType(type)) {
    throw invalidCommand(String(type), [{ path: 'type', message: `is not one of ${COMMAND_TYPES.join(', ')}` }]);
  }
  const wrongKey = typeof key === 'string' ? keyProblem(key) : 'it is not a string';
  const given = withBigints(fields);
  const read = given.ok ? readCommandFields(type, given.fields) : given;
  const problems = [
    ...(wrongKey === null ? [] : [{ path: 'key', message: `is not valid: ${wrongKey}` }]),
    ...(read.ok ? [] : read.problems),
  ];
  if (problems.length > 0 || !read.ok) throw invalidCommand(type, problems);
  return read.value;
}

/** @throws PaymentClientError naming the option */
export function checkPublishOptions(type: CommandType, key: string, options: PublishOptions): void {
  requireInstant('expiresAt', options.expiresAt);
  if (options.contentType !== undefined) requireOneOf('contentType', options.contentType, Object.keys(CONTENT_TYPES));
  for (const name of TEXT_OPTIONS) requireText(name, options[name]);
  const contentType = options.contentType ?? 'avro';
  const headers = headersOf(type, key, options.commandId ?? randomUUID(), { ...options, contentType });
  const bytes = Object.entries(headers)
    .flat()
    .reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes <= COMMAND_HEADER_BYTES_MAX) return;
  const lengthOf = (name: (typeof TEXT_OPTIONS)[number]): number => options[name]?.length ?? 0;
  const [field] = TEXT_OPTIONS.toSorted((left, right) => lengthOf(right) - lengthOf(left));
  const message = `${field} is too long: the command's headers take ${bytes} bytes; they may take at most ${COMMAND_HEADER_BYTES_MAX}`;
  throw new PaymentClientError('INVALID_OPTION', message, field === undefined ? {} : { field });
}

/**
 * Equal for equal commands: of one type, with the same fields. Results carry it as `command-fingerprint`.
 * @throws PaymentClientError
 */
export function fingerprintOf(type: CommandType, key: string, fields: unknown): string {
  return commandFingerprint(type, canonicalJson(checkCommand(type, key, fields)));
}

function headersOf(
  type: CommandType,
  key: string,
  id: string,
  options: PublishOptions & { contentType: 'avro' | 'json' },
): Record<string, string> {
  const contentType = CONTENT_TYPES[options.contentType];
  const common = { id, recordName: COMMAND_RECORDS[type], subject: key, timeMs: Date.now(), contentType };
  return {
    ...eventHeaders({ ...common, source: options.source ?? DEFAULT_SOURCE }),
    ...(options.expiresAt === undefined ? {} : { 'expires-at': options.expiresAt.toISOString() }),
    ...(options.correlationId === undefined ? {} : { 'correlation-id': options.correlationId }),
    ...(options.traceparent === undefined ? {} : { traceparent: options.traceparent }),
    ...(options.tracestate === undefined ? {} : { tracestate: options.tracestate }),
  };
}
