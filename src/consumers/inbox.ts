/**
 * The messages of one input topic that a lane has fetched but not yet admitted.
 *
 *   offer   takes a batch that continues where the last one ended, as far as there is room; refuses any other batch and
 *           seeks back
 *   pump    decodes the messages in order, one at a time; waits while the registry is unavailable. If a message makes our
 *           code fail, retries it, then sets it aside
 *   peek / take   the decoded messages, oldest first
 *
 * At its limits the inbox pauses the partition: further messages stay in Kafka, where consumer lag shows them.
 */
import type { BatchReply, FetchedBatch } from './group-member.ts';
import { inputMessage, sizeOf, type InputMessage } from './input-message.ts';
import type { LoopTurn } from './loop-turn.ts';
import { errorText } from './message-failures.ts';
import type { Aside } from './message-origin.ts';
import { sleep } from './signal.ts';

/** A decoded message, in the form that the lane handles. */
export interface Ready<Item> {
  readonly message: InputMessage;
  readonly offset: bigint;
  readonly item: Item;
}

export type ReadResult<Item> = { kind: 'item'; item: Item } | { kind: 'unavailable'; problem: string };

/** What to do with the next message. */
export type ReadingOrder = { kind: 'read' } | { kind: 'set-aside'; problem: string } | { kind: 'not-now' };

export interface InboxOptions<Item> {
  readonly topic: string;
  readonly lane: number;
  /** Returns an item even for an unreadable message. If it throws, the message has triggered a bug. */
  readonly read: (message: InputMessage) => Promise<ReadResult<Item>>;
  /** For a message on which `read` failed too often, or that must not be read at all. Never throws. */
  readonly setAside: (message: InputMessage, aside: Aside) => Item;
  /** @returns whether to set the message aside now; otherwise the inbox reads it again */
  readonly failed: (offset: bigint, error: unknown) => boolean;
  /** Called and awaited before each read. Never rejects. */
  readonly beforeReading: (offset: bigint) => Promise<ReadingOrder>;
  /** Shared by all inboxes of the process. */
  readonly turn: LoopTurn;
  readonly seek: (offset: bigint) => void;
  readonly resume: () => void;
  /** Messages below the expected offset came again; the inbox skips them. */
  readonly onRedelivered: (messages: number) => void;
  /** There is something to handle. */
  readonly wake: () => void;
}

/** Most messages of one topic in one transaction: bounds the time to its commit. */
export const ITEMS_MAX = 500;

/** Most messages that an inbox holds: several times a lane's share of the intents. */
const MESSAGES_MAX = 1_000;
/** ... and their bytes. */
const BYTES_MAX = 2 * 1024 * 1024;
/** A batch may exceed these limits by as much as an honest batch can hold. The rest of a larger batch is fetched again. */
const BATCH_MESSAGES_MAX = 5_000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Pause before the inbox rereads a message that made our code fail. */
const FAILED_WAIT_MS = 100;
/** After this many seeks without progress the partition rests: an out-of-range fetch also voids those of other partitions. */
const FRUITLESS_SEEKS_MAX = 10;
const SEEK_AGAIN_MS = 5_000;
/** Wait before the registry is asked again. */
const UNAVAILABLE_WAIT_MS = 1_000;

export class Inbox<Item> {
  readonly #options: InboxOptions<Item>;
  readonly #raw: InputMessage[] = [];
  #ready: Ready<Item>[] = [];
  #bytes = 0;
  /** Offset at which the next batch must continue; null while closed. */
  #expected: bigint | null = null;
  #isPaused = true;
  #isPumping = false;
  #epoch = 0;
  #problem: string | null = null;
  #highWatermark = 0n;
  /** Since the last batch that the inbox took. */
  #seeks = 0;

  constructor(options: InboxOptions<Item>) {
    this.#options = options;
  }

  /** Starts at the offset and drops all held messages. */
  open(offset: bigint): void {
    this.close();
    this.#expected = offset;
    this.#options.seek(offset);
    this.#isPaused = false;
    this.#options.resume();
  }

