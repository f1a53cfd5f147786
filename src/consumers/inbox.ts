/**
 * What a lane has fetched of one input topic and not yet admitted.
 *
 *   offer   takes a batch that continues where the last one ended, as far as there is room; any other is refused and
 *           sought again
 *   pump    decodes messages one after the other, in order; waits while the registry cannot be asked. A message that
 *           makes this fail is tried again, then set aside
 *   peek / take   the decoded messages, oldest first
 *
 * Bounded by pausing the partition: beyond the limits messages stay in Kafka, and consumer lag tells.
 */
import type { BatchReply, FetchedBatch } from './group-member.ts';
import { inputMessage, sizeOf, type InputMessage } from './input-message.ts';
import type { LoopTurn } from './loop-turn.ts';
import { errorText } from './message-failures.ts';
import type { Aside } from './message-origin.ts';
import { sleep } from './signal.ts';

/** A message, decoded into what the lane handles. */
export interface Ready<Item> {
  readonly message: InputMessage;
  readonly offset: bigint;
  readonly item: Item;
}

export type ReadResult<Item> = { kind: 'item'; item: Item } | { kind: 'unavailable'; problem: string };

/** What is to be done with a message whose turn it is. */
export type ReadingOrder = { kind: 'read' } | { kind: 'set-aside'; problem: string } | { kind: 'not-now' };

export interface InboxOptions<Item> {
  readonly topic: string;
  readonly lane: number;
  /** What it cannot read is an item that says so; what it throws is a bug that the message brings out. */
  readonly read: (message: InputMessage) => Promise<ReadResult<Item>>;
  /** For a message that `read` failed on too often, or that must not be read at all. Never throws. */
  readonly setAside: (message: InputMessage, aside: Aside) => Item;
  /** @returns whether the message is to be set aside now; else it is read again */
  readonly failed: (offset: bigint, error: unknown) => boolean;
  /** Asked before a message is read, and waited for. Never rejects. */
  readonly beforeReading: (offset: bigint) => Promise<ReadingOrder>;
  /** Shared by all inboxes of the process. */
  readonly turn: LoopTurn;
  readonly seek: (offset: bigint) => void;
  readonly resume: () => void;
  /** Messages below the expected offset came again; they are passed over. */
  readonly onRedelivered: (messages: number) => void;
  /** There is something to handle. */
  readonly wake: () => void;
}

/** Messages of one topic in one transaction: bounds the time to its commit. */
export const ITEMS_MAX = 500;

/** Messages held at most, by number: enough for a lane's share of the intents several times over. */
const MESSAGES_MAX = 1_000;
/** ... and by bytes, whatever their size. */
const BYTES_MAX = 2 * 1024 * 1024;
/** One batch may exceed these by as much as an honest one can hold; of one that expands to more, the rest is fetched again. */
const BATCH_MESSAGES_MAX = 5_000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** Before a message that made our code fail is read again. */
const FAILED_WAIT_MS = 100;
/** After as many seeks that brought no message nearer, the partition rests: a fetch out of range voids those of others. */
const FRUITLESS_SEEKS_MAX = 10;
const SEEK_AGAIN_MS = 5_000;
/** Wait before the registry is asked again. */
const UNAVAILABLE_WAIT_MS = 1_000;

export class Inbox<Item> {
  readonly #options: InboxOptions<Item>;
  readonly #raw: InputMessage[] = [];
  #ready: Ready<Item>[] = [];
  #bytes = 0;
  /** Offset that the next batch must continue at; null while closed. */
  #expected: bigint | null = null;
  #isPaused = true;
  #isPumping = false;
  #epoch = 0;
  #problem: string | null = null;
  #highWatermark = 0n;
  /** Since the last batch that was taken. */
  #seeks = 0;

  constructor(options: InboxOptions<Item>) {
    this.#options = options;
  }

  /** Starts at the offset; whatever was held is dropped. */
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

  /** The client stepped over records that are not for readers; so may we, if we stood within them. */
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

  /** Offset below which everything has been taken, control records included. */
  position(): bigint | null {
    return this.#ready[0]?.offset ?? this.#raw[0]?.offset ?? this.#expected;
  }

  /** Fetches again once there is room. */
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
