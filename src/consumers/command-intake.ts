/**
 * Reads one message of a command topic: its key, headers and value, as Avro or JSON. What cannot be read becomes a dead
 * letter (and, with a usable key, an INVALID result); what is on another lane's partition is to be moved there.
 */
import type { KafkaMessage } from 'kafkajs';
import type { MaxAgeMs } from '../config.ts';
import type { Arrival } from '../ledger/admission.ts';
import type { Carried, Origin } from '../ledger/entry.ts';
import type { DeadLetter, DeadLetterReason, OriginalMessage } from '../producers/dead-letters.ts';
import type { OutgoingRecord } from '../producers/lane-producer.ts';
import { JSON_CONTENT_TYPE } from '../records/cloud-events.ts';
import { canonicalJson, commandFingerprint, readCommandFields, type FieldProblem } from '../records/command-fields.ts';
import { COMMAND_VALUE_BYTES_MAX, type CommandType } from '../records/commands.ts';
import { laneOf, readKey } from '../records/keys.ts';
import { isJsonObject, JsonMeaningError, parseUnambiguous } from '../records/lossless-json.ts';
import type { RecordRegistry } from '../records/registry.ts';
import { createHash } from 'node:crypto';
import type { TracedCommand } from './command-traces.ts';

export type Intake =
  | {
      kind: 'arrival';
      arrival: Arrival;
      original: OriginalMessage;
      buriedAs: { reason: DeadLetterReason; message: string } | null;
      /** When it was read. */
      readMs: number;
    }
  | { kind: 'dead-letter'; letter: DeadLetter; command: TracedCommand; readMs: number }
  | { kind: 'misrouted'; record: OutgoingRecord }
  /** The registry cannot be asked: the message waits. */
  | { kind: 'unavailable'; problem: string };

export interface IntakeOptions {
  readonly registry: Pick<RecordRegistry, 'decode'>;
  readonly laneCount: number;
  readonly maxAgeMs: MaxAgeMs;
}

const HEADER_LENGTH_MAX = 1024;
/** Headers of our own on a moved command: where it was first. */
const MOVED = { partition: 'moved-partition', offset: 'moved-offset', timestamp: 'moved-timestamp' };

export async function readMessage(
  options: IntakeOptions,
  place: { topic: string; lane: number; commandType: CommandType },
  message: KafkaMessage,
  nowMs: number,
): Promise<Intake> {
  const original = originalMessage(place, message);
  const { topic, partition, offset, timestampMs } = original;
  const origin: Origin = { topic, partition, offset, timestampMs };
  const key = readKey(message.key);
  if (!key.ok) {
    return {
      kind: 'dead-letter',
      letter: { ...original, reason: key.reason, message: key.problem },
      command: { key: null, commandType: place.commandType, origin, carried: carriedOf(message) },
      readMs: nowMs,
    };
  }
  const lane = laneOf(key.key, options.laneCount);
  if (lane !== place.lane) return { kind: 'misrouted', record: movedRecord(place.topic, lane, original) };
  const arrival = (content: Arrival['content'], fingerprint: string, expiresAtMs: number | null): Arrival => ({
    key: key.key,
    commandType: place.commandType,
    fingerprint,
    commandId: header(message, 'ce_id'),
    origin,
    carried: carriedOf(message),
    deadlineMs: Math.min(expiresAtMs ?? Infinity, origin.timestampMs + options.maxAgeMs[place.commandType]),
    expiresAtMs,
    content,
  });
  const unreadable = (reason: DeadLetterReason, problem: string): Intake => {
    const fingerprint = createHash('sha256')
      .update(`unreadable\n${place.commandType}\n`)
      .update(message.value ?? '')
      .digest('base64url');
    return {
      kind: 'arrival',
      arrival: arrival({ kind: 'unreadable', problem }, fingerprint, null),
      original,
      buriedAs: { reason, message: problem },
      readMs: nowMs,
    };
  };

  if (message.value === null) return unreadable('UNREADABLE', 'the message has no value');
  if (message.value.length > COMMAND_VALUE_BYTES_MAX) {
    return unreadable(
      'TOO_LARGE',
      `the value has ${message.value.length} bytes; a command has at most ${COMMAND_VALUE_BYTES_MAX}`,
    );
  }
  const decoded = await decodeValue(options, place.topic, message, message.value);
  if (decoded.kind === 'unavailable') return decoded;
  if (decoded.kind === 'unknown-schema') return unreadable('UNKNOWN_SCHEMA', decoded.problem);
  if (decoded.kind === 'unreadable') return unreadable('UNREADABLE', decoded.problem);

  const expiry = readExpiry(wholeHeader(message, 'expires-at'));
  const fields = readCommandFields(place.commandType, decoded.value);
  const problems: FieldProblem[] = [...(fields.ok ? [] : fields.problems), ...(expiry.ok ? [] : [expiry.problem])];
  const canonical = canonicalJson(fields.ok ? fields.value : (decoded.value as object));
  const fingerprint = commandFingerprint(place.commandType, canonical);
  if (!fields.ok || !expiry.ok)
    return {
      kind: 'arrival',
      arrival: arrival({ kind: 'invalid', fieldsJson: canonical, problems }, fingerprint, null),
      original,
      buriedAs: null,
      readMs: nowMs,
    };
  return {
    kind: 'arrival',
    arrival: arrival({ kind: 'valid', fieldsJson: canonical, fields: fields.value }, fingerprint, expiry.ms),
    original,
    buriedAs: null,
    readMs: nowMs,
  };
}

