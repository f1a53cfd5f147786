/**
 * This process as a member of the consumer group: subscription, assignment, heartbeats, batches.
 *
 *   start    connects and joins. From then on it passes assignments and batches to the handlers, batches even during a rebalance.
 *            If it cannot connect, it closes the client and may be called again
 *   retire   asks the group to give its lanes to others; until that is done, everything continues
 *   stop     leaves the group, even during a join; bounded
 *
 * Handlers only pass data on, because kafkajs waits for all of a broker's batches, and a rebalance waits for all handlers. No
 * exception leaves a handler of batches or assignments: a TypeError would stop kafkajs for good. We never use the group's positions. At
 * every join kafkajs rewinds to the committed offsets; then the lanes seek to their own.
 */
import type { Batch, Consumer, KafkaMessage } from 'kafkajs';
import type { Clock } from 'payment-processor-contract/clock';
import { disconnectWithin } from 'payment-processor-contract/kafka/disconnecting';
import {
  CONSUMER_METADATA_MS_MAX,
  CONSUMER_RETRY,
  createKafka,
  PATIENT_RETRY,
  type KafkaSettings,
} from 'payment-processor-contract/kafka/kafka-client';
import type { KafkaLog } from 'payment-processor-contract/kafka/kafka-log';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { laneAssigner } from './assigner.ts';
import { registerCompressionCodecs } from 'payment-processor-contract/kafka/compression-codecs';
import type { AsideAnnouncer, MemberNote } from './member-note.ts';

export interface FetchedBatch {
  readonly topic: string;
  readonly lane: number;
  readonly messages: readonly KafkaMessage[];
  /** The requested offset; the broker had nothing between it and the first message. */
  readonly fetchedOffset: bigint;
  /** Last offset that the batch covers, control records included. */
  readonly lastOffset: bigint;
  /** Leader epoch of the record at `lastOffset`; -1: it has none. */
  readonly leaderEpoch: number;
  readonly highWatermark: bigint;
}

/** Records that readers never get. */
export type FilteredRecords = Omit<FetchedBatch, 'messages' | 'highWatermark'>;

/** Next offset to read in a lane's partition. */
export interface GroupOffset {
  readonly topic: string;
  readonly lane: number;
  readonly offset: bigint;
}

/** What the lane did with a batch: took it; does not want it now, so the partition pauses; or seeks another offset. */
export type BatchReply = 'taken' | 'not-now' | 'seeking';

export interface MemberHandlers {
  /**
   * @param isNewMember at the first join, and after the group had expelled this process or kafkajs had restarted the
   *   consumer: another process may have owned its lanes since
   */
  assigned(lanes: readonly number[], isNewMember: boolean): void;
  batch(batch: FetchedBatch): BatchReply;
  /** A fetch with nothing but aborted or control records moved the position past them. */
  filtered(filtered: FilteredRecords): void;
  /** kafkajs restarts by itself; reported to explain why nothing proceeds. */
  restarted(error: Error): void;
  /** kafkajs gave up: the process must exit and be restarted. */
  crashed(error: Error): void;
}

export interface MemberOptions {
  readonly settings: KafkaSettings;
  readonly groupId: string;
  readonly clientId: string;
  readonly topics: readonly string[];
  readonly laneCount: number;
  /** Address of this process's HTTP endpoints, read at each join; null: it announces none. */
  readonly address: () => string | null;
  readonly standing: AsideAnnouncer;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly clock: Clock;
  readonly log: KafkaLog;
  readonly handlers: MemberHandlers;
}

/** Longest wait of a fetch while something is paused: a fetch delays the next seek or resume, and we expect one soon. */
const FETCH_WAIT_MS = 100;
/** Longest wait while nothing is paused. It also delays heartbeats, and so the notice of a rebalance, but by one interval at most. */
const UNPAUSED_FETCH_WAIT_MS = 1_000;
/**
 * Pause between two fetches, per lane of this process. A fetch ends as soon as a record arrives, and its cost grows
 * with its partitions. So up to 50 lanes, fetches take the same share of a CPU.
 */
const FETCH_INTERVAL_PER_LANE_MS = 1;
const FETCH_INTERVAL_MAX_MS = 50;
/** Bytes of one partition in a fetch: nothing else bounds the messages of a batch. */
const FETCH_BYTES_MAX = 256 * 1024;
/** Bytes of a whole fetch, about 5,000 small commands: kafkajs decodes it in one turn of the event loop. */
const FETCH_TOTAL_BYTES_MAX = 1024 * 1024;
/** How long the group waits for members to rejoin; handlers return at once, so a live member needs no more. */
const REBALANCE_TIMEOUT_MS = 10_000;
/** Time for the new assignment, after the others rejoined at their next heartbeats. Twice what a quiet machine needs. */
const RETIRE_BEYOND_HEARTBEAT_MS = 2_000;
const RETIRE_MS_MAX = 5_000;
/** A join under way ends once the other members notice it, at their next heartbeats; only then can we leave. */
const STOP_DEADLINE_MS = 8_000;

