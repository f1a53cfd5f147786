/**
 * All lanes of this process, and what they share: the group member, the ledger's reader and index, the calls.
 *
 *   start   reader, offsets, member; lanes open as the group assigns them
 *   stop    lanes released in order (calls end, answers are committed), then the group is left; bounded
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { PaymentApi } from '../api/payment-api.ts';
import type { Clock } from '../clock.ts';
import { API_TIMEOUT_MAX_MS, SESSION_TIMEOUT_MAX_MS, type Config } from '../config.ts';
import { GroupMember } from '../consumers/group-member.ts';
import { clientIdOf, groupProcess, type GroupProcess } from '../consumers/group-processes.ts';
import { MessageFailures } from '../consumers/message-failures.ts';
import type { PartitionOffsets } from '../consumers/partition-offsets.ts';
import { TopicOffsets } from '../consumers/topic-offsets.ts';
import type { LedgerPolicy } from '../ledger/settlement.ts';
import type { KafkaLog } from '../producers/kafka-log.ts';
import { LaneProducer } from '../producers/lane-producer.ts';
import type { ResultWriter } from '../producers/result-events.ts';
import { deletionsKeptMs } from '../producers/topic-definitions.ts';
import { COMMAND_TYPES, type CommandType } from '../records/commands.ts';
import type { RecordRegistry } from '../records/registry.ts';
import { topicNames } from '../records/topics.ts';
import { StatusPoller, type PollerReports } from '../status/poller/poller.ts';
import { decodeTransactionState, recordRestingSinceMs } from '../status/transaction-state.ts';
import { LedgerReader } from '../store/ledger-reader.ts';
import { LedgerRestore } from '../store/ledger-restore.ts';
import { openLedgerStore, type OpenedLedger } from '../store/ledger-start.ts';
import { ledgerStatus, type LedgerStatus } from '../store/ledger-view.ts';
import { LmdbLedgerIndex } from '../store/lmdb-ledger-index.ts';
import { Calls } from './calls.ts';
import type { CommandTraces } from './command-traces.ts';
import { InputWatch, type WatchedReader } from './input-watch.ts';
import { Lane } from './lane.ts';
import { LookUps } from './look-ups.ts';
import type { DeskReports } from './outcomes.ts';
import type { LaneParts, LaneReports, LaneStatus } from './parts.ts';
import { POLLER_LANE, pollerPort } from './poller-link.ts';

export interface LaneSetOptions {
  readonly config: Config;
  readonly api: PaymentApi;
  readonly registry: RecordRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly reports: DeskReports & LaneReports & { readonly poll: PollerReports };
  readonly traces: CommandTraces;
  /** The process must end: going on would be of no use. */
  readonly onFatal: (error: Error) => void;
  /** In place of a store of its own under STATE_DIR. */
  readonly index?: LmdbLedgerIndex;
}

export interface LaneSetStatus {
  readonly processId: string;
  /** Null until the group has assigned lanes, none perhaps. */
  readonly assigned: readonly number[] | null;
  readonly isGroupConfirmed: boolean;
  readonly lanes: ReadonlyMap<number, LaneStatus>;
  readonly callsRunning: number;
  readonly keysRemembered: number;
}

export class LaneSet {
  readonly #options: LaneSetOptions;
  readonly #processId = randomUUID();
  readonly #lanes: Lane[];
  readonly #member: GroupMember;
  readonly #reader: LedgerReader;
  readonly #offsets: TopicOffsets;
  readonly #index: LmdbLedgerIndex;
  readonly #restore: LedgerRestore;
  readonly #openStore: () => Promise<OpenedLedger>;
  readonly #calls: Calls;
  readonly #poller: StatusPoller;
  readonly #watch: InputWatch;
  #ledgerTopicId: string | null = null;
  #assigned: readonly number[] | null = null;
  #isStopping = false;

