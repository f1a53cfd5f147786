/**
 * What a lane has fetched of one input topic and not yet admitted.
 *
 *   offer   takes a batch that continues where the last one ended; any other is refused and sought again
 *   pump    decodes messages one after the other, in order; waits while the registry cannot be asked
 *   peek / take   the decoded messages, oldest first
 *
 * Bounded by pausing the partition: beyond the limits messages stay in Kafka, and consumer lag tells.
 */
import type { KafkaMessage } from 'kafkajs';
import type { BatchReply, FetchedBatch } from './group-member.ts';

/** A message, decoded into what the lane handles. */
export interface Ready<Item> {
  readonly offset: bigint;
  readonly bytes: number;
  readonly timestampMs: number;
  readonly item: Item;
}

export type ReadResult<Item> = { kind: 'item'; item: Item } | { kind: 'unavailable'; problem: string };

export interface InboxOptions<Item> {
  readonly topic: string;
  readonly lane: number;
  /** Never throws; what it cannot read is an item that says so. */
  readonly read: (message: KafkaMessage) => Promise<ReadResult<Item>>;
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
/** After as many seeks that brought no message nearer, the partition rests: a fetch out of range voids those of others. */
const FRUITLESS_SEEKS_MAX = 10;
const SEEK_AGAIN_MS = 5_000;
/** Wait before the registry is asked again. */
const UNAVAILABLE_WAIT_MS = 1_000;

export class LaneInbox<Item> {
  readonly #options: InboxOptions<Item>;
  readonly #raw: KafkaMessage[] = [];
  #ready: Ready<Item>[] = [];
  #bytes = 0;
  /** Offset that the next batch must continue at; null while closed. */
  #expected: bigint | null = null;
  #isPaused = true;
  #isPumping = false;
  #generation = 0;
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
    this.#generation += 1;
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
    for (const message of unseen) {
      this.#raw.push(message);
      this.#bytes += sizeOf(message);
    }
    this.#expected = batch.lastOffset + 1n;
    this.#seeks = 0;
    void this.#pump();
    return 'taken';
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
    this.#bytes -= this.#ready.shift()?.bytes ?? 0;
  }

  /** Offset below which everything has been taken, control records included. */
  position(): bigint | null {
    const first = this.#ready[0]?.offset ?? (this.#raw[0] === undefined ? null : BigInt(this.#raw[0].offset));
    return first ?? this.#expected;
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
    const oldest = this.#ready[0]?.timestampMs ?? (this.#raw[0] === undefined ? null : Number(this.#raw[0].timestamp));
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
    const generation = this.#generation;
    while (this.#raw[0] !== undefined) {
      const message = this.#raw[0];
      const read = await this.#options.read(message);
      if (generation !== this.#generation) return;
      if (read.kind === 'unavailable') {
        this.#problem = read.problem;
        this.#options.wake();
        await new Promise((resolve) => setTimeout(resolve, UNAVAILABLE_WAIT_MS).unref());
        if (generation !== this.#generation) return;
        continue;
      }
      this.#problem = null;
      this.#raw.shift();
      this.#ready.push({
        offset: BigInt(message.offset),
        bytes: sizeOf(message),
        timestampMs: Number(message.timestamp),
        item: read.item,
      });
      this.#options.wake();
    }
    this.#isPumping = false;
  }

  #seekAgain(expected: bigint): BatchReply {
    this.#seeks += 1;
    if (!this.#rests()) {
      this.#options.seek(expected);
      return 'sought';
    }
    this.#isPaused = true;
    const generation = this.#generation;
    setTimeout(() => {
      if (generation === this.#generation) this.rejoin();
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

function sizeOf(message: KafkaMessage): number {
  return (message.key?.length ?? 0) + (message.value?.length ?? 0) + 100;
}
