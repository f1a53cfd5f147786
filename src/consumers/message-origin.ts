/**
 * Where a message was first published, and the headers that say so if it was moved to the partition of its key. A header can lie: it
 * can make a command older, never younger. An impossible place counts as absent.
 */
import { CARRIED_LENGTH_MAX, type Carried, type Origin } from '../ledger/entry.ts';
import type { Cut, DeadLetter, OriginalMessage } from '../producers/dead-letters.ts';
import type { OutgoingRecord } from '../producers/record-batch.ts';
import { COMMAND_HEADER_BYTES_MAX, COMMAND_VALUE_BYTES_MAX } from 'payment-processor-contract/commands';
import { readKey } from 'payment-processor-contract/keys';
import { answerHeaders, beginningOf, cutBytes, referenceTo, type InputMessage } from './input-message.ts';

/** A partition of an input topic. */
export interface Place {
  readonly topic: string;
  readonly lane: number;
}

/** How many headers a command may have. */
const HEADERS_MAX = 2_000;
export const MOVED = {
  partition: 'moved-partition',
  offset: 'moved-offset',
  timestamp: 'moved-timestamp',
  /** This and the next two: of a message too large to be moved whole. */
  valueBytes: 'moved-value-bytes',
  valueSha256: 'moved-value-sha256',
  headersLeftOut: 'moved-headers-left-out',
};
/** What a move adds to a message within the limits: three short headers. */
const MOVED_HEADERS = 3;
const MOVED_HEADER_BYTES = 128;

/** Says what exceeds the limits of a command; null: nothing. */
export function sizeProblem(message: InputMessage): string | null {
  const cut = cutOf(message);
  const valueBytes = cut?.value?.bytes ?? message.value?.length ?? 0;
  if (valueBytes > COMMAND_VALUE_BYTES_MAX)
    return `the value has ${valueBytes} bytes; a command has at most ${COMMAND_VALUE_BYTES_MAX}`;
  const isMoved = numberOf(message, MOVED.partition) !== null;
  const isWithin =
    message.headerCount <= HEADERS_MAX + (isMoved ? MOVED_HEADERS : 0) &&
    message.headerBytes <= COMMAND_HEADER_BYTES_MAX + (isMoved ? MOVED_HEADER_BYTES : 0);
  if (cut === null && isWithin) return null;
  return `a command has at most ${HEADERS_MAX} headers, with at most ${COMMAND_HEADER_BYTES_MAX} bytes in total`;
}

/** The message as we read it, with the place where it was first published. */
export function originalMessage(place: Place, laneCount: number, message: InputMessage): OriginalMessage {
  const { headers, key, unreadableBatch, value } = message;
  const batch = unreadableBatch === null ? {} : { offset: unreadableBatch.firstOffset, lastOffset: message.offset };
  return {
    lastOffset: null,
    ...originOf(place, laneCount, message),
    key,
    value,
    headers,
    cut: cutOf(message),
    ...batch,
  };
}

/** Where the message is now, whatever its headers say. */
export function placeOf({ lane, topic }: Place, { offset, timestampMs }: InputMessage): Origin {
  return { topic, partition: lane, offset, timestampMs };
}

/** Why a message is set aside, and whether its dead letter holds a reference instead of a copy. */
export interface Aside {
  readonly problem: string;
  readonly isByReference: boolean;
}

export function letterAside(place: Place, message: InputMessage, { isByReference, problem }: Aside): DeadLetter {
  const { headers, key, value } = message;
  const letter = { ...placeOf(place, message), lastOffset: null, reason: 'SET_ASIDE' as const, message: problem };
  if (!isByReference) return { ...letter, key, value, headers, cut: message.cut };
  return {
    ...letter,
    key: readKey(key).ok ? key : null,
    value: value === null ? null : beginningOf(value),
    headers: {},
    cut: referenceTo(message),
  };
}

function originOf(place: Place, laneCount: number, message: InputMessage): Origin {
  const here = placeOf(place, message);
  const moved = [MOVED.partition, MOVED.offset, MOVED.timestamp].map((name) => numberOf(message, name));
  const [partition, offset, timestampMs] = moved;
  if (partition == null || offset == null || timestampMs == null || partition >= laneCount) return here;
  return {
    topic: place.topic,
    partition: Number(partition),
    offset,
    timestampMs: Math.min(Number(timestampMs), here.timestampMs),
  };
}

/** A message on its way to the partition of its key. A message too large for any command is moved by reference. */
export function movedRecord(lane: number, original: OriginalMessage, isTooLarge: boolean): OutgoingRecord {
  const { cut, headers, key, offset, partition, timestampMs, topic, value } = original;
  const first = {
    [MOVED.partition]: String(partition),
    [MOVED.offset]: offset.toString(),
    [MOVED.timestamp]: String(timestampMs),
  };
  if (!isTooLarge) return { topic, partition: lane, key, value, headers: { ...headers, ...first } };
  const valueCut = cut?.value ?? (value === null ? null : cutBytes(value));
  const kept = answerHeaders(headers);
  const headersLeftOut = Object.keys(headers).length - Object.keys(kept).length + (cut?.headersLeftOut ?? 0);
  return {
    topic,
    partition: lane,
    key,
    value: value === null ? null : beginningOf(value),
    headers: {
      ...kept,
      ...first,
      [MOVED.headersLeftOut]: String(headersLeftOut),
      ...(valueCut === null
        ? {}
        : { [MOVED.valueBytes]: String(valueCut.bytes), [MOVED.valueSha256]: valueCut.sha256 }),
    },
  };
}

export function carriedOf(message: InputMessage): Carried {
  const names = ['traceparent', 'tracestate', 'correlation-id'] as const;
  return Object.fromEntries(
    names.map((name) => [name, shortHeader(message, name)]).filter(([, text]) => text !== null),
  ) as Carried;
}

/** A header that we repeat or compare; one that is too long counts as absent. */
export function shortHeader(message: Pick<InputMessage, 'headers'>, name: string): string | null {
  const text = wholeHeader(message, name);
  return text === null || text.length > CARRIED_LENGTH_MAX ? null : text.toWellFormed();
}

/** The first header of the name, as text. */
export function wholeHeader({ headers }: Pick<InputMessage, 'headers'>, name: string): string | null {
  if (!Object.hasOwn(headers, name)) return null;
  const given = headers[name];
  const first = Array.isArray(given) ? (given as readonly (string | Buffer | null)[])[0] : given;
  return first?.toString() ?? null;
}

/** The parts left out of the message, here or by a move. */
function cutOf(message: InputMessage): Cut | null {
  if (message.cut !== null) return message.cut;
  const bytes = numberOf(message, MOVED.valueBytes);
  const sha256 = shortHeader(message, MOVED.valueSha256);
  const headersLeftOut = numberOf(message, MOVED.headersLeftOut);
  if (headersLeftOut === null) return null;
  return {
    key: null,
    value: bytes === null || sha256 === null ? null : { bytes: Number(bytes), sha256 },
    headersLeftOut: Number(headersLeftOut),
  };
}

function numberOf(message: InputMessage, name: string): bigint | null {
  return plainNumber(shortHeader(message, name));
}

/** A number of at most 15 plain digits, exact in JavaScript; or null: a publisher may have written any text. */
export function plainNumber(text: string | null): bigint | null {
  return text !== null && /^\d{1,15}$/.test(text) ? BigInt(text) : null;
}
