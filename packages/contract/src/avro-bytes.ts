/** Writing of Avro, in one pass. */
import type avsc from 'avsc';

/** Grows to the largest value; what is written there is copied out at once. */
let scratch = Buffer.allocUnsafe(64 * 1024);

/**
 * @returns a buffer of its own: so many bytes for the caller's head, not written yet, and the value behind them
 * @throws Error where the value is not of the type
 */
export function avroBytes(type: avsc.Type, value: unknown, headBytes: number): Buffer {
  const end = type.encode(value, scratch, headBytes);
  if (end >= 0) return Buffer.from(scratch.subarray(0, end));
  scratch = Buffer.allocUnsafe(2 * (scratch.length - end));
  return avroBytes(type, value, headBytes);
}