  /** After a rejoin the client stands at the committed offset, paused. */
  rejoin(): void {
    if (this.#expected === null) return;
    this.#seeks = 0;
    this.#options.seek(this.#expected);
    this.#isPaused = false;
    this.#options.resume();
  }

  close(): void {
    this.#epoch += 1;
    this.#expected = null;
    this.#raw.length = 0;
    this.#ready = [];
    this.#bytes = 0;
    this.#problem = null;
    this.#isPumping = false;
    this.#seeks = 0;
  }

  offer(batch: FetchedBatch): BatchReply {
    if (this.#expected === null || this.#isFull() || this.#rests()) {
      this.#isPaused = true;
      return 'not-now';
    }
    this.#highWatermark = batch.highWatermark;
    const expected = this.#expected;
    const unseen = batch.messages.filter(({ offset }) => BigInt(offset) >= expected);
    if (unseen.length < batch.messages.length) this.#options.onRedelivered(batch.messages.length - unseen.length);
    if (batch.fetchedOffset > expected || batch.lastOffset + 1n < expected) {
      return this.#seekAgain(expected);
    }
    let taken = 0;
    let takenBytes = 0;
    for (const clientMessage of unseen) {
      if (taken >= BATCH_MESSAGES_MAX || takenBytes >= BATCH_BYTES_MAX) break;
      const message = inputMessage(clientMessage);
      this.#raw.push(message);
      taken += 1;
      takenBytes += sizeOf(message);
    }
    this.#bytes += takenBytes;
    this.#seeks = 0;
    void this.#pump();
    if (taken === unseen.length) {
      this.#expected = batch.lastOffset + 1n;
      return 'taken';
    }
    this.#expected = BigInt(unseen[taken]?.offset ?? batch.lastOffset);
    this.#options.seek(this.#expected);
    return 'sought';
  }

  /** The client skipped records that are not for readers; so may we, if our position lies among them. */
  passFiltered(firstOffset: bigint, lastOffset: bigint): void {
    if (this.#expected !== null && firstOffset <= this.#expected && lastOffset >= this.#expected)
      this.#expected = lastOffset + 1n;
  }

  /** Next offset to be fetched; null while closed. */
  expected(): bigint | null {
    return this.#expected;
  }

  peek(): Ready<Item> | undefined {
    return this.#ready[0];
  }

  /** Removes the oldest decoded message. */
  take(): void {
    const taken = this.#ready.shift();
    if (taken !== undefined) this.#bytes -= sizeOf(taken.message);
  }

  /** Offset below which the lane has taken everything, control records included. */
  position(): bigint | null {
    return this.#ready[0]?.offset ?? this.#raw[0]?.offset ?? this.#expected;
  }

  /** Resumes fetching once there is room. */
  makeRoom(): void {
    if (this.#expected === null || !this.#isPaused || this.#held() > MESSAGES_MAX / 2 || this.#bytes > BYTES_MAX / 2)
      return;
    if (this.#rests()) return;
    this.#isPaused = false;
    this.#options.resume();
  }

  status(): {
    held: number;
    oldestTimestampMs: number | null;
    highWatermark: bigint;
    problem: string | null;
  } {
    const oldest = this.#ready[0]?.message.timestampMs ?? this.#raw[0]?.timestampMs ?? null;
    return {
      held: this.#held(),
      oldestTimestampMs: oldest,
      highWatermark: this.#highWatermark,
      problem: this.#problem,
    };
  }

  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    const epoch = this.#epoch;
    const { turn } = this.#options;
    while (this.#raw[0] !== undefined) {
      if (turn.isOver()) {
        await turn.next();
        if (epoch !== this.#epoch) return;
        continue;
      }
      const message = this.#raw[0];
      const read = await this.#readOne(message);
      if (epoch !== this.#epoch) return;
      if (read.kind === 'item') {
        this.#problem = null;
        this.#raw.shift();
        this.#ready.push({ message, offset: message.offset, item: read.item });
        this.#options.wake();
        continue;
      }
      if (read.kind === 'unavailable') {
        this.#problem = read.problem;
        this.#options.wake();
      }
      await sleep(read.kind === 'unavailable' ? UNAVAILABLE_WAIT_MS : FAILED_WAIT_MS);
      if (epoch !== this.#epoch) return;
    }
    this.#isPumping = false;
  }

  /** Never rejects. */
  async #readOne(message: InputMessage): Promise<ReadResult<Item> | { kind: 'failed' }> {
    const { beforeReading, failed, read, setAside } = this.#options;
    try {
      const order = await beforeReading(message.offset);
      if (order.kind === 'read') return await read(message);
      if (order.kind === 'not-now') return { kind: 'failed' };
      return { kind: 'item', item: setAside(message, { problem: order.problem, isByReference: true }) };
    } catch (error) {
      if (!failed(message.offset, error)) return { kind: 'failed' };
      return { kind: 'item', item: setAside(message, { problem: errorText(error), isByReference: false }) };
    }
  }

  #seekAgain(expected: bigint): BatchReply {
    this.#seeks += 1;
    if (!this.#rests()) {
      this.#options.seek(expected);
      return 'sought';
    }
    this.#isPaused = true;
    const epoch = this.#epoch;
    setTimeout(() => {
      if (epoch === this.#epoch) this.rejoin();
    }, SEEK_AGAIN_MS).unref();
    return 'not-now';
  }

  #rests(): boolean {
    return this.#seeks >= FRUITLESS_SEEKS_MAX;
  }

  #held(): number {
    return this.#raw.length + this.#ready.length;
  }

  #isFull(): boolean {
    return this.#held() >= MESSAGES_MAX || this.#bytes >= BYTES_MAX;
  }
}
