/**
 * The local store's format for a ledger record.
 *
 *   place   1 byte class, 6 bytes time (ms), 6 bytes ledger offset: the key of a row. So rows lie in the order in which they may
 *           be forgotten
 *   row     4 bytes checksum, 2 bytes length of the ledger key, ledger key, the value as in the ledger
 */
import { crc32 } from 'node:zlib';
import { writeTime } from '../ledger/ledger-value.ts';

const PLACE_BYTES = 13;

export function placeOf(valueClass: number, timeMs: number, offset: bigint): Buffer {
  const place = Buffer.allocUnsafe(PLACE_BYTES);
  place.writeUInt8(valueClass, 0);
  writeTime(place, timeMs, 1);
  place.writeUIntBE(Number(offset), 7, 6);
  return place;
}

export function classOfPlace(place: Buffer): number {
  return place.readUInt8(0);
}

export function timeOfPlace(place: Buffer): number {
  return place.readUIntBE(1, 6);
}

export interface Row {
  readonly ledgerKey: string;
  readonly value: Buffer;
}

const CHECKSUM_BYTES = 4;
const HEADER_BYTES = 6;

export function rowOf(ledgerKey: string, value: Buffer): Buffer {
  const keyBytes = Buffer.byteLength(ledgerKey);
  const row = Buffer.allocUnsafe(HEADER_BYTES + keyBytes + value.length);
  row.writeUInt16LE(keyBytes, CHECKSUM_BYTES);
  row.write(ledgerKey, HEADER_BYTES);
  value.copy(row, HEADER_BYTES + keyBytes);
  row.writeUInt32LE(crc32(row.subarray(CHECKSUM_BYTES)), 0);
  return row;
}

/** @throws Error for a damaged row: it differs from the one that was written */
export function readRow(stored: Buffer): Row {
  if (stored.length < HEADER_BYTES || stored.readUInt32LE(0) !== crc32(stored.subarray(CHECKSUM_BYTES))) {
    throw new Error('the checksum of a row is wrong');
  }
  const valueAt = HEADER_BYTES + stored.readUInt16LE(CHECKSUM_BYTES);
  return { ledgerKey: stored.toString('utf8', HEADER_BYTES, valueAt), value: stored.subarray(valueAt) };
}
