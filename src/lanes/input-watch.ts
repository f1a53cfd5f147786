/**
 * Checks now and then that the broker still has what is read, and stops readers whose topic
 * was forced to jump (forced-jumps.ts). Commits do not wait for it.
 *
 *   started -> looks, one after the other: where readers stand -> brokers asked, once for all topics -> compared -> stopped
 *
 * A reader that the broker's answers contradict for a moment only (a leader moved) goes on.
 */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import { errorText } from '../consumers/message-failures.ts';
import type { InputBounds } from '../consumers/topic-offsets.ts';
import { Repeats } from 'payment-processor-contract/repeats';
import { forcedJumpOf, JUMP_PATIENCE_MS, type ForcedJump } from './forced-jumps.ts';

/** Who reads one partition of each of some topics: a lane its inputs, the reader of the ledger a lane's part of it. */
export interface WatchedReader {
  readonly lane: number;
  /** Where it stands, and the id of the topic that this is bound to; null: it does not read the topic now. */
  readonly reading: (topic: string) => { offset: bigint; boundId: string | undefined } | null;
  readonly stop: (reason: string) => void;
}

export interface InputWatchParts {
  readonly topics: readonly string[];
  readonly readers: readonly WatchedReader[];
  /** By lane. */
  readonly boundsOf: (topic: string) => Promise<ReadonlyMap<number, InputBounds>>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Jumps, and since when every look found them, by lane and topic. */
type Findings = Map<string, { kind: ForcedJump['kind']; sinceMs: number }>;

/** Between looks; each costs a few requests, whatever the number of topics and lanes. */
const LOOK_MS = 5_000;
/** A frozen process has not looked meanwhile, and an earlier answer tells only of the time before. */
const LOOK_GAP_MS_MAX = 2 * LOOK_MS;

export class InputWatch {
  readonly #parts: InputWatchParts;
  readonly #repeats: Repeats;
  #found: Findings = new Map();
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;
  /** When a look was over last, on the monotonic clock. */
  #lookedMs = -Infinity;

  constructor(parts: InputWatchParts) {
    this.#parts = parts;
    this.#repeats = new Repeats(() => parts.clock.monotonicMs());
  }

  start(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      void this.#look().then(() => this.start());
    }, LOOK_MS);
    this.#timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const { boundsOf, clock, readers, topics } = this.#parts;
    const found: Findings = new Map();
    if (clock.monotonicMs() - this.#lookedMs > LOOK_GAP_MS_MAX) this.#found.clear();
    const compare = async (topic: string): Promise<void> => {
      const askedMs = clock.monotonicMs();
      const before = readers.map(({ reading }) => reading(topic));
      if (before.every((reading) => reading === null)) return;
      const bounds = await boundsOf(topic).catch((error: unknown) => {
        this.#notCompared(topic, error);
        return null;
      });
      if (bounds === null || this.#isStopped || clock.monotonicMs() - askedMs > LOOK_GAP_MS_MAX) return;
      readers.forEach(({ lane, reading, stop }, index) => {
        const [began, now, seen] = [before[index], reading(topic), bounds.get(lane)];
        if (began === undefined || began === null || now === null || seen === undefined) return;
        const offsets = { offsetBefore: began.offset, offsetAfter: now.offset };
        const jump = forcedJumpOf({ topic, lane, boundId: now.boundId, ...offsets }, seen);
        if (jump === null) return;
        const name = `${lane}/${topic}`;
        const earlier = this.#found.get(name);
        const sinceMs = earlier?.kind === jump.kind ? earlier.sinceMs : clock.monotonicMs();
        found.set(name, { kind: jump.kind, sinceMs });
        if (this.#lasts(jump, earlier, clock.monotonicMs() - sinceMs)) stop(jump.reason);
      });
    };
    // In one turn: the brokers are asked once for all.
    await Promise.all(topics.map(compare));
    this.#found = found;
    this.#lookedMs = clock.monotonicMs();
  }

  /** An outage, or a topic that is gone: asked again. One line for all topics. */
  #notCompared(topic: string, error: unknown): void {
    const repeated = this.#repeats.unsaid(errorText(error));
    if (repeated === null) return;
    this.#parts.log.warn({ event: 'inputs-not-compared', topic, repeated, err: error });
  }

  #lasts(jump: ForcedJump, earlier: { kind: ForcedJump['kind'] } | undefined, foundMs: number): boolean {
    // What was deleted stays so; but a batch may be on its way that was fetched before.
    if (jump.kind === 'begins-after') return earlier?.kind === jump.kind;
    return foundMs >= JUMP_PATIENCE_MS;
  }
}
