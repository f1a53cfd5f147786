/**
 * The transactions of this process: what its lanes have gathered goes out together, one transaction after the other.
 *
 *   waiting     lanes hand over what they have gathered while the transaction before is under way, or ends
 *   committing  once it has ended, lanes add what has happened since; what waits goes into one transaction, as much as every
 *               partition takes; all of it is committed, or none
 *   broken      a transaction did not go through: every lane that writes here is lost, and takes its lane again with a
 *               writer under another transactional id
 *
 * A transactional id is never used again: whoever fences it fences what it was used for, and nothing that came after.
 * Owns the writer of the present, and remembers which ids it has fenced.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from 'payment-processor-contract/clock';
import { sleep } from '../consumers/signal.ts';
import { settledWithin } from 'payment-processor-contract/kafka/settled-within';
import type { Written } from '../producers/producer-session.ts';
import { batchName, encodeBatches, type OutgoingRecord } from '../producers/record-batch.ts';
import type { PartitionName } from '../producers/transaction-requests.ts';
import { TransactionFailedError, type TransactionalProducer } from '../producers/transactional-producer.ts';
import { FillTurn } from './fill-turn.ts';
import { LostWithOthersError, wasRefused } from './troubles.ts';

/** What one lane has gathered. */
export interface LaneCommit {
  readonly lane: number;
  readonly records: readonly OutgoingRecord[];
  /** By topic and partition, which share it takes of what a batch there may have. */
  readonly shares: ReadonlyMap<string, number>;
  readonly bytes: number;
}

export interface CommitterOptions {
  readonly groupId: string;
  readonly makeProducer: (transactionalId: string) => TransactionalProducer;
  readonly clock: Clock;
}

/**
 * Asked before it is committed, and again while it finds no room: what was handed over, and what the lane adds until the instant
 * of the monotonic clock.
 */
export type AddTo = (untilMs: number) => LaneCommit;

/** Of all lanes of one transaction: bounds memory and the time to its commit. */
const TRANSACTION_BYTES_MAX = 8 * 1024 * 1024;
/** After the broker refused what several lanes had together, each has transactions of its own: then it shows whose it was. */
const APART_MS = 60_000;
/** Ids of producers long gone; to forget one costs fencing it once more. */
const FENCED_MAX = 1_000;
/** After them the next owner has waited, and has fenced the producer itself. */
const DISOWN_TRIES_MAX = 3;
const DISOWN_AGAIN_MS = 500;
/** A process that ends waits so long for it. */
const DISOWN_AT_END_MS_MAX = 2_000;

/** Where what was handed over lies, with what the lane has added to it. */
export interface Committed {
  readonly written: Written;
  readonly commit: LaneCommit;
}

interface Waiting {
  readonly handedOver: LaneCommit;
  readonly addTo: AddTo;
  /** What was handed over, with what was added. */
  commit: LaneCommit;
  readonly resolve: (committed: Committed) => void;
  readonly reject: (reason: unknown) => void;
}

export class Committer {
  readonly #options: CommitterOptions;
  readonly fillTurn: FillTurn;
  #writer: Writer | null = null;
  /** Of claims that are disowned: where a partition takes none, no lane is lost with it. */
  #disowner: Writer | null = null;
  readonly #fenced = new Set<string>();
  readonly #fencing = new Map<string, Promise<void>>();
  readonly #disowning = new Set<Promise<void>>();
  #apartUntilMs = -Infinity;
  #isClosed = false;

  constructor(options: CommitterOptions) {
    this.#options = options;
    this.fillTurn = new FillTurn(options.clock);
  }

  /** The writer of the present. */
  writer(): Writer {
    this.#writer = this.#whole(this.#writer);
    return this.#writer;
  }

  #whole(writer: Writer | null): Writer {
    if (writer?.isBroken() === false) return writer;
    const { clock, groupId, makeProducer } = this.#options;
    const transactionalId = idPrefixOf(groupId) + randomUUID();
    return new Writer(transactionalId, makeProducer(transactionalId), {
      fillTurn: this.fillTurn,
      isApart: () => clock.monotonicMs() < this.#apartUntilMs,
      onRefused: () => (this.#apartUntilMs = clock.monotonicMs() + APART_MS),
    });
  }

