/**
 * The fetches of a simulated consumer: its positions, seeks and paused partitions.
 *
 *   waiting at the broker -> answered (dropped, if a seek is pending or the partition paused) -> queued -> handled -> next
 *
 * A seek takes effect with the next fetch. A queued fetch is handled however long it waited, even after a seek or after the
 * partition was lost. Seeks and pauses survive a join, positions do not.
 */
import type { SimulatedBroker } from './simulated-broker.ts';
import type { SimulatedLog, StoredRecord } from './simulated-log.ts';
import type { SimulatedNetwork } from './simulated-network.ts';
import type { Owner } from './virtual-time.ts';

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** A fetch that returned records or an empty batch. */
export interface Fetch extends Place {
  readonly offset: number;
  /** Includes aborted and control records; empty if compaction removed the requested ones from their batch. */
  readonly records: readonly StoredRecord[];
  readonly highWatermark: number;
}

/** The broker's answer to a fetch. */
type Fetched =
  { kind: 'records'; fetch: Fetch } | { kind: 'nothing-yet' } | { kind: 'out-of-range' } | { kind: 'gone' };

export interface FetcherOptions {
  readonly broker: SimulatedBroker;
  readonly network: SimulatedNetwork;
  readonly owner: Owner | null;
  /** The longest wait of the next fetch. */
  readonly maxWaitMs: () => number;
  readonly isRunning: () => boolean;
  /** A topic does not exist: the consumer reads the metadata and joins again. */
  readonly onGone: () => void;
  /** @param resolve moves the position past the offset */
  readonly handle: (fetch: Fetch, resolve: (offset: number) => void) => Promise<void>;
}

interface Assigned extends Place {
  position: number;
  /** One fetch at a time; `ending`: it returns nothing, then the next one follows. */
  stage: 'idle' | 'waiting' | 'ending' | 'answered';
  /** Cancels a waiting fetch. */
  takeBack: () => void;
}

/** A fetch returns what fits into it; of large records only a few fit. */
const FETCH_RECORDS_MAX = [1, 4, 12, 12];
/** A reader far behind gets this share of its lag per fetch, or commands would become too old while it reads the ledger. */
const BEHIND_SHARE = 0.1;
/** The share of fetches into a gap whose answer ends with the batch around the gap. */
const COMPACTED_BATCH_SHARE = 0.2;
const QUEUED_MS_MAX = [50, 400, 4_000];

