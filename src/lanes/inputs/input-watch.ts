/**
 * Checks periodically that the broker still has the records that we read. Stops readers whose topic was recreated or
 * truncated, or lost records that they had not read (forced-jumps.ts). Commits do not wait for it.
 *
 *   started -> one look after another (note where readers stand -> ask the brokers once for all topics -> compare) -> stopped
 *
 * A reader continues if the broker's answers contradict it only briefly, as when a leader moves. Every look asks about all topics,
 * whichever lanes the process has, so that every process notices brokers that do not answer it.
 */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import { errorText } from '../../consumers/message-failures.ts';
import type { BoundsWithEpoch } from '../../consumers/topic-offsets.ts';
import { Repeats } from 'payment-processor-contract/repeats';
import type { EpochSpan } from '../../ledger/ledger-records.ts';
import { MissingAnswerError } from '../../consumers/batched-questions.ts';
import { forcedJumpOf, JUMP_GRACE_MS, type ForcedJump } from './forced-jumps.ts';

/** Where a topic is read. */
export interface Reading {
  /** The next offset to read, and the id of the topic that it belongs to. */
  readonly offset: bigint;
  readonly boundId: string | undefined;
  /** What the broker must still have of a leader epoch; absent: unknown, so only offsets are compared. */
  readonly span?: EpochSpan | undefined;
}

/** Reads one partition of some topics: a lane reads its inputs, the ledger's reader the lane's part of the ledger. */
export interface WatchedReader {
  readonly lane: number;
  /** Null: it does not read the topic now. */
  readonly reading: (topic: string) => Reading | null;
  /** Called when the broker still has the records of the span. */
  readonly epochHeld?: (topic: string, span: EpochSpan) => void;
  readonly stop: (jump: ForcedJump) => void;
}

export interface InputWatchParts {
  readonly topics: readonly string[];
  readonly readers: readonly WatchedReader[];
  /** Bounds of a topic's partitions, by lane. @param epochs leader epochs to ask about, by lane */
  readonly boundsOf: (
    topic: string,
    epochs: ReadonlyMap<number, number>,
  ) => Promise<ReadonlyMap<number, BoundsWithEpoch>>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Jumps by lane and topic, with the time since which every look has found them. */
type Findings = Map<string, { kind: ForcedJump['kind']; sinceMs: number }>;

/** Interval between checks. A check costs a few requests, however many topics and lanes there are. */
const LOOK_MS = 5_000;
/** After a longer gap earlier findings are void: a frozen process did not look. */
const LOOK_GAP_MS_MAX = 2 * LOOK_MS;

export class InputWatch {
  readonly #parts: InputWatchParts;
  readonly #repeats: Repeats;
  #found: Findings = new Map();
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;
  /** When the last look ended, on the monotonic clock. */
  #lookedMs = -Infinity;
  /** When the look under way began; null: none is. */
  #askedMs: number | null = null;
  /** Why the last look got no answer about some topic that exists; null: it got all. */
  #problem: string | null = null;

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

  /** The problem, if brokers do not say where topics begin and end; null: they do. */
  unanswered(): string | null {
    const isSilent = this.#askedMs !== null && this.#parts.clock.monotonicMs() - this.#askedMs > LOOK_GAP_MS_MAX;
    return this.#problem ?? (isSilent ? 'no answer yet' : null);
  }

  async #look(): Promise<void> {
    const { boundsOf, clock, readers, topics } = this.#parts;
    const found: Findings = new Map();
    let problem: string | null = null;
    this.#askedMs = clock.monotonicMs();
    if (clock.monotonicMs() - this.#lookedMs > LOOK_GAP_MS_MAX) this.#found.clear();
    const compare = async (topic: string): Promise<void> => {
      const askedMs = clock.monotonicMs();
      const before = readers.map(({ reading }) => reading(topic));
      const epochs = readers.flatMap(({ lane }, index) => {
        const epoch = before[index]?.span?.epoch;
        return epoch === undefined ? [] : [[lane, epoch] as const];
      });
      const bounds = await boundsOf(topic, new Map(epochs)).catch((error: unknown) => {
        this.#notCompared(topic, errorText(error), error);
        if (!(error instanceof MissingAnswerError)) problem = errorText(error);
        return null;
      });
      if (bounds === null || this.#isStopped || clock.monotonicMs() - askedMs > LOOK_GAP_MS_MAX) return;
      readers.forEach(({ epochHeld, lane, reading, stop }, index) => {
        const [began, now, seen] = [before[index], reading(topic), bounds.get(lane)];
        if (began === undefined || began === null || now === null || seen === undefined) return;
        const offsets = { offsetBefore: began.offset, offsetAfter: now.offset };
        const { span } = began;
        const jump = forcedJumpOf({ topic, lane, boundId: now.boundId, ...offsets, span }, seen);
        if (jump === null) {
          if (span !== undefined && seen.epochEnd !== null) epochHeld?.(topic, span);
          return;
        }
        const name = `${lane}/${topic}`;
        const earlier = this.#found.get(name);
        const sinceMs = earlier?.kind === jump.kind ? earlier.sinceMs : clock.monotonicMs();
        found.set(name, { kind: jump.kind, sinceMs });
        if (this.#lasts(jump, earlier, clock.monotonicMs() - sinceMs)) stop(jump);
      });
    };
    // In one turn of the event loop, so that the brokers are asked once for all topics.
    await Promise.all(topics.map(compare));
    this.#found = found;
    this.#problem = problem;
    this.#askedMs = null;
    this.#lookedMs = clock.monotonicMs();
  }

  /** An outage, or a topic that is gone: the next look asks again. One log line for all topics with this problem. */
  #notCompared(topic: string, problem: string, error: unknown): void {
    const repeated = this.#repeats.unlogged(problem);
    if (repeated === null) return;
    this.#parts.log.warn(
      { event: 'inputs-not-compared', topic, err: error, ...(repeated > 0 && { repeated }) },
      "cannot compare the lanes' positions with the topics' first and last offsets",
    );
  }

  #lasts(jump: ForcedJump, earlier: { kind: ForcedJump['kind'] } | undefined, foundMs: number): boolean {
    // A deletion is final, but a batch that was fetched before may still be on its way.
    if (jump.kind === 'begins-after') return earlier?.kind === jump.kind;
    return foundMs >= JUMP_GRACE_MS;
  }
}