  /** Transactional ids that this process has fenced, and that nobody uses again; the set changes as it fences more. */
  fenced(): ReadonlySet<string> {
    return this.#fenced;
  }

  /**
   * Ends every producer of the transactional id for good, for none comes back under it.
   * @throws TransactionFailedError when that is not certain
   */
  async fence(transactionalId: string): Promise<void> {
    if (this.#fenced.has(transactionalId)) return;
    const known = this.#fencing.get(transactionalId);
    const fencing = known ?? this.#options.makeProducer(transactionalId).fence();
    this.#fencing.set(transactionalId, fencing);
    try {
      await fencing;
      if (this.#fenced.size >= FENCED_MAX) this.#fenced.clear();
      this.#fenced.add(transactionalId);
    } finally {
      this.#fencing.delete(transactionalId);
    }
  }

  /**
   * Of a lane whose writer broke while its claim stood: ends the broken producer for good, and only then says so in the ledger,
   * through a writer of its own. Nobody relies on it; it is tried a few times.
   * @param commit the claim of the broken producer, and nothing else: the lane may have another owner by now
   */
  disown(transactionalId: string, commit: LaneCommit): void {
    const disowning = this.#disown(transactionalId, commit).finally(() => {
      this.#disowning.delete(disowning);
      if (this.#disowning.size === 0) void this.#disowner?.close();
    });
    this.#disowning.add(disowning);
  }

  /** Once what waits is committed, or the producer broke. */
  async close(): Promise<void> {
    await settledWithin(Promise.all(this.#disowning), DISOWN_AT_END_MS_MAX);
    this.#isClosed = true;
    await this.#writer?.close();
  }

  async #disown(transactionalId: string, commit: LaneCommit): Promise<void> {
    for (let tries = 0; tries < DISOWN_TRIES_MAX; tries += 1) {
      try {
        await this.fence(transactionalId);
        if (this.#isClosed) return;
        this.#disowner = this.#whole(this.#disowner);
        await this.#disowner.commit(commit);
        return;
      } catch {
        await sleep(DISOWN_AGAIN_MS);
      }
    }
  }
}

/** Of the transactional ids of a group's processes. */
export function idPrefixOf(groupId: string): string {
  return `${groupId}-process-`;
}

interface WriterHooks {
  readonly fillTurn: FillTurn;
  readonly isApart: () => boolean;
  readonly onRefused: () => void;
}

export class Writer {
  readonly transactionalId: string;
  readonly #producer: TransactionalProducer;
  readonly #hooks: WriterHooks;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #opening: Promise<void> | null = null;
  #broken: Error | null = null;
  readonly #brokenListeners = new Set<() => void>();

  constructor(transactionalId: string, producer: TransactionalProducer, hooks: WriterHooks) {
    this.transactionalId = transactionalId;
    this.#producer = producer;
    this.#hooks = hooks;
  }

  isBroken(): boolean {
    return this.#broken !== null;
  }

  /** @throws LostWithOthersError */
  assertWhole(): void {
    if (this.#broken !== null) throw lostWith(this.#broken);
  }

  /** @returns what ends the listening */
  onBroken(listener: () => void): () => void {
    this.#brokenListeners.add(listener);
    return () => this.#brokenListeners.delete(listener);
  }

  /** Ahead of the first commit, which need not wait for it then. @throws what breaks the writer with that commit */
  open(): Promise<void> {
    this.#opening ??= this.#producer.open();
    return this.#opening;
  }

  /**
   * With the next transaction that has room, after all that was handed over before.
   * @param addTo what it throws loses the lane, and nothing of what was handed over is committed
   * @returns where the transaction lies; of the lane's partitions nothing else of this process is in it
   * @throws TransactionFailedError, LostWithOthersError when it is not certain that it was committed; the writer is broken then
   */
  commit(commit: LaneCommit, addTo: AddTo = () => commit): Promise<Committed> {
    if (this.#broken !== null) return Promise.reject(lostWith(this.#broken));
    const { promise, reject, resolve } = Promise.withResolvers<Committed>();
    this.#waiting.push({ handedOver: commit, addTo, commit, resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  /** @returns false: it is under way, or over */
  cancel(commit: LaneCommit): boolean {
    const cancelled = this.#waiting.find(({ handedOver }) => handedOver === commit);
    if (cancelled !== undefined) this.#refuse(cancelled, new LostWithOthersError('the lane was lost before'));
    return cancelled !== undefined;
  }

  async close(): Promise<void> {
    await this.#running;
    this.#break(new TransactionFailedError('the process ends'), []);
  }

  async #run(): Promise<void> {
    // What others hand over in the same turn goes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      let together = this.#fitting();
      try {
        await this.open();
        const written = await this.#producer.commit(partitionsOf(together), async () => {
          this.#addToAll();
          together = this.#fitting();
          this.#waiting = this.#waiting.filter((waiting) => !together.includes(waiting));
          return encodeBatches(recordsOf(together));
        });
        // Who begins its next first has most of the turn that all share: another one each time.
        for (const { commit, resolve } of [...together.slice(1), ...together.slice(0, 1)]) resolve({ written, commit });
      } catch (error) {
        this.#break(error instanceof Error ? error : new Error(String(error)), together);
        break;
      }
    }
    this.#running = null;
  }

  /** All lanes that wait share the turn, whoever comes first. */
  #addToAll(): void {
    const all = this.#waiting;
    for (const [index, waiting] of all.entries()) {
      try {
        waiting.commit = waiting.addTo(this.#hooks.fillTurn.untilMs(all.length - index));
      } catch (error) {
        this.#refuse(waiting, error);
      }
    }
  }

  #refuse(refused: Waiting, reason: unknown): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting !== refused);
    refused.reject(reason);
  }

  /** Those that waited longest, as far as each partition has room for them, one of each lane; at least one. */
  #fitting(): Waiting[] {
    const together: Waiting[] = [];
    const shares = new Map<string, number>();
    const isApart = this.#hooks.isApart();
    let bytes = 0;
    for (const waiting of this.#waiting) {
      const { commit } = waiting;
      const isTooMuch =
        isApart ||
        together.some((other) => other.commit.lane === commit.lane) ||
        bytes + commit.bytes > TRANSACTION_BYTES_MAX ||
        [...commit.shares].some(([batch, share]) => (shares.get(batch) ?? 0) + share > 1);
      if (together.length > 0 && isTooMuch) break;
      together.push(waiting);
      bytes += commit.bytes;
      for (const [batch, share] of commit.shares) shares.set(batch, (shares.get(batch) ?? 0) + share);
    }
    return together;
  }

  #break(error: Error, together: readonly Waiting[]): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    this.#producer.drop();
    const isShared = together.length > 1;
    const isRefused = wasRefused(error);
    if (isShared && isRefused) this.#hooks.onRefused();
    // Of several lanes nobody knows whose it was.
    for (const { reject } of together) reject(isShared && isRefused ? lostWith(error) : error);
    for (const { reject } of this.#waiting) reject(lostWith(error));
    this.#waiting = [];
    for (const listener of this.#brokenListeners) listener();
    this.#brokenListeners.clear();
  }
}

function recordsOf(together: readonly Waiting[]): OutgoingRecord[] {
  return together.flatMap(({ commit }) => commit.records);
}

function partitionsOf(together: readonly Waiting[]): PartitionName[] {
  const names = new Map(recordsOf(together).map((record) => [batchName(record.topic, record.partition), record]));
  return [...names.values()];
}

function lostWith(error: Error): LostWithOthersError {
  return new LostWithOthersError(`the process's producer broke: ${error.message}`, { cause: error });
}
