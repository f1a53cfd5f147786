/**
 * Results UNKNOWN that wait for a person's decision, as far as this process has given them itself.
 *
 *   UNKNOWN result -> waiting -> the key's next revision, or the lane goes to another process -> forgotten
 *
 * What other processes or earlier ones gave is not known here; the results topic and the ledger have it all. Keys are
 * kept as hashes alone (invariant I9).
 */
import type { CommandResult } from '../records/types.ts';
import { keyHash } from './logging.ts';

/** A person decides one by one; of more than this the number is told, and the oldest are listed. */
const WAITING_MAX = 10_000;
const LISTED_MAX = 20;

export interface WaitingUnknown {
  readonly keyHash: string;
  readonly command: string;
  readonly lane: number;
  readonly ageSeconds: number;
}

export interface UnknownResultsState {
  readonly waiting: number;
  /** Null when none waits. */
  readonly oldestSeconds: number | null;
  /** The oldest, oldest first. */
  readonly listed: readonly WaitingUnknown[];
}

interface Waiting {
  readonly command: string;
  readonly lane: number;
  readonly sinceMs: number;
}

export class UnknownResults {
  /** By hash of the key, oldest first. */
  readonly #waiting = new Map<string, Waiting>();

  resulted(lane: number, result: CommandResult): void {
    // A conflict is of another message; the result of the key stands.
    if (result.outcome === 'CONFLICT') return;
    const hash = keyHash(result.commandKey);
    this.#waiting.delete(hash);
    if (result.outcome !== 'UNKNOWN' || this.#waiting.size >= WAITING_MAX) return;
    this.#waiting.set(hash, { command: result.commandType, lane, sinceMs: Number(result.completedAt) });
  }

  /** @param lanes those of this process; what is decided on in others is not seen here */
  state(lanes: ReadonlySet<number>, nowMs: number): UnknownResultsState {
    for (const [hash, { lane }] of this.#waiting) if (!lanes.has(lane)) this.#waiting.delete(hash);
    const listed = [...this.#waiting].slice(0, LISTED_MAX).map(([hash, { command, lane, sinceMs }]) => ({
      keyHash: hash,
      command,
      lane,
      ageSeconds: Math.max(0, nowMs - sinceMs) / 1000,
    }));
    return { waiting: this.#waiting.size, oldestSeconds: listed[0]?.ageSeconds ?? null, listed };
  }
}
