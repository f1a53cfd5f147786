/**
 * The messages of one input topic that a lane has fetched but not yet taken, undecoded.
 *
 *   offer   takes a batch that continues where the last one ended, up to a limit; refuses it while the inbox is full.
 *           For any other batch, seeks to where the last one ended
 *   read    decodes the oldest message, which stays decoded until the lane takes it. It waits while we ask the registry
 *   take    removes it
 *
 * At its limits the inbox pauses the partition: further messages stay in Kafka, where consumer lag shows them.
 */
import type { BatchReply, FetchedBatch, FilteredRecords } from './group-member.ts';
import { inputMessage, sizeOf, type InputMessage } from './input-message.ts';

/** The registry is unavailable: the message waits. */
export interface Unavailable {
  readonly kind: 'unavailable';
  readonly problem: string;
}

export interface InboxOptions<Item extends { readonly kind: string }> {
  readonly topic: string;
  readonly lane: number;
  /**
   * Returns an item even for an unreadable message; a promise if the registry must be asked first. If it throws, the
   * message has triggered a bug.
   */
  readonly read: (message: InputMessage) => Item | Unavailable | Promise<Item | Unavailable>;
  readonly seek: (offset: bigint) => void;
  readonly resume: () => void;
  /** Messages below the expected offset came again; the inbox skips them. */
  readonly onRedelivered: (messages: number) => void;
  /** The lane has something to handle. */
  readonly wake: () => void;
}

/** The state of the oldest message. */
type Head<Item> =
  | { readonly kind: 'unread' }
  /** We wait for the registry's answer. */
  | { readonly kind: 'asking' }
  /** We will ask the registry again. */
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'read'; readonly item: Item };

/** How many messages of one topic a lane takes at a time; it bounds the time to the commit. */
export const ITEMS_MAX = 500;

/** Limit of messages in an inbox: by default, more than twice a lane's intents of one class (`claim-limits.ts`). */
const MESSAGES_MAX = 1_000;
/** Limit of their bytes. */
const BYTES_MAX = 2 * 1024 * 1024;
/** A batch may exceed these limits by this much, more than a normal fetch. We fetch the rest of a larger one again. */
const BATCH_MESSAGES_MAX = 5_000;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** After this many fruitless seeks we pause: each out-of-range fetch also voids the other partitions' fetches. */
const FRUITLESS_SEEKS_MAX = 10;
const SEEK_AGAIN_MS = 5_000;
/** Wait before the registry is asked again. */
const UNAVAILABLE_WAIT_MS = 1_000;

export class Inbox<Item extends { readonly kind: string }> {
  readonly #options: InboxOptions<Item>;
  readonly #messages: InputMessage[] = [];
  #head: Head<Item> = { kind: 'unread' };
  #bytes = 0;
  /** Offset at which the next batch must continue; null while closed. */
  #expected: bigint | null = null;
  #isPaused = true;
  /** Changes at each close: answers for an earlier session are dropped. */
  #session = 0;
  #problem: string | null = null;
  #highWatermark = 0n;
  /** Seeks since the inbox last took a batch or rejoined. */
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

