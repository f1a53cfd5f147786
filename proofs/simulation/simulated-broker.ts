/**
 * The brokers of a simulated Kafka: topics and their leaders, the coordinator of transactions, the offsets of groups.
 *
 *   transaction   (first partition) open -> ended by its producer, by the next one, or by the timeout: the outcome stands
 *                 -> one marker after the other, at times of their own -> over
 *
 * A transactional id has one epoch: initialising it fences every earlier producer. Until the last marker is written, the
 * id can neither be initialised nor begin another transaction. A leader remembers the sequences of a producer's last
 * batches, and does not write a repeated batch again.
 *
 * Deleting a topic also deletes its records and the groups' offsets. A recreated topic has a new id and begins at 0.
 */
import type { TopicDefinition } from 'payment-processor-contract/topic-definitions';
import { brokerError } from './broker-error.ts';
import { Coordinators, NODES } from './coordinators.ts';
import type { Draws } from './draws.ts';
import { SimulatedGroups } from './simulated-groups.ts';
import { batchBytes, SimulatedLog, type BrokerTransaction, type NewRecord } from './simulated-log.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The timestamp in an answer, if the topic uses producers' timestamps. */
const NO_TIME = -1;
/** The default of `message.timestamp.after.max.ms` since Kafka 4.0. */
const AHEAD_MS_MAX = 3_600_000;
/** How many of a producer's last batches a partition recognises. */
const KNOWN_BATCHES = 5;
/** The share of requests that a broker carries out but answers with an error, if it sometimes writes markers late. */
const UNSURE_SHARE = 0.005;

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
  readonly producerId: number;
  epoch: number;
  timeoutMs: number;
  running: Running | null;
  /** The last transaction that is over. */
  ended: BrokerTransaction | null;
  /** The known batches of the current epoch, by the partition's log. */
  readonly batches: Map<SimulatedLog, KnownBatch[]>;
}

interface KnownBatch {
  readonly firstSequence: number;
  readonly count: number;
  readonly at: BatchPlace;
}

export interface BatchPlace {
  readonly firstOffset: number;
  /** -1: the topic uses producers' timestamps. */
  readonly timestampMs: number;
}

/** A batch as it is sent. */
export interface ProducedBatch {
  readonly epoch: number;
  readonly firstSequence: number;
  readonly records: readonly NewRecord[];
}

interface ShortSpan {
  readonly topic: string;
  readonly partition: number;
  readonly end: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Kafka's default, unless a producer sets another. */
const TRANSACTION_TIMEOUT_MS = 60_000;
const MARKER_MS_MAX = 15;
/** The longest time that a busy broker takes to write a marker. */
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
  /** How far the clocks of the brokers that lead the topic are ahead. */
  readonly #aheadMs = new Map<string, number>();
  /** When a partition seems to end too early, and where; of each partition, the last one counts. */
  readonly #shortSpans: ShortSpan[] = [];
  readonly #producers = new Map<string, Coordinated>();
  /** How often its partition's leader has moved, by partition. */
  readonly #moves = new Map<string, number>();
  readonly #leaderless = new Set<string>();
  readonly #lateMarkerShare: number;

  /** @param lateMarkerShare share of transaction markers that come more than a second late */
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

  /** Whether the partition takes records that are published now. */
  isWritable(topic: string, partition: number): boolean {
    return this.#topics.get(topic)?.logs[partition] !== undefined;
  }

  log(topic: string, partition: number): SimulatedLog {
    const log = this.logs(topic)[partition];
    if (log === undefined) throw brokerError('UNKNOWN_TOPIC_OR_PARTITION');
    return log;
  }

