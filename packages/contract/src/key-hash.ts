/** Identifies commands in the log, on the page and in spans without their keys, which may hold personal data. */
import { createHash } from 'node:crypto';

/** 64 bits: in practice no two keys of a log collide. */
const CHARACTERS = 16;

export function keyHash(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, CHARACTERS);
}
