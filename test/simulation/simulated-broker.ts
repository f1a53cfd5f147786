/**
 * The brokers of a simulated Kafka: topics, the coordinator of transactions, the offsets of groups.
 *
 *   transaction   (first record) open -> ended by its producer, by the next one, or by the time-out: the outcome stands
 *                 -> one marker after the other, at times of their own -> over
 *
 * A transactional id has one epoch: initialising it fences every earlier producer. Until the last marker is written, the
 * id can neither be initialised nor begin another transaction. No records are ever removed.
 */
import type { Draws } from './draws.ts';
import { SimulatedGroups } from './simulated-groups.ts';
import { SimulatedLog, type BrokerTransaction, type NewRecord } from './simulated-log.ts';
import type { VirtualTime } from './virtual-time.ts';

/** An error code of the protocol; `isRetriable` as clients take it. */
export class BrokerError extends Error {
  readonly isRetriable: boolean;
  constructor(code: string, isRetriable = false) {
    super(code);
    this.isRetriable = isRetriable;
  }
}

interface Running {
  readonly transaction: BrokerTransaction;
  readonly logs: Set<SimulatedLog>;
  readonly offsets: { groupId: string; topic: string; partition: number; offset: bigint }[];
  timeout: { cancel: () => void };
}

interface Coordinated {
  epoch: number;
  running: Running | null;
}

const MARKER_MS_MAX = 15;
/** A broker that is busy writes a marker as late as this. */
const LATE_MARKER_MS_MAX = 1_500;
const LATE_MARKER_SHARE = 0.03;

export class SimulatedBroker {
  readonly groups: SimulatedGroups;
  readonly #time: VirtualTime;
  readonly #draws: Draws;
  readonly #topics = new Map<string, SimulatedLog[]>();
  readonly #producers = new Map<string, Coordinated>();

  constructor(time: VirtualTime, draws: Draws) {
    this.#time = time;
    this.#draws = draws;
    this.groups = new SimulatedGroups(time, draws);
  }

  createTopic(topic: string, partitions: number): void {
    this.#topics.set(
      topic,
      Array.from({ length: partitions }, () => new SimulatedLog()),
    );
  }

  topics(): string[] {
    return [...this.#topics.keys()];
  }

  logs(topic: string): readonly SimulatedLog[] {
    const logs = this.#topics.get(topic);
    if (logs === undefined) throw new BrokerError('UNKNOWN_TOPIC_OR_PARTITION');
    return logs;
  }

  log(topic: string, partition: number): SimulatedLog {
    const log = this.logs(topic)[partition];
    if (log === undefined) throw new BrokerError('UNKNOWN_TOPIC_OR_PARTITION');
    return log;
  }

  /** @returns the epoch; every earlier producer of the id is fenced, even while its transaction is still being ended */
  initialise(transactionalId: string): number {
    const producer = this.#producers.get(transactionalId) ?? { epoch: -1, running: null };
    this.#producers.set(transactionalId, producer);
    if (producer.running !== null) {
      if (producer.running.transaction.outcome === null) {
        producer.epoch += 1;
        this.#end(producer, producer.running, 'aborted');
      }
      throw new BrokerError('CONCURRENT_TRANSACTIONS', true);
    }
    producer.epoch += 1;
    return producer.epoch;
  }

  produce(
    id: string,
    epoch: number,
    to: { topic: string; partition: number },
    records: readonly NewRecord[],
    timeoutMs: number,
  ): number {
    const log = this.log(to.topic, to.partition);
    const running = this.#runningOf(id, epoch, timeoutMs);
    running.logs.add(log);
    const [first = 0] = records.map((record) => log.append(record, this.#time.nowMs, running.transaction));
    return first;
  }

  addOffsets(
    id: string,
    epoch: number,
    groupId: string,
    offsets: readonly { topic: string; partition: number; offset: bigint }[],
    timeoutMs: number,
  ): void {
    this.#runningOf(id, epoch, timeoutMs).offsets.push(...offsets.map((offset) => ({ groupId, ...offset })));
  }

  end(id: string, epoch: number, outcome: 'committed' | 'aborted'): void {
    const producer = this.#checked(id, epoch);
    if (producer.running === null) throw new BrokerError('INVALID_TXN_STATE');
    if (producer.running.transaction.outcome !== null) throw new BrokerError('CONCURRENT_TRANSACTIONS', true);
    this.#end(producer, producer.running, outcome);
  }

  #checked(id: string, epoch: number): Coordinated {
    const producer = this.#producers.get(id);
    if (producer?.epoch !== epoch) throw new BrokerError('INVALID_PRODUCER_EPOCH');
    return producer;
  }

  #runningOf(id: string, epoch: number, timeoutMs: number): Running {
    const producer = this.#checked(id, epoch);
    if (producer.running === null) {
      const transaction: BrokerTransaction = { transactionalId: id, epoch, outcome: null };
      const running: Running = { transaction, logs: new Set(), offsets: [], timeout: { cancel: () => undefined } };
      producer.running = running;
      running.timeout = this.#time.after(timeoutMs, null, () => {
        producer.epoch += 1;
        this.#end(producer, running, 'aborted');
      });
    } else if (producer.running.transaction.outcome !== null) {
      throw new BrokerError('CONCURRENT_TRANSACTIONS', true);
    }
    return producer.running;
  }

  #end(producer: Coordinated, running: Running, outcome: 'committed' | 'aborted'): void {
    running.transaction.outcome = outcome;
    running.timeout.cancel();
    let left = running.logs.size + 1;
    const written = (): void => {
      left -= 1;
      if (left === 0) producer.running = null;
    };
    for (const log of running.logs) {
      this.#time.after(this.#markerMs(), null, () => {
        log.end(running.transaction, this.#time.nowMs);
        written();
      });
    }
    this.#time.after(this.#markerMs(), null, () => {
      if (outcome === 'committed') for (const offset of running.offsets) this.groups.commit(offset.groupId, offset);
      written();
    });
  }

  #markerMs(): number {
    return this.#draws.between(0.1, this.#draws.chance(LATE_MARKER_SHARE) ? LATE_MARKER_MS_MAX : MARKER_MS_MAX);
  }
}