  constructor(options: LaneSetOptions) {
    this.#options = options;
    const { api, clock, config, log, registry } = options;
    const topics = topicNames(config.TOPIC_PREFIX);
    const commandTypes = servedCommandTypes(config);
    const inputTopics = [
      ...commandTypes.map((type) => topics.commands[type]),
      topics.operatorDecisions,
      topics.observations,
    ];
    const clientId = clientIdOf(config.KAFKA_GROUP_ID, this.#processId);
    const kafkaLog: KafkaLog = ({ level, message, fields }) =>
      log[level]({ event: 'kafka-client', ...fields }, message);
    this.#index =
      options.index ??
      new LmdbLedgerIndex({
        stateDirectory: config.STATE_DIR,
        laneCount: config.LANES,
        restingSince: recordRestingSinceMs,
        nowMs: () => clock.nowMs(),
        onFatal: options.onFatal,
      });
    this.#restore = new LedgerRestore(clock);
    this.#openStore = () =>
      openLedgerStore({
        settings: config,
        clientId: `${clientId}-ledger`,
        topic: topics.ledger,
        laneCount: config.LANES,
        index: this.#index,
        deletionsKeptMs: deletionsKeptMs(config),
        clock,
        log,
      });
    this.#calls = new Calls({
      api,
      slots: config.API_MAX_CONCURRENCY,
      isConfirmed: () => this.#member.isConfirmedWithinMs(config.KAFKA_SESSION_TIMEOUT_MS),
      clock,
      traces: options.traces,
      ratePerSecond: () =>
        config.API_MAX_RPS === null
          ? Infinity
          : (config.API_MAX_RPS * Math.max(1, this.#assigned?.length ?? 0)) / config.LANES,
    });
    this.#offsets = new TopicOffsets(config, {
      groupId: config.KAFKA_GROUP_ID,
      clientId: `${clientId}-offsets`,
      clock,
      log: kafkaLog,
    });
    this.#reader = new LedgerReader({
      settings: config,
      groupId: config.KAFKA_GROUP_ID,
      clientId: `${clientId}-ledger`,
      topic: topics.ledger,
      laneCount: config.LANES,
      sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
      heartbeatIntervalMs: config.KAFKA_HEARTBEAT_INTERVAL_MS,
      index: this.#index,
      clock,
      log: kafkaLog,
      onCommitApplied: (lane, token, commit) => this.#lanes[lane]?.commitApplied(token, commit),
      onPosition: (lane, nextOffset) => this.#restore.reached(lane, nextOffset),
      onTransactionState: (value) => this.#poller.stateChanged(() => decodeTransactionState(value)),
      onFatal: options.onFatal,
    });
    this.#member = new GroupMember({
      settings: config,
      groupId: config.KAFKA_GROUP_ID,
      clientId,
      topics: inputTopics,
      laneCount: config.LANES,
      sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
      heartbeatIntervalMs: config.KAFKA_HEARTBEAT_INTERVAL_MS,
      clock,
      log: kafkaLog,
      handlers: {
        assigned: (lanes, isNewMember) => this.#assign(lanes, isNewMember),
        batch: (batch) => this.#lanes[batch.lane]?.offer(batch) ?? 'not-now',
        filtered: (topic, lane, firstOffset, lastOffset) => this.#lanes[lane]?.filtered(topic, firstOffset, lastOffset),
        crashed: options.onFatal,
      },
    });
    // While the poller still looks at a transaction that ended, its state must be known.
    const transactionRetentionMs = Math.max(config.LEDGER_RETENTION, config.POLL_TERMINAL_FOR);
    this.#poller = new StatusPoller({
      settings: {
        intervalMs: config.POLL_INTERVAL_MS,
        startMs: config.POLL_START,
        terminalForMs: config.POLL_TERMINAL_FOR,
        forgottenAfterMs: transactionRetentionMs,
        callsPerMinuteMax: config.POLL_MAX_CALLS_PER_MINUTE,
      },
      port: pollerPort({
        processId: this.#processId,
        laneCount: config.LANES,
        topics,
        index: this.#index,
        api,
        submit: (records) => this.#laneOf(POLLER_LANE).submit(records),
      }),
      clock,
      reports: {
        ...options.reports.poll,
        began: (startMs, watched) => log.info({ event: 'polling', startMs, watched }),
      },
      onFailure: (error) => log.warn({ event: 'poller-failed', err: error }),
    });
    const writer: ResultWriter = { registry, topics, topicPrefix: config.TOPIC_PREFIX };
    const shared: Omit<LaneParts, 'lane' | 'transactionalId' | 'failures'> = {
      laneCount: config.LANES,
      processId: this.#processId,
      topics,
      commandTypes,
      policy: ledgerPolicy(config),
      sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
      unfinishedMax: config.MAX_UNFINISHED_PER_LANE,
      retention: {
        doneMs: config.LEDGER_RETENTION,
        transactionMs: transactionRetentionMs,
      },
      intake: { registry, laneCount: config.LANES, maxAgeMs: config.COMMAND_MAX_AGE },
      writer,
      index: this.#index,
      reader: this.#reader,
      calls: this.#calls,
      lookUps: new LookUps({ listTransactions: (filter) => this.#poller.listAside(filter) }, clock),
      clock,
      log,
      reports: options.reports,
      traces: options.traces,
      makeProducer: (lane, transactionalId) =>
        new LaneProducer(config, {
          transactionalId,
          groupId: config.KAFKA_GROUP_ID,
          clientId: `${clientId}-lane-${lane}`,
          // Retries are part of every transaction; what is lost by one that fails, the lane says itself.
          log: ({ message, fields }) => log.debug({ event: 'kafka-client', ...fields }, message),
        }),
      seek: (topic, lane, offset) => this.#member.seek(topic, lane, offset),
      resume: (topic, lane) => this.#member.resume(topic, lane),
      topicStart: (topic, lane) => this.#offsets.startOf(topic, lane),
      ledgerTopicId: () => this.#ledgerTopicId,
      isConfirmed: () => this.#member.isConfirmedWithinMs(config.KAFKA_SESSION_TIMEOUT_MS),
      isConfirmedSince: (monotonicMs) => this.#member.isConfirmedSinceMs(monotonicMs),
      onStageChange: () => {
        this.#calls.setOpenLanes(this.#lanes.filter((lane) => lane.stage() === 'open').length);
        this.#poller.laneOpen(this.#laneOf(POLLER_LANE).stage() === 'open');
      },
      onCommit: () => options.reports.committed(),
      onLost: (reason) => options.reports.laneLost(reason),
      onRedelivered: (messages) => options.reports.redelivered(messages),
    };
    this.#lanes = Array.from({ length: config.LANES }, (_, lane) => {
      const transactionalId = `${config.KAFKA_GROUP_ID}-lane-${lane}`;
      return new Lane({ ...shared, lane, transactionalId, failures: new MessageFailures() });
    });
    this.#watch = new InputWatch({
      topics: [...inputTopics, topics.ledger],
      readers: this.#lanes.flatMap((lane, number): WatchedReader[] => [
        { lane: number, reading: (topic) => lane.reading(topic), stop: (reason) => void lane.stopInOrder(reason) },
        {
          lane: number,
          reading: (topic) => (topic === topics.ledger ? this.#readingLedger(number) : null),
          // It remembers another ledger than the one that lanes commit to.
          stop: (reason) => options.onFatal(new Error(`the ledger cannot be read on: ${reason}`)),
        },
      ]),
      boundsOf: (topic) => this.#offsets.bounds(topic),
      clock,
      log,
    });
  }

  /** Rejects when Kafka cannot be reached; lanes open later, as they are assigned. */
  async start(): Promise<void> {
    this.#restore.began();
    const { awayMsMax, ends, topicId } = await this.#openStore();
    this.#ledgerTopicId = topicId;
    this.#restore.await(ends);
    if (this.#isStopping) return;
    this.#watch.start();
    await this.#reader.start(awayMsMax);
    await this.#member.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#watch.stop();
    await Promise.all(this.#lanes.map((lane) => lane.release()));
    await this.#member.stop();
    await Promise.all([this.#reader.stop(), this.#offsets.stop()]);
    await this.#index.close();
    this.#calls.close();
  }

  /** First and next offsets of a topic's partitions, as the broker says. */
  topicEnds(topic: string): Promise<Map<number, PartitionOffsets>> {
    return this.#offsets.ends(topic);
  }

  /** The same up to what is written, whether or not readers may have it yet. */
  highWatermarks(topic: string): Promise<Map<number, bigint>> {
    return this.#offsets.highWatermarks(topic);
  }

  /** The processes of the group, as Kafka knows them. */
  async groupMembers(): Promise<GroupProcess[]> {
    return (await this.#offsets.members()).map(groupProcess);
  }

  /** Where the group stands, by partition: for lanes that are not open here. */
  committedOffsets(topic: string): Promise<Map<number, bigint>> {
    return this.#offsets.committed(topic);
  }

  status(): LaneSetStatus {
    const { config } = this.#options;
    return {
      processId: this.#processId,
      assigned: this.#assigned,
      isGroupConfirmed: this.#member.isConfirmedWithinMs(config.KAFKA_SESSION_TIMEOUT_MS),
      lanes: new Map((this.#assigned ?? []).map((lane) => [lane, this.#laneOf(lane).status()])),
      callsRunning: this.#calls.running(),
      keysRemembered: this.#index.size(),
    };
  }

  /** What the ledger says of all lanes, those of other processes included. */
  ledger(): LedgerStatus {
    return ledgerStatus({
      laneCount: this.#lanes.length,
      index: this.#index,
      reader: this.#reader,
      restore: this.#restore,
    });
  }

  #assign(lanes: readonly number[], isNewMember: boolean): void {
    if (this.#isStopping) return;
    const before = this.#assigned ?? [];
    this.#assigned = lanes;
    this.#options.log.info({ event: 'lanes-assigned', lanes });
    for (const lane of before) if (!lanes.includes(lane)) void this.#laneOf(lane).revoked();
    for (const lane of lanes) this.#laneOf(lane).assigned(isNewMember);
  }

  #readingLedger(lane: number): ReturnType<WatchedReader['reading']> {
    return { offset: this.#reader.position(lane), boundId: this.#ledgerTopicId ?? undefined };
  }

  #laneOf(number: number): Lane {
    const lane = this.#lanes[number];
    if (lane === undefined) throw new Error(`lane ${number} is not one of ${this.#lanes.length}`);
    return lane;
  }
}

/** Simulating payments is served in a sandbox alone. */
export function servedCommandTypes(config: Pick<Config, 'SANDBOX_COMMANDS'>): CommandType[] {
  return COMMAND_TYPES.filter((type) => type !== 'simulate-uma-receive' || config.SANDBOX_COMMANDS);
}

/** The settings that decisions on entries depend on. */
function ledgerPolicy(config: Config): LedgerPolicy {
  return {
    apiTimeoutMs: config.API_TIMEOUT_MS,
    callsEndWithinMs: SESSION_TIMEOUT_MAX_MS + API_TIMEOUT_MAX_MS,
    settlingTimeMs: config.SETTLING_TIME_MS,
    idempotentOperations: new Set(config.API_IDEMPOTENT_OPERATIONS),
    idempotencyRetentionMs: config.API_IDEMPOTENCY_RETENTION,
    immediateExecution: config.IMMEDIATE_EXECUTION,
    commandMaxAgeMs: config.COMMAND_MAX_AGE,
  };
}
