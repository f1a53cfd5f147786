/** Tells commands apart without telling their keys, which may hold personal data: in the log, on the page, in spans. */
import { createHash } from 'node:crypto';

/** 64 bits: no two keys of a log are alike. */
const CHARACTERS = 16;

export function keyHash(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, CHARACTERS);
}
