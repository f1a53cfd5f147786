/**
 * Reads one message of a command topic: its key, headers and value, as Avro or JSON. An unreadable message becomes a
 * dead letter. With a usable key it also gets a result: INVALID, or CONFLICT if the key is known. A message on the
 * wrong partition must be moved to its lane.
 */
import { createHash } from 'node:crypto';
import type { MaxAgeMs } from 'payment-processor-contract/config';
import { EXPIRES_AT_PATH, type Arrival } from '../ledger/admission.ts';
import type { Carried, Origin } from '../ledger/entry.ts';
import type { DeadLetter, DeadLetterReason, OriginalMessage } from '../producers/dead-letters.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import { JSON_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { instantMs } from 'payment-processor-contract/instants';
import {
  canonicalJson,
  commandFingerprint,
  readCommandFields,
  type FieldProblem,
} from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';
import { laneOf, readKey } from 'payment-processor-contract/keys';
import { isJsonObject, JsonMeaningError, parseUnambiguous } from 'payment-processor-contract/lossless-json';
import type { DecodeResult, RecordRegistry } from 'payment-processor-contract/registry';
import type { Unavailable } from './inbox.ts';
import type { InputMessage } from './input-message.ts';
import {
  carriedOf,
  letterAside,
  movedRecord,
  originalMessage,
  placeOf,
  shortHeader,
  sizeProblem,
  wholeHeader,
  type Aside,
  type Place,
} from './message-origin.ts';

/** What traces need to know of a command. Entries, arrivals and dead letters all have it. */
export interface TracedCommand {
  /** Where it was first published; that distinguishes it from every other message. */
  readonly origin: Origin;
  readonly carried: Carried;
  /** Null if the message has no usable key. */
  readonly key: string | null;
  readonly commandType: CommandType;
}

export type Intake =
  | {
      kind: 'arrival';
      arrival: Arrival;
      original: OriginalMessage;
      deadLetteredAs: { reason: DeadLetterReason; message: string } | null;
      /** When we last began to read it: the registry may have been unavailable before. */
      readMs: number;
    }
  | { kind: 'dead-letter'; letter: DeadLetter; command: TracedCommand; readMs: number }
  | { kind: 'misrouted'; record: OutgoingRecord };

export interface IntakeOptions {
  readonly registry: Pick<RecordRegistry, 'decode'>;
  readonly laneCount: number;
  readonly maxAgeMs: MaxAgeMs;
}

export interface CommandPlace extends Place {
  readonly commandType: CommandType;
}

/**
 * A message that made our own code fail, or at which the lane was lost repeatedly. Its result is made from `arrival`.
 * Null: its key is unusable or belongs to another lane, so it gets none.
 */
export interface CommandAside {
  readonly letter: DeadLetter;
  readonly arrival: Arrival | null;
}

