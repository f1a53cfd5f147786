/**
 * The brokers of a simulated Kafka: topics, the coordinator of transactions, the offsets of groups.
 *
 *   transaction   (first record) open -> ended by its producer, by the next one, or by the time-out: the outcome stands
 *                 -> one marker after the other, at times of their own -> over
 *
 * A transactional id has one epoch: initialising it fences every earlier producer. Until the last marker is written, the
 * id can neither be initialised nor begin another transaction.
 *
 * A topic that is deleted takes its records and the groups' offsets along; made again, it has a new id and begins at 0.
 */
import { brokerError } from './broker-error.ts';
import { Coordinators } from './coordinators.ts';
import type { Draws } from './draws.ts';
import { SimulatedGroups } from './simulated-groups.ts';
import { batchBytes, SimulatedLog, type BrokerTransaction, type NewRecord } from './simulated-log.ts';
import type { VirtualTime } from './virtual-time.ts';

/** In an answer, of a topic under clients' clocks. */
const NO_TIME = -1;

/** As much of a topic's configuration as brokers act upon. */
export interface TopicConfig {
  readonly maxMessageBytes: number;
  readonly timestampType: 'LogAppendTime' | 'CreateTime';
  /** Null: it is not compacted. */
  readonly deleteRetentionMs: number | null;
}

interface Topic {
  readonly id: string;
  config: TopicConfig;
  readonly logs: readonly SimulatedLog[];
}

/** Kafka's own defaults. */
const DEFAULT_CONFIG: TopicConfig = {
  maxMessageBytes: 1_048_588,
  timestampType: 'CreateTime',
  deleteRetentionMs: null,
};

interface Running {
  readonly transaction: BrokerTransaction;
  readonly logs: Set<SimulatedLog>;
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
  readonly coordinators: Coordinators;
  readonly #time: VirtualTime;
  readonly #draws: Draws;
  readonly #topics = new Map<string, Topic>();
  #made = 0;
  #refusedText: string | null = null;
  /** Ends that new leaders report, by partition, until an instant. */
  readonly #shownEnds = new Map<string, { end: number; untilMs: number }>();
  readonly #producers = new Map<string, Coordinated>();
  readonly #lateMarkerShare: number;

  /** @param lateMarkerShare of the marks of transactions, those that come more than a second late */
  constructor(time: VirtualTime, draws: Draws, lateMarkerShare = LATE_MARKER_SHARE) {
    this.#time = time;
    this.#draws = draws;
    this.#lateMarkerShare = lateMarkerShare;
    this.groups = new SimulatedGroups(time, draws);
    this.coordinators = new Coordinators(time);
  }

