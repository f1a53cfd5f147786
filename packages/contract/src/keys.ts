/** The rule of command keys, and which lane a key belongs to. */

/** A two-step quote appends this to its key for the execution, so no key may end in it. */
export const EXECUTE_SUFFIX = '.execute';
const KEY_LENGTH_MAX = 200;

export type KeyResult = { ok: true; key: string } | { ok: false; reason: 'NO_KEY' | 'INVALID_KEY'; problem: string };

/** Reads a message's raw key bytes. */
export function readKey(bytes: Buffer | null | undefined): KeyResult {
  if (bytes === null || bytes === undefined) {
    return {
      ok: false,
      reason: 'NO_KEY',
      problem: 'the message has no key; the key is required, as the idempotency key of the command',
    };
  }
  const problem = keyProblem(bytes.toString('latin1'));
  return problem === null ? { ok: true, key: bytes.toString('latin1') } : { ok: false, reason: 'INVALID_KEY', problem };
}

/** The problem with a key, or null. */
export function keyProblem(key: string): string | null {
  if (key.length === 0 || key.length > KEY_LENGTH_MAX)
    return `the key has ${key.length} bytes; it must have 1 to ${KEY_LENGTH_MAX}`;
  if (!/^[\x21-\x7e]+$/.test(key))
    return "the key must be printable ASCII without blanks (0x21 to 0x7E), as raw bytes without a serializer's framing";
  if (key.endsWith(EXECUTE_SUFFIX))
    return `the key must not end in ${EXECUTE_SUFFIX}, which the processor appends itself`;
  return null;
}

/** Lane of a key: murmur2 as Java and kafkajs publishers compute it, modulo the number of lanes. */
export function laneOf(key: string | Buffer, lanes: number): number {
  return (murmur2(typeof key === 'string' ? Buffer.from(key) : key) & 0x7fffffff) % lanes;
}

/** Each lane by its number: `lane 3`, `lanes 0, 1, 5`. */
export function lanesInWords(lanes: readonly number[]): string {
  return `${lanes.length === 1 ? 'lane' : 'lanes'} ${lanes.join(', ')}`;
}

/** Kafka's murmur2 (org.apache.kafka.common.utils.Utils): 32 bits, seed 0x9747b28c. */
function murmur2(data: Buffer): number {
  const multiplier = 0x5bd1e995;
  const rotation = 24;
  let hash = 0x9747b28c ^ data.length;
  const wholeWords = data.length >> 2;
  for (let word = 0; word < wholeWords; word += 1) {
    let part = Math.imul(data.readInt32LE(word * 4), multiplier);
    part ^= part >>> rotation;
    hash = Math.imul(hash, multiplier) ^ Math.imul(part, multiplier);
  }
  const tail = wholeWords * 4;
  const rest = data.length & 3;
  if (rest > 0) {
    for (let index = rest - 1; index >= 0; index -= 1) hash ^= data.readUInt8(tail + index) << (8 * index);
    hash = Math.imul(hash, multiplier);
  }
  hash ^= hash >>> 13;
  hash = Math.imul(hash, multiplier);
  return hash ^ (hash >>> 15);
}