export class SimulatedFetcher {
  readonly #options: FetcherOptions;
  readonly #recordsMax: number;
  readonly #seeks = new Map<string, number>();
  readonly #paused = new Set<string>();
  #assigned = new Map<string, Assigned>();

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#recordsMax = options.network.draws.pick(FETCH_RECORDS_MAX);
  }

  assign(places: readonly (Place & { position: number })[]): void {
    this.stop();
    this.#assigned = new Map(
      places.map((place) => [nameOf(place), { ...place, stage: 'idle', takeBack: () => undefined }]),
    );
  }

  /** Cancels the fetches that wait at the brokers. */
  stop(): void {
    for (const fetched of this.#assigned.values()) if (fetched.stage === 'waiting') fetched.takeBack();
  }

  start(): void {
    for (const fetched of this.#assigned.values()) this.#fetch(fetched);
  }

  seek(place: Place, offset: number): void {
    this.#seeks.set(nameOf(place), offset);
    this.#fetchAgain(place);
  }

  hasSought(place: Place): boolean {
    return this.#seeks.has(nameOf(place));
  }

  pause(place: Place): void {
    this.#paused.add(nameOf(place));
  }

  resume(place: Place): void {
    this.#paused.delete(nameOf(place));
    this.#fetchAgain(place);
  }

  /** Ends a waiting fetch soon, so that the next one starts from the consumer's current position. */
  #fetchAgain(place: Place): void {
    const fetched = this.#assigned.get(nameOf(place));
    if (fetched?.stage === 'idle') this.#fetch(fetched);
    if (fetched?.stage !== 'waiting') return;
    fetched.takeBack();
    fetched.stage = 'ending';
    const { maxWaitMs, network } = this.#options;
    setTimeout(() => this.#fetchNext(fetched), network.draws.between(0, maxWaitMs()));
  }

  #fetchNext(fetched: Assigned): void {
    fetched.stage = 'idle';
    this.#fetch(fetched);
  }

  #fetch(fetched: Assigned): void {
    const name = nameOf(fetched);
    const { broker, isRunning, network, owner } = this.#options;
    const isAssigned = isRunning() && this.#assigned.get(name) === fetched;
    if (fetched.stage !== 'idle' || this.#paused.has(name) || !isAssigned) return;
    fetched.position = this.#seeks.get(name) ?? fetched.position;
    this.#seeks.delete(name);
    const { time } = network;
    const { partition, position: offset, topic } = fetched;
    const log = broker.topics().includes(topic) ? broker.log(topic, partition) : null;
    const fetch = { isTakenBack: false };
    const stopWaiting = { now: (): void => undefined };
    fetched.stage = 'waiting';
    fetched.takeBack = () => {
      fetch.isTakenBack = true;
      stopWaiting.now();
    };
    const answer = (): void => {
      time.after(network.latencyMs(), null, () => {
        if (fetch.isTakenBack) return;
        // The broker is answering, so the fetch can no longer be cancelled.
        fetched.stage = 'answered';
        const answered = this.#answered({ topic, partition }, offset, log);
        time.after(network.latencyMs(), owner, () => this.#arrived(fetched, answered));
      });
    };
    if (log === null) answer();
    else stopWaiting.now = log.whenReadable(offset, answer);
  }

  #answered({ partition, topic }: Place, offset: number, awaited: SimulatedLog | null): Fetched {
    const { broker, network } = this.#options;
    const { draws } = network;
    if (awaited === null || !broker.topics().includes(topic)) return { kind: 'gone' };
    const log = broker.log(topic, partition);
    if (!log.isInRange(offset)) return { kind: 'out-of-range' };
    const shownEnd = broker.shownEnd(topic, partition);
    const recordsMax = Math.max(this.#recordsMax, Math.ceil((log.nextOffset() - offset) * BEHIND_SHARE));
    const records = log.read(offset, 1 + draws.below(recordsMax)).filter((record) => record.offset < shownEnd);
    const [first] = records;
    if (first === undefined) return { kind: 'nothing-yet' };
    const isBatchAlone = first.offset > offset && draws.chance(COMPACTED_BATCH_SHARE);
    const highWatermark = Math.min(log.nextOffset(), shownEnd);
    const fetch = { topic, partition, offset, records: isBatchAlone ? [] : records, highWatermark };
    return { kind: 'records', fetch };
  }

  #arrived(fetched: Assigned, answered: Fetched): void {
    const name = nameOf(fetched);
    if (this.#seeks.has(name) || this.#paused.has(name)) {
      this.#fetchNext(fetched);
      return;
    }
    const { maxWaitMs, network, onGone } = this.#options;
    switch (answered.kind) {
      case 'nothing-yet':
        setTimeout(() => this.#fetchNext(fetched), maxWaitMs());
        return;
      case 'gone':
        fetched.stage = 'idle';
        onGone();
        return;
      case 'out-of-range':
        void this.#reset(fetched);
        return;
      case 'records': {
        const { draws } = network;
        const queuedMs = draws.chance(network.queuedShare) ? draws.between(0, draws.pick(QUEUED_MS_MAX)) : 0;
        if (queuedMs === 0) void this.#handle(fetched, answered.fetch);
        else setTimeout(() => void this.#handle(fetched, answered.fetch), queuedMs);
      }
    }
  }

  /** Continues from the partition's beginning, because our readers never reset to its end. */
  async #reset(fetched: Assigned): Promise<void> {
    const { broker, network, onGone, owner } = this.#options;
    const { partition, topic } = fetched;
    try {
      fetched.position = await network.request(owner, 'admin', () => broker.log(topic, partition).lowOffset());
      this.#fetchNext(fetched);
    } catch {
      fetched.stage = 'idle';
      onGone();
    }
  }

  async #handle(fetched: Assigned, fetch: Fetch): Promise<void> {
    const { handle, isRunning } = this.#options;
    if (!isRunning()) return;
    await handle(fetch, (offset) => void (fetched.position = offset + 1));
    this.#fetchNext(fetched);
  }
}

function nameOf({ partition, topic }: Place): string {
  return `${topic}/${partition}`;
}