  createTopic(topic: string, partitions: number, config: Partial<TopicConfig> = {}): void {
    this.#made += 1;
    this.#topics.set(topic, {
      id: `topic-${this.#made}`,
      config: { ...DEFAULT_CONFIG, ...config },
      logs: Array.from({ length: partitions }, () => new SimulatedLog()),
    });
  }

  deleteTopic(topic: string): void {
    const { logs } = this.#topic(topic);
    this.#topics.delete(topic);
    this.groups.forgetTopic(topic);
    for (const log of logs) log.close();
  }

  topics(): string[] {
    return [...this.#topics.keys()];
  }

  topicId(topic: string): string {
    return this.#topic(topic).id;
  }

  config(topic: string): TopicConfig {
    return this.#topic(topic).config;
  }

  configure(topic: string, changed: Partial<TopicConfig>): void {
    const found = this.#topic(topic);
    found.config = { ...found.config, ...changed };
  }

  logs(topic: string): readonly SimulatedLog[] {
    return this.#topic(topic).logs;
  }

  log(topic: string, partition: number): SimulatedLog {
    const log = this.logs(topic)[partition];
    if (log === undefined) throw brokerError('UNKNOWN_TOPIC_OR_PARTITION');
    return log;
  }

  /** A new leader that has not heard yet how far its partition was committed: for a while it seems to end there. */
  moveLeader(topic: string, partition: number, end: number, forMs: number): void {
    this.#shownEnds.set(`${topic}/${partition}`, { end, untilMs: this.#time.nowMs + forMs });
  }

  /** How far the leader says that the partition goes, and lets it be read; Infinity: as far as it does. */
  shownEnd(topic: string, partition: number): number {
    const shown = this.#shownEnds.get(`${topic}/${partition}`);
    return shown === undefined || shown.untilMs <= this.#time.nowMs ? Infinity : shown.end;
  }

  /** Takes no record with the text from transactional producers, as one that an interceptor finds fault with. */
  refuse(text: string): void {
    this.#refusedText = text;
  }

  /** As a producer without transactions does. */
  append(topic: string, partition: number, record: NewRecord): number {
    const { nowMs } = this.#time;
    const isBrokers = this.config(topic).timestampType === 'LogAppendTime';
    return this.log(topic, partition).append({ ...record, ...(isBrokers ? { timestampMs: nowMs } : {}) }, nowMs, null);
  }

  compact(topic: string): void {
    const { config, logs } = this.#topic(topic);
    if (config.deleteRetentionMs === null) throw new Error(`${topic} is not compacted`);
    for (const log of logs) log.compact(this.#time.nowMs, config.deleteRetentionMs);
  }

  /** @returns the epoch; every earlier producer of the id is fenced, even while its transaction is still being ended */
  initialise(transactionalId: string): number {
    this.coordinators.check(transactionalId);
    const producer = this.#producers.get(transactionalId) ?? { epoch: -1, running: null };
    this.#producers.set(transactionalId, producer);
    if (producer.running !== null) {
      if (producer.running.transaction.outcome === null) {
        producer.epoch += 1;
        this.#end(producer, producer.running, 'aborted');
      }
      throw brokerError('CONCURRENT_TRANSACTIONS');
    }
    producer.epoch += 1;
    return producer.epoch;
  }

  /** To the transaction that is running; else one begins. */
  add(id: string, epoch: number, partitions: readonly { topic: string; partition: number }[], timeoutMs: number): void {
    const logs = partitions.map(({ partition, topic }) => this.log(topic, partition));
    this.coordinators.check(id);
    const running = this.#runningOf(id, epoch, timeoutMs);
    for (const log of logs) running.logs.add(log);
  }

  produce(
    id: string,
    epoch: number,
    to: { topic: string; partition: number },
    records: readonly NewRecord[],
    timeoutMs: number,
  ): { baseOffset: string; logAppendTime: string } {
    const log = this.log(to.topic, to.partition);
    const { maxMessageBytes, timestampType } = this.config(to.topic);
    // The partition is part of the transaction before anything is written to it.
    if (this.#producers.get(id)?.running?.logs.has(log) !== true) this.coordinators.check(id);
    const running = this.#runningOf(id, epoch, timeoutMs);
    running.logs.add(log);
    if (batchBytes(records) > maxMessageBytes) throw brokerError('MESSAGE_TOO_LARGE');
    const refused = this.#refusedText;
    if (refused !== null && records.some(({ value }) => value?.includes(refused) === true))
      throw brokerError('INVALID_RECORD');
    const { nowMs } = this.#time;
    const isCreateTime = timestampType === 'CreateTime';
    const written = isCreateTime ? {} : { timestampMs: nowMs };
    const [first = 0] = records.map((record) => log.append({ ...record, ...written }, nowMs, running.transaction));
    return { baseOffset: String(first), logAppendTime: String(isCreateTime ? NO_TIME : nowMs) };
  }

  end(id: string, epoch: number, outcome: 'committed' | 'aborted'): void {
    this.coordinators.check(id);
    const producer = this.#checked(id, epoch);
    if (producer.running === null) throw brokerError('INVALID_TXN_STATE');
    if (producer.running.transaction.outcome !== null) throw brokerError('CONCURRENT_TRANSACTIONS');
    if (outcome === 'committed') this.coordinators.committed(id);
    this.#end(producer, producer.running, outcome);
  }

  #topic(name: string): Topic {
    const topic = this.#topics.get(name);
    if (topic === undefined) throw brokerError('UNKNOWN_TOPIC_OR_PARTITION');
    return topic;
  }

  #checked(id: string, epoch: number): Coordinated {
    const producer = this.#producers.get(id);
    if (producer?.epoch !== epoch) throw brokerError('INVALID_PRODUCER_EPOCH');
    return producer;
  }

  #runningOf(id: string, epoch: number, timeoutMs: number): Running {
    const producer = this.#checked(id, epoch);
    if (producer.running === null) {
      const transaction: BrokerTransaction = { transactionalId: id, epoch, outcome: null };
      const running: Running = { transaction, logs: new Set(), timeout: { cancel: () => undefined } };
      producer.running = running;
      running.timeout = this.coordinators.after(timeoutMs, id, () => {
        producer.epoch += 1;
        this.#end(producer, running, 'aborted');
      });
    } else if (producer.running.transaction.outcome !== null) {
      throw brokerError('CONCURRENT_TRANSACTIONS');
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
    const { transactionalId } = running.transaction;
    for (const log of running.logs) {
      this.coordinators.after(this.#markerMs(), transactionalId, () => {
        log.end(running.transaction, this.#time.nowMs);
        written();
      });
    }
    this.coordinators.after(this.#markerMs(), transactionalId, written);
  }

  #markerMs(): number {
    return this.#draws.between(0.1, this.#draws.chance(this.#lateMarkerShare) ? LATE_MARKER_MS_MAX : MARKER_MS_MAX);
  }
}