type Decoded = Awaited<ReturnType<RecordRegistry['decode']>>;

/** Avro, unless the message's content type says JSON. */
export async function decodeValue(
  options: IntakeOptions,
  topic: string,
  message: KafkaMessage,
  value: Buffer,
): Promise<Decoded> {
  const contentType = header(message, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (contentType !== JSON_CONTENT_TYPE) return options.registry.decode(topic, value);
  try {
    const parsed = parseUnambiguous(new TextDecoder('utf-8', { fatal: true }).decode(value));
    if (isJsonObject(parsed)) return { kind: 'record', value: parsed };
    return { kind: 'unreadable', problem: 'the JSON value is not an object' };
  } catch (error) {
    if (error instanceof JsonMeaningError) return { kind: 'unreadable', problem: `the JSON value: ${error.message}` };
    return { kind: 'unreadable', problem: `not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function readExpiry(text: string | null): { ok: true; ms: number | null } | { ok: false; problem: FieldProblem } {
  if (text === null) return { ok: true, ms: null };
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/.test(text) ? Date.parse(text) : NaN;
  if (!Number.isNaN(ms)) return { ok: true, ms };
  return {
    ok: false,
    problem: {
      path: 'headers.expires-at',
      message: 'must be an ISO 8601 instant with a zone, such as 2026-01-31T12:00:00Z',
    },
  };
}

/** The message as it was read, at its first place. */
export function originalMessage(place: { topic: string; lane: number }, message: KafkaMessage): OriginalMessage {
  return { ...originOf(place, message), key: message.key, value: message.value, headers: plainHeaders(message) };
}

function originOf(place: { topic: string; lane: number }, message: KafkaMessage): Origin {
  const here: Origin = {
    topic: place.topic,
    partition: place.lane,
    offset: BigInt(message.offset),
    timestampMs: Number(message.timestamp),
  };
  const moved = [MOVED.partition, MOVED.offset, MOVED.timestamp].map((name) => header(message, name));
  if (!moved.every((text): text is string => text !== null && /^\d{1,18}$/.test(text))) return here;
  const [partition = '', offset = '', timestamp = ''] = moved;
  // A header can lie; it can make a command older, never younger.
  return {
    topic: place.topic,
    partition: Number(partition),
    offset: BigInt(offset),
    timestampMs: Math.min(Number(timestamp), here.timestampMs),
  };
}

/** A message on its way to the partition of its key, with its first place in headers. */
export function movedRecord(topic: string, lane: number, original: OriginalMessage): OutgoingRecord {
  return {
    topic,
    partition: lane,
    key: original.key,
    value: original.value,
    headers: {
      ...original.headers,
      [MOVED.partition]: String(original.partition),
      [MOVED.offset]: original.offset.toString(),
      [MOVED.timestamp]: String(original.timestampMs),
    },
  };
}

function carriedOf(message: KafkaMessage): Carried {
  const names = ['traceparent', 'tracestate', 'correlation-id'] as const;
  return Object.fromEntries(
    names.map((name) => [name, header(message, name)]).filter(([, text]) => text !== null),
  ) as Carried;
}

/** A header that is carried on or compared; one that is too long counts as absent. */
function header(message: KafkaMessage, name: string): string | null {
  const text = wholeHeader(message, name);
  return text === null || text.length > HEADER_LENGTH_MAX ? null : text;
}

function wholeHeader(message: KafkaMessage, name: string): string | null {
  const value = message.headers?.[name];
  const first = Array.isArray(value) ? value[0] : value;
  return first?.toString() ?? null;
}

function plainHeaders(message: KafkaMessage): Record<string, string | Buffer> {
  const headers: Record<string, string | Buffer> = {};
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    const first = Array.isArray(value) ? value[0] : value;
    if (first !== undefined) headers[name] = first;
  }
  return headers;
}
