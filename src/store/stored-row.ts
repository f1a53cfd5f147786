/**
 * How the local store keeps a record of the ledger.
 *
 *   place   1 byte class, 6 bytes time (ms), 6 bytes ledger offset: the key of a row, so that rows lie in the order in
 *           which they may be forgotten
 *   row     4 bytes checksum, 2 bytes length of the ledger key, ledger key, 1 byte form, payload
 *   payload the record's bytes; of a finished entry its JSON without the result, and the result's bytes (base64 in
 *           JSON would take a third more, and not compress)
 */
import { crc32 } from 'node:zlib';
import type { Entry } from '../ledger/entry.ts';
import { decodeEntry, encodeEntry } from '../ledger/ledger-records.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';

/**
 * Results UNKNOWN, never forgotten: a class for each command, so that how many there are and how old the oldest is
 * follows from places alone. The numbers are stored: they stay, whatever becomes of the list of commands.
 */
const UNKNOWN_CLASS = {
  'create-quote': 2,
  'execute-quote': 3,
  'transfer-in': 4,
  'reject-transaction': 5,
  'simulate-uma-receive': 6,
} as const satisfies Record<CommandType, number>;

/** Asked for every row that comes and goes. */
const UNKNOWN_COMMANDS: ReadonlyMap<number, CommandType> = new Map(
  COMMAND_TYPES.map((command) => [UNKNOWN_CLASS[command], command]),
);

/** Rows of one class are forgotten by one rule; the order of the numbers is that of the table. */
export const ROW_CLASS = {
  /** Never forgotten: transactions that are not at rest, records that this release does not know. */
  kept: 1,
  unknown: UNKNOWN_CLASS,
  transaction: 64,
  // Last, for most rows are of this class and what comes at the end of a table fills its pages.
  done: 65,
} as const;
export type RowClass =
  (typeof UNKNOWN_CLASS)[CommandType] | (typeof ROW_CLASS)[Exclude<keyof typeof ROW_CLASS, 'unknown'>];

/** A row is not what was written. */
export class RowDamagedError extends Error {}

const UINT48_MAX = 2 ** 48 - 1;
const PLACE_BYTES = 13;

export function placeOf(rowClass: RowClass, timeMs: number, offset: bigint): Buffer {
  const place = Buffer.allocUnsafe(PLACE_BYTES);
  place.writeUInt8(rowClass, 0);
  place.writeUIntBE(Math.min(Math.max(0, Math.trunc(timeMs)), UINT48_MAX), 1, 6);
  place.writeUIntBE(Number(offset), 7, 6);
  return place;
}

export function timeOfPlace(place: Buffer): number {
  return place.readUIntBE(1, 6);
}

/** The command of a result UNKNOWN that has its row there; null: the row is of something else. */
export function unknownCommandAt(place: Buffer): CommandType | null {
  return UNKNOWN_COMMANDS.get(place.readUInt8(0)) ?? null;
}

export interface Row {
  readonly ledgerKey: string;
  readonly form: Form;
  readonly payload: Buffer;
}

const FORM = { plain: 0, done: 1 } as const;
type Form = (typeof FORM)[keyof typeof FORM];

const HEADER_BYTES = 6;

export function plainRow(ledgerKey: string, value: Buffer): Buffer {
  return row(ledgerKey, FORM.plain, [value]);
}

/** @param entry in the state DONE */
export function doneRow(ledgerKey: string, entry: Entry): Buffer {
  if (entry.phase.state !== 'DONE') throw new Error(`an entry in the state ${entry.phase.state} has no result`);
  const { result } = entry.phase;
  const json = encodeEntry({ ...entry, phase: { ...entry.phase, result: { ...result, value: Buffer.alloc(0) } } });
  const jsonLength = Buffer.allocUnsafe(4);
  jsonLength.writeUInt32LE(json.length);
  return row(ledgerKey, FORM.done, [jsonLength, json, result.value]);
}

/** @throws RowDamagedError */
export function readRow(stored: Buffer): Row {
  if (stored.length < HEADER_BYTES || stored.readUInt32LE(0) !== crc32(stored.subarray(4))) {
    throw new RowDamagedError('the checksum of a row is wrong');
  }
  const formAt = HEADER_BYTES + stored.readUInt16LE(4);
  return {
    ledgerKey: stored.toString('utf8', HEADER_BYTES, formAt),
    form: stored.readUInt8(formAt) as Form,
    payload: stored.subarray(formAt + 1),
  };
}

/** @throws LedgerFormatError for an entry of another release */
export function entryOf({ form, payload }: Row): Entry {
  if (form === FORM.plain) return decodeEntry(payload);
  const jsonEnd = 4 + payload.readUInt32LE(0);
  const entry = decodeEntry(payload.subarray(4, jsonEnd));
  if (entry.phase.state !== 'DONE') return entry;
  const result = { ...entry.phase.result, value: Buffer.from(payload.subarray(jsonEnd)) };
  return { ...entry, phase: { ...entry.phase, result } };
}

function row(ledgerKey: string, form: Form, payload: readonly Buffer[]): Buffer {
  const key = Buffer.from(ledgerKey);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  header.writeUInt16LE(key.length, 4);
  const stored = Buffer.concat([header, key, Buffer.of(form), ...payload]);
  stored.writeUInt32LE(crc32(stored.subarray(4)), 0);
  return stored;
}