/** One moment by both clocks. */
interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

const NEVER: Moment = { wallMs: -Infinity, monotonicMs: -Infinity };

export class GroupMember {
  readonly #options: MemberOptions;
  /** From the last attempt to start; null before the first, and after a failed one. */
  #consumer: Consumer | null = null;
  #lanes: readonly number[] = [];
  /** By topic and lane. */
  readonly #paused = new Set<string>();
  #memberId: string | null = null;
  /** When we sent the request whose answer last confirmed our membership. */
  #confirmedSentAt = NEVER;
  #lastRequestSentAt = NEVER;
  #isStopped = false;
  /** The current or the last join announced that this process leaves. */
  #hasAnnouncedLeaving = false;
  /** Resolved by the assignment of the first join that announced the leave; null: this process stays. */
  #retirement: PromiseWithResolvers<undefined> | null = null;

  constructor(options: MemberOptions) {
    registerCompressionCodecs();
    this.#options = options;
  }

  #makeConsumer(): Consumer {
    const options = this.#options;
    return createKafka(options.settings, options.clientId, { retry: PATIENT_RETRY, log: options.log }).consumer({
      groupId: options.groupId,
      partitionAssigners: [laneAssigner(options.laneCount, () => this.#announcement())],
      sessionTimeout: options.sessionTimeoutMs,
      heartbeatInterval: options.heartbeatIntervalMs,
      rebalanceTimeout: REBALANCE_TIMEOUT_MS,
      maxWaitTimeInMs: () => this.#fetchWaitMs(),
      maxBytesPerPartition: FETCH_BYTES_MAX,
      maxBytes: FETCH_TOTAL_BYTES_MAX,
      readUncommitted: false,
      // Otherwise the broker could recreate a deleted topic, empty and with the cluster's defaults.
      allowAutoTopicCreation: false,
      metadataMaxAge: CONSUMER_METADATA_MS_MAX,
      retry: CONSUMER_RETRY,
    });
  }

  /** Resolves after the first attempt to join; kafkajs tries again by itself. Rejects if Kafka refuses or is silent. */
  async start(): Promise<void> {
    const { handlers, topics, log } = this.#options;
    const consumer = this.#makeConsumer();
    this.#consumer = consumer;
    consumer.on(consumer.events.REQUEST, ({ payload }) => {
      // kafkajs stamps an answer when it reads it. A process that was frozen would mistake an old heartbeat for a fresh one.
      if (payload.apiName !== 'Heartbeat' && payload.apiName !== 'SyncGroup') return;
      // Its duration is monotonic: somebody may have set the wall clock since.
      const monotonicMs = this.#options.clock.monotonicMs() - payload.duration;
      this.#lastRequestSentAt = { wallMs: payload.sentAt, monotonicMs };
    });
    consumer.on(consumer.events.HEARTBEAT, () => {
      this.#recordConfirmation();
      if (this.#retirement === null && this.#options.standing.shouldRejoin()) consumer.rejoin();
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      this.#recordConfirmation();
      this.#lanes = payload.memberAssignment[topics[0] ?? ''] ?? [];
      consumer.pause(topics.map((topic) => ({ topic, partitions: [...this.#lanes] })));
      this.#paused.clear();
      for (const topic of topics) for (const lane of this.#lanes) this.#paused.add(inputName(topic, lane));
      // A member that missed a generation returns under another id.
      const isNewMember = payload.memberId !== this.#memberId;
      this.#memberId = payload.memberId;
      this.#guard('assigned', () => handlers.assigned(this.#lanes, isNewMember));
      if (this.#hasAnnouncedLeaving) this.#retirement?.resolve(undefined);
    });
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload }) => {
      if (payload.batchSize > 0) return;
      this.#guard('filtered', () =>
        handlers.filtered({
          topic: payload.topic,
          lane: payload.partition,
          fetchedOffset: BigInt(payload.fetchedOffset),
          lastOffset: BigInt(payload.lastOffset),
          leaderEpoch: payload.leaderEpoch,
        }),
      );
    });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      log({
        // kafkajs restarts by itself: nobody has to act.
        level: payload.restart ? 'warn' : 'error',
        message: payload.restart ? 'the consumer crashed; kafkajs restarts it' : 'the consumer crashed',
        fields: { problem: payload.error.message, restarts: payload.restart },
      });
      if (payload.restart) handlers.restarted(payload.error);
      else handlers.crashed(payload.error);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    } catch (error) {
      this.#consumer = null;
      await disconnectWithin(consumer, STOP_DEADLINE_MS);
      throw error;
    }
    // Stopped meanwhile: a member that joins now would never leave.
    if (this.#isStopped) return this.stop();
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      fetchWhileJoining: true,
      fetchIntervalMs: () => Math.min(FETCH_INTERVAL_PER_LANE_MS * this.#lanes.length, FETCH_INTERVAL_MAX_MS),
      eachBatch: async (payload) => {
        const reply = this.#handOver(payload.batch);
        if (reply === 'taken') payload.resolveOffset(payload.batch.lastOffset());
        else if (reply === 'not-now') {
          payload.pause();
          this.#paused.add(inputName(payload.batch.topic, payload.batch.partition));
        }
      },
    });
  }

  /** Both clocks must agree: somebody may set one, and the other stands still while the machine sleeps. */
  isConfirmedWithinMs(limitMs: number): boolean {
    const { clock } = this.#options;
    return (
      clock.nowMs() - this.#confirmedSentAt.wallMs < limitMs &&
      clock.monotonicMs() - this.#confirmedSentAt.monotonicMs < limitMs
    );
  }

  /** Whether a heartbeat or join sent after this time (monotonic) succeeded: then we are still a member. */
  isConfirmedSinceMs(monotonicMs: number): boolean {
    return this.#confirmedSentAt.monotonicMs > monotonicMs;
  }

  seek(topic: string, lane: number, offset: bigint): void {
    this.#guard('seek', () => this.#consumer?.seek({ topic, partition: lane, offset: offset.toString() }));
  }

  resume(topic: string, lane: number): void {
    this.#guard('resume', () => {
      this.#consumer?.resume([{ topic, partitions: [lane] }]);
      this.#paused.delete(inputName(topic, lane));
    });
  }

  /** @throws before `start`, or if the group does not accept them: between two generations, or without a coordinator */
  async commitOffsets(offsets: readonly GroupOffset[]): Promise<void> {
    if (this.#consumer === null) throw new Error('this process has not joined the group yet');
    await this.#consumer.commitOffsets(
      offsets.map(({ lane, offset, topic }) => ({ topic, partition: lane, offset: offset.toString() })),
    );
  }

  /**
   * Call it once.
   * @returns once the group has reassigned its lanes, even if back to this process; at once if it never joined. Bounded
   */
  async retire(): Promise<void> {
    const consumer = this.#consumer;
    if (consumer === null || this.#memberId === null) return;
    const limitMs = Math.min(this.#options.heartbeatIntervalMs + RETIRE_BEYOND_HEARTBEAT_MS, RETIRE_MS_MAX);
    this.#retirement = Promise.withResolvers<undefined>();
    consumer.rejoin();
    await settledWithin(this.#retirement.promise, limitMs);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#consumer !== null) await disconnectWithin(this.#consumer, STOP_DEADLINE_MS);
  }

  #fetchWaitMs(): number {
    const unpausedMs = Math.min(UNPAUSED_FETCH_WAIT_MS, this.#options.heartbeatIntervalMs);
    return this.#paused.size > 0 || this.#lanes.length === 0 ? FETCH_WAIT_MS : Math.max(unpausedMs, FETCH_WAIT_MS);
  }

  #announcement(): MemberNote {
    const { address, standing } = this.#options;
    const isLeaving = this.#retirement !== null;
    this.#hasAnnouncedLeaving = isLeaving;
    return { lanes: this.#lanes, address: address(), isLeaving, isUnserved: standing.announce() };
  }

  #recordConfirmation(): void {
    this.#confirmedSentAt = this.#lastRequestSentAt;
  }

  #handOver(batch: Batch): BatchReply {
    let reply: BatchReply = 'not-now';
    this.#guard('batch', () => {
      reply = this.#options.handlers.batch({
        topic: batch.topic,
        lane: batch.partition,
        messages: batch.messages,
        fetchedOffset: BigInt(batch.fetchedOffset),
        lastOffset: BigInt(batch.lastOffset()),
        leaderEpoch: batch.leaderEpoch(),
        highWatermark: BigInt(batch.highWatermark),
      });
    });
    return reply;
  }

  #guard(what: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.log({
        level: 'error',
        message: 'a handler of the group member failed: a bug',
        fields: { what, problem: String(error) },
      });
    }
  }
}

function inputName(topic: string, lane: number): string {
  return `${topic}/${lane}`;
}