/** @returns a promise if the registry must be asked */
export function readMessage(
  options: IntakeOptions,
  place: CommandPlace,
  message: InputMessage,
  nowMs: number,
): Intake | Unavailable | Promise<Intake | Unavailable> {
  const original = originalMessage(place, options.laneCount, message);
  const { topic, partition, offset, timestampMs } = original;
  const origin = { topic, partition, offset, timestampMs };
  const carried = carriedOf(message);
  const deadLettered = (reason: DeadLetterReason, problem: string): Intake => ({
    kind: 'dead-letter',
    letter: { ...original, reason, message: problem },
    command: { key: null, commandType: place.commandType, origin, carried },
    readMs: nowMs,
  });
  if (message.unreadableBatch !== null) return deadLettered('UNREADABLE_BATCH', message.unreadableBatch.problem);
  const key = readKey(message.key);
  if (!key.ok) return deadLettered(key.reason, key.problem);
  const tooLarge = sizeProblem(message);
  const lane = laneOf(key.key, options.laneCount);
  if (lane !== place.lane) return { kind: 'misrouted', record: movedRecord(lane, original, tooLarge !== null) };
  const arrival = (content: Arrival['content'], fingerprint: string, expiresAtMs: number | null): Arrival => ({
    key: key.key,
    commandType: place.commandType,
    fingerprint,
    commandId: shortHeader(message, 'ce_id'),
    origin,
    place: placeOf(place, message),
    carried,
    deadlineMs: Math.min(expiresAtMs ?? Infinity, origin.timestampMs + options.maxAgeMs[place.commandType]),
    expiresAtMs,
    content,
  });
  const unreadable = (reason: DeadLetterReason, problem: string): Intake => ({
    kind: 'arrival',
    arrival: arrival({ kind: 'unreadable', problem }, bytesFingerprint(place.commandType, message), null),
    original,
    deadLetteredAs: { reason, message: problem },
    readMs: nowMs,
  });

  if (tooLarge !== null) return unreadable('TOO_LARGE', tooLarge);
  if (message.value === null) return unreadable('UNREADABLE', 'the message has no value');
  return whenDecoded(decodeValue(options, place.topic, message, message.value), (decoded): Intake | Unavailable => {
    if (decoded.kind === 'unavailable') return decoded;
    if (decoded.kind === 'unknown-schema') return unreadable('UNKNOWN_SCHEMA', decoded.problem);
    if (decoded.kind === 'unreadable') return unreadable('UNREADABLE', decoded.problem);

    const expiry = readExpiry(message);
    const fields = readCommandFields(place.commandType, decoded.value);
    const problems: FieldProblem[] = [...(fields.ok ? [] : fields.problems), ...(expiry.ok ? [] : [expiry.problem])];
    const canonical = canonicalJson(fields.value ?? (decoded.value as object));
    const fingerprint = commandFingerprint(place.commandType, canonical);
    const read =
      fields.ok && expiry.ok
        ? arrival({ kind: 'valid', fieldsJson: canonical, fields: fields.value }, fingerprint, expiry.ms)
        : arrival({ kind: 'invalid', fieldsJson: canonical, problems }, fingerprint, expiry.ok ? expiry.ms : null);
    return { kind: 'arrival', arrival: read, original, deadLetteredAs: null, readMs: nowMs };
  });
}

/** Sets a message aside. Parses only its key and `ce_id`, because anything else may fail again. */
export function setAside(
  options: Pick<IntakeOptions, 'laneCount'>,
  place: CommandPlace,
  message: InputMessage,
  aside: Aside,
): CommandAside {
  const origin = placeOf(place, message);
  const key = readKey(message.key);
  const isOurs = key.ok && laneOf(key.key, options.laneCount) === place.lane;
  const arrival: Arrival | null = !isOurs
    ? null
    : {
        key: key.key,
        commandType: place.commandType,
        fingerprint: bytesFingerprint(place.commandType, message),
        commandId: shortHeader(message, 'ce_id'),
        origin,
        place: origin,
        carried: {},
        deadlineMs: origin.timestampMs,
        expiresAtMs: null,
        content: { kind: 'unreadable', problem: aside.problem },
      };
  return { letter: letterAside(place, message, aside), arrival };
}

function bytesFingerprint(commandType: CommandType, { value }: InputMessage): string {
  return createHash('sha256')
    .update(`unreadable\n${commandType}\n`)
    .update(value ?? '')
    .digest('base64url');
}

/** Continues at once if nothing must be awaited. */
export function whenDecoded<Read>(
  decoded: DecodeResult | Promise<DecodeResult>,
  read: (decoded: DecodeResult) => Read,
): Read | Promise<Read> {
  return decoded instanceof Promise ? decoded.then(read) : read(decoded);
}

/** Avro, unless the message's content type says JSON. */
export function decodeValue(
  options: Pick<IntakeOptions, 'registry'>,
  topic: string,
  message: Pick<InputMessage, 'headers'>,
  value: Buffer,
): DecodeResult | Promise<DecodeResult> {
  const contentType = shortHeader(message, 'content-type')?.split(';')[0]?.trim().toLowerCase();
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

const EXPIRES_AT_HEADER = 'expires-at';

/** A header without a value says that there is a limit, but not which. */
function readExpiry(message: InputMessage): { ok: true; ms: number | null } | { ok: false; problem: FieldProblem } {
  if (!Object.hasOwn(message.headers, EXPIRES_AT_HEADER)) return { ok: true, ms: null };
  const ms = instantMs(wholeHeader(message, EXPIRES_AT_HEADER) ?? '');
  if (ms !== null) return { ok: true, ms };
  return {
    ok: false,
    problem: {
      path: EXPIRES_AT_PATH,
      message: 'must be an ISO 8601 date and time with a time zone, such as 2026-01-31T12:00:00Z',
    },
  };
}
