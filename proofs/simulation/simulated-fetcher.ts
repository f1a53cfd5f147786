/**
 * The fetches of a simulated consumer: where it stands in each partition, what it sought, which it paused.
 *
 *   waiting at the broker -> answered (dropped, if a seek is pending or the partition paused) -> queued -> handled -> next
 *
 * A seek takes effect with the next fetch. What is queued is handled however long it waited, even if it was sought
 * elsewhere or the partition lost meanwhile. Seeks and pauses survive a join, positions do not.
 */
import type { SimulatedBroker } from './simulated-broker.ts';
import type { SimulatedLog, StoredRecord } from './simulated-log.ts';
import type { SimulatedNetwork } from './simulated-network.ts';
import type { Owner } from './virtual-time.ts';

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** One fetch that brought something. */
export interface Fetch extends Place {
  readonly offset: number;
  /** Aborted and control records included; none where compaction took those that were asked for out of their batch. */
  readonly records: readonly StoredRecord[];
  readonly highWatermark: number;
}

/** What the broker made of a fetch. */
type Fetched =
  { kind: 'records'; fetch: Fetch } | { kind: 'nothing-yet' } | { kind: 'out-of-range' } | { kind: 'gone' };

export interface FetcherOptions {
  readonly broker: SimulatedBroker;
  readonly network: SimulatedNetwork;
  readonly owner: Owner | null;
  /** Of the next fetch. */
  readonly maxWaitMs: () => number;
  readonly isRunning: () => boolean;
  /** A topic is not there: the consumer asks anew what there is, and joins again. */
  readonly onGone: () => void;
  /** @param resolve moves the position behind the offset */
  readonly handle: (fetch: Fetch, resolve: (offset: number) => void) => Promise<void>;
}

interface Assigned extends Place {
  position: number;
  /** One at a time; `ending`: it brings nothing, and the next one follows. */
  stage: 'idle' | 'waiting' | 'ending' | 'answered';
  /** Takes a waiting fetch back. */
  takeBack: () => void;
}

/** A fetch brings as much as fits; large records leave room for few. */
const FETCH_RECORDS_MAX = [1, 4, 12, 12];
/** Of what a reader lacks that is far behind: commands must not become too old while a ledger is read. */
const BEHIND_SHARE = 0.1;
/** Of fetches into a gap: the answer ends with the batch that the gap lies in. */
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

  /** Takes back what waits at the brokers. */
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

  /** A fetch that waits at the broker ends soon, and the next one begins where the consumer now stands. */
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
        // The broker answers: nothing takes that back.
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

  /** Asks where the partition begins, and goes on there: readers of ours never want its end. */
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