  /** The node that leads the partition; -1: none does. */
  leaderOf(topic: string, partition: number): number {
    if (this.#leaderless.has(topic)) return -1;
    return (partition + (this.#moves.get(`${topic}/${partition}`) ?? 0)) % NODES;
  }

  /** Leaves all partitions of the topic without a leader. */
  loseLeaders(topic: string): void {
    this.#leaderless.add(topic);
  }

  /** Elects a leader that does not know the high watermark yet: for a while, the partition seems to end at `end`. */
  moveLeader(topic: string, partition: number, end: number, forMs: number): void {
    const name = `${topic}/${partition}`;
    this.#moves.set(name, (this.#moves.get(name) ?? 0) + 1);
    this.log(topic, partition).newLeader();
    const fromMs = this.#time.nowMs;
    this.#shortSpans.push({ topic, partition, end, fromMs, untilMs: fromMs + forMs });
  }

  /** Whether a partition of the topic seemed to end too early at the instant, or less than `marginMs` before. */
  seemedShort(topic: string, atMs: number, marginMs: number): boolean {
    return this.#shortSpans.some(
      (span) => span.topic === topic && atMs >= span.fromMs && atMs < span.untilMs + marginMs,
    );
  }

  /** The end that the leader reports and up to which it lets readers read; Infinity: the true end. */
  shownEnd(topic: string, partition: number): number {
    const last = this.#shortSpans.findLast((span) => span.topic === topic && span.partition === partition);
    return last === undefined || last.untilMs <= this.#time.nowMs ? Infinity : last.end;
  }

  /** Refuses records with this text from transactional producers, as a broker's interceptor might. */
  refuse(text: string): void {
    this.#refusedText = text;
  }

  /** Sets the clocks of the brokers that lead the topic ahead. */
  setClockAhead(topic: string, aheadMs: number): void {
    this.#aheadMs.set(topic, aheadMs);
  }

  /** Appends a record without a transaction. */
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

  /** Fences every earlier producer of the id, even if its transaction is still ending. */
  initialise(transactionalId: string, timeoutMs = TRANSACTION_TIMEOUT_MS): { producerId: number; epoch: number } {
    this.coordinators.check(transactionalId);
    const producer = this.#producers.get(transactionalId) ?? {
      producerId: this.#producers.size,
      epoch: -1,
      timeoutMs,
      running: null,
      ended: null,
      batches: new Map<SimulatedLog, KnownBatch[]>(),
    };
    this.#producers.set(transactionalId, producer);
    if (producer.running !== null) {
      if (producer.running.transaction.outcome === null) {
        this.#fence(producer);
        this.#end(producer, producer.running, 'aborted');
      }
      throw brokerError('CONCURRENT_TRANSACTIONS');
    }
    this.#fence(producer);
    producer.timeoutMs = timeoutMs;
    return producer;
  }

  /** Fences the id's producer as another producer does, whose first attempt aborts an open transaction. */
  fence(transactionalId: string): void {
    try {
      this.initialise(transactionalId);
    } catch {
      // A transaction was open; its producer is fenced all the same.
    }
  }

  /** Null: the id was never initialised. */
  producerIdOf(transactionalId: string): number | null {
    return this.#producers.get(transactionalId)?.producerId ?? null;
  }

  /** Whether the id has no transaction that is open or ending. */
  isIdle(transactionalId: string): boolean {
    return this.#producers.get(transactionalId)?.running === null;
  }

  /** Adds partitions to the open transaction, or begins one. */
  add(id: string, epoch: number, partitions: readonly { topic: string; partition: number }[]): void {
    const logs = partitions.map(({ partition, topic }) => this.log(topic, partition));
    this.coordinators.check(id);
    const running = this.#runningOf(id, epoch);
    for (const log of logs) running.logs.add(log);
  }

  /** Writes a batch to a partition of the transaction. @throws BrokerError, sometimes although the batch is written */
  produce(id: string, to: { topic: string; partition: number }, batch: ProducedBatch): BatchPlace {
    const log = this.log(to.topic, to.partition);
    const producer = this.#checked(id, batch.epoch);
    const known = producer.batches.get(log) ?? [];
    const next = known.at(-1);
    const expected = next === undefined ? 0 : next.firstSequence + next.count;
    if (batch.firstSequence < expected) {
      const again = known.find(({ count, firstSequence }) => {
        return firstSequence === batch.firstSequence && count === batch.records.length;
      });
      if (again === undefined) throw brokerError('DUPLICATE_SEQUENCE_NUMBER');
      return again.at;
    }
    if (batch.firstSequence > expected) throw brokerError('OUT_OF_ORDER_SEQUENCE_NUMBER');
    const { running } = producer;
    if (running?.transaction.outcome !== null || !running.logs.has(log)) throw brokerError('INVALID_TXN_STATE');
    const at = this.#write(to, batch.records, running.transaction);
    const written = { firstSequence: batch.firstSequence, count: batch.records.length, at };
    producer.batches.set(log, [...known, written].slice(-KNOWN_BATCHES));
    if (this.#isUnsure()) throw brokerError('NOT_ENOUGH_REPLICAS_AFTER_APPEND');
    return at;
  }

  /** @throws BrokerError, sometimes although the outcome is decided */
  end(id: string, epoch: number, outcome: 'committed' | 'aborted'): void {
    this.coordinators.check(id);
    const producer = this.#checked(id, epoch);
    const { ended, running } = producer;
    if (running === null) {
      if (ended?.epoch === epoch && ended.outcome === outcome) return;
      throw brokerError('INVALID_TXN_STATE');
    }
    if (running.transaction.outcome !== null) throw brokerError('CONCURRENT_TRANSACTIONS');
    if (outcome === 'committed') this.coordinators.committed(id);
    this.#end(producer, running, outcome);
    if (this.#isUnsure()) throw brokerError('GROUP_COORDINATOR_NOT_AVAILABLE');
  }

  #write(
    to: { topic: string; partition: number },
    records: readonly NewRecord[],
    transaction: BrokerTransaction,
  ): BatchPlace {
    const log = this.log(to.topic, to.partition);
    const { maxMessageBytes, timestampType } = this.config(to.topic);
    if (batchBytes(records) > maxMessageBytes) throw brokerError('MESSAGE_TOO_LARGE');
    const refused = this.#refusedText;
    if (refused !== null && records.some(({ value }) => value?.includes(refused) === true))
      throw brokerError('INVALID_RECORD');
    const nowMs = this.#time.nowMs + (this.#aheadMs.get(to.topic) ?? 0);
    const isCreateTime = timestampType === 'CreateTime';
    if (isCreateTime && records.some(({ timestampMs }) => timestampMs > nowMs + AHEAD_MS_MAX))
      throw brokerError('INVALID_TIMESTAMP');
    const written = isCreateTime ? {} : { timestampMs: nowMs };
    const [first = 0] = records.map((record) => log.append({ ...record, ...written }, nowMs, transaction));
    return { firstOffset: first, timestampMs: isCreateTime ? NO_TIME : nowMs };
  }

  #isUnsure(): boolean {
    return this.#lateMarkerShare > 0 && this.#draws.chance(UNSURE_SHARE);
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

  #fence(producer: Coordinated): void {
    producer.epoch += 1;
    producer.batches.clear();
  }

  #runningOf(id: string, epoch: number): Running {
    const producer = this.#checked(id, epoch);
    if (producer.running === null) {
      const transaction: BrokerTransaction = { transactionalId: id, epoch, outcome: null };
      const running: Running = { transaction, logs: new Set(), timeout: { cancel: () => undefined } };
      producer.running = running;
      running.timeout = this.coordinators.after(producer.timeoutMs, id, () => {
        this.#fence(producer);
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
      if (left > 0) return;
      producer.running = null;
      producer.ended = running.transaction;
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

export function brokerTopic(definition: TopicDefinition): [string, number, TopicConfig] {
  const { cleanupPolicy, maxMessageBytes, partitions, segments, timestampType, topic } = definition;
  const deleteRetentionMs = cleanupPolicy === 'compact' ? Number(segments['delete.retention.ms']) : null;
  return [topic, partitions, { maxMessageBytes, timestampType, deleteRetentionMs }];
}
