/** Writes Avro in one pass. */
import type avsc from 'avsc';

/** Grows to the largest value. Each value is copied out as soon as it is written. */
let scratch = Buffer.allocUnsafe(64 * 1024);

/**
 * @returns a new buffer: unwritten bytes for the caller's head, then the value
 * @throws Error if the value does not match the type
 */
export function avroBytes(type: avsc.Type, value: unknown, headBytes: number): Buffer {
  const end = type.encode(value, scratch, headBytes);
  if (end >= 0) return Buffer.from(scratch.subarray(0, end));
  scratch = Buffer.allocUnsafe(2 * (scratch.length - end));
  return avroBytes(type, value, headBytes);
}