  /** A rejoin leaves kafkajs at the group's offset, perhaps paused. Also ends our own pause after fruitless seeks. */
  rejoin(): void {
    if (this.#expected === null) return;
    this.#seeks = 0;
    this.#options.seek(this.#expected);
    this.#isPaused = false;
    this.#options.resume();
  }

  close(): void {
    this.#session += 1;
    this.#expected = null;
    this.#messages.length = 0;
    this.#head = { kind: 'unread' };
    this.#bytes = 0;
    this.#problem = null;
    this.#seeks = 0;
  }

  offer(batch: FetchedBatch): BatchReply {
    if (this.#expected === null || this.#isFull() || this.#isBackingOff()) {
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
      this.#messages.push(message);
      taken += 1;
      takenBytes += sizeOf(message);
    }
    this.#bytes += takenBytes;
    this.#seeks = 0;
    if (taken > 0) this.#options.wake();
    if (taken === unseen.length) {
      this.#expected = batch.lastOffset + 1n;
      return 'taken';
    }
    this.#expected = BigInt(unseen[taken]?.offset ?? batch.lastOffset);
    this.#options.seek(this.#expected);
    return 'seeking';
  }

  /** The client skipped records that readers never get. If our position is among them, we skip them too. */
  passFiltered({ fetchedOffset, lastOffset }: FilteredRecords): void {
    if (this.#expected !== null && fetchedOffset <= this.#expected && lastOffset >= this.#expected)
      this.#expected = lastOffset + 1n;
  }

  /** Next offset to be fetched; null while closed. */
  expected(): bigint | null {
    return this.#expected;
  }

  /** The oldest message; undefined: there is none. */
  head(): InputMessage | undefined {
    return this.#messages[0];
  }

  /** The oldest message is to be decoded, for the first time or again. */
  isUnread(): boolean {
    return this.#head.kind === 'unread';
  }

  /** The oldest message waits until the registry is asked again. */
  isUnavailable(): boolean {
    return this.#head.kind === 'unavailable';
  }

  /**
   * Decodes the oldest message.
   * @returns null: there is none, or it waits for the registry
   * @throws the error of our own code; the next call tries again
   */
  read(): { readonly item: Item } | null {
    const [message] = this.#messages;
    if (message === undefined) return null;
    if (this.#head.kind === 'unread') this.#readHead(message);
    const head = this.#head;
    switch (head.kind) {
      case 'unread':
      case 'asking':
      case 'unavailable':
        return null;
      case 'failed':
        this.#head = { kind: 'unread' };
        throw head.error;
      case 'read':
        return head;
    }
  }

  /** Removes the oldest message. */
  take(): void {
    const taken = this.#messages.shift();
    if (taken !== undefined) this.#bytes -= sizeOf(taken);
    this.#head = { kind: 'unread' };
    this.#problem = null;
  }

  /** Offset below which the lane has taken everything, control records included; null while closed. */
  position(): bigint | null {
    return this.#messages[0]?.offset ?? this.#expected;
  }

  /** Resumes fetching once half of the room is free. */
  makeRoom(): void {
    const hasRoom = this.#messages.length <= MESSAGES_MAX / 2 && this.#bytes <= BYTES_MAX / 2;
    if (this.#expected === null || !this.#isPaused || !hasRoom || this.#isBackingOff()) return;
    this.#isPaused = false;
    this.#options.resume();
  }

  status(): {
    buffered: number;
    oldestTimestampMs: number | null;
    highWatermark: bigint;
    problem: string | null;
  } {
    return {
      buffered: this.#messages.length,
      oldestTimestampMs: this.#messages[0]?.timestampMs ?? null,
      highWatermark: this.#highWatermark,
      problem: this.#problem,
    };
  }

  #readHead(message: InputMessage): void {
    try {
      const read = this.#options.read(message);
      if (read instanceof Promise) void this.#await(read);
      else this.#settle(read);
    } catch (error) {
      this.#head = { kind: 'failed', error };
    }
  }

  async #await(reading: Promise<Item | Unavailable>): Promise<void> {
    this.#head = { kind: 'asking' };
    const session = this.#session;
    const settled = await reading.then(
      (read) => () => this.#settle(read),
      (error: unknown) => () => (this.#head = { kind: 'failed', error }),
    );
    if (session !== this.#session) return;
    settled();
    this.#options.wake();
  }

  #settle(read: Item | Unavailable): void {
    if (!isUnavailable(read)) {
      this.#problem = null;
      this.#head = { kind: 'read', item: read };
      return;
    }
    this.#problem = read.problem;
    this.#head = { kind: 'unavailable' };
    const session = this.#session;
    setTimeout(() => {
      if (session !== this.#session) return;
      this.#head = { kind: 'unread' };
      this.#options.wake();
    }, UNAVAILABLE_WAIT_MS);
  }

  #seekAgain(expected: bigint): BatchReply {
    this.#seeks += 1;
    if (!this.#isBackingOff()) {
      this.#options.seek(expected);
      return 'seeking';
    }
    this.#isPaused = true;
    const session = this.#session;
    setTimeout(() => {
      if (session === this.#session) this.rejoin();
    }, SEEK_AGAIN_MS).unref();
    return 'not-now';
  }

  #isBackingOff(): boolean {
    return this.#seeks >= FRUITLESS_SEEKS_MAX;
  }

  #isFull(): boolean {
    return this.#messages.length >= MESSAGES_MAX || this.#bytes >= BYTES_MAX;
  }
}

function isUnavailable(read: { readonly kind: string }): read is Unavailable {
  return read.kind === 'unavailable';
}
