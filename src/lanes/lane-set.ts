/**
 * All lanes of this process, and what they share: the group member, the ledger's reader and index, the calls.
 *
 *   start   reader; the ledger read to its end, while others serve the lanes; member; lanes open as the group assigns them
 *   stop    the group gives the lanes to others, while they are served on here; lanes released in order (calls end, answers are
 *           committed), then the group is left; bounded
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { PaymentApi } from '../api/payment-api.ts';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { GroupMember } from '../consumers/group-member.ts';
import { clientIdOf, groupProcess, processName, type GroupProcess } from '../consumers/group-processes.ts';
import { MessageFailures } from '../consumers/message-failures.ts';
import { OffsetReports } from '../consumers/offset-reports.ts';
import type { PartitionOffsets } from '../consumers/partition-offsets.ts';
import { TopicOffsets } from '../consumers/topic-offsets.ts';
import { withoutRepeats, type KafkaLog } from '../producers/kafka-log.ts';
import { TransactionalProducer } from '../producers/transactional-producer.ts';
import { deletionsKeptMs } from '../producers/topic-definitions.ts';
import type { RecordRegistry } from '../records/registry.ts';
import { Repeats } from '../repeats.ts';
import type { PollerReports, StatusPoller } from '../status/poller/poller.ts';
import { decodeTransactionState, recordRestingSinceMs } from '../status/transaction-state.ts';
import { LedgerReader } from '../store/ledger-reader.ts';
import { LedgerRestore } from '../store/ledger-restore.ts';
import { openLedgerStore } from '../store/ledger-start.ts';
import { commandView, type CommandView } from '../store/command-view.ts';
import { ledgerStatus, type LedgerStatus } from '../store/ledger-view.ts';
import { LmdbLedgerIndex } from '../store/lmdb-ledger-index.ts';
import { Calls } from './calls.ts';
import type { CommandTraces } from './command-traces.ts';
import { Committer } from './committer.ts';
import { InputWatch, type WatchedReader } from './input-watch.ts';
import { Lane } from './lane.ts';
import { inputTopicsOf, laneSettings, type LaneSettings } from './lane-settings.ts';
import type { LaneSetStatus } from './lane-status.ts';
import { LookUps } from './look-ups.ts';
import type { LaneParts } from './parts.ts';
import { lanePoller, POLLER_LANE } from './poller-link.ts';
import type { LaneReports } from './reports.ts';
import { warmedUp } from './warm-up.ts';

export interface LaneSetOptions {
  readonly config: Config;
  readonly api: PaymentApi;
  readonly registry: RecordRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly reports: LaneReports & { readonly poll: PollerReports };
  readonly traces: CommandTraces;
  /** The process must end: going on would be of no use. */
  readonly onFatal: (error: Error) => void;
  /** Where this process's HTTP endpoints are, for the other members; left out or null: they are not told. */
  readonly address?: () => string | null;
  /** In place of a store of its own under STATE_DIR. */
  readonly index?: LmdbLedgerIndex;
}

export class LaneSet {
  readonly #options: LaneSetOptions;
  readonly #settings: LaneSettings;
  readonly #processId = randomUUID();
  readonly #clientId: string;
  readonly #index: LmdbLedgerIndex;
  readonly #restore: LedgerRestore;
  readonly #offsets: TopicOffsets;
  readonly #poller: StatusPoller;
  readonly #reader: LedgerReader;
  readonly #member: GroupMember;
  readonly #calls: Calls;
  /** Made of all the others; what those have for a lane comes only once they are started. */
  readonly #lanes: Lane[] = [];
  readonly #watch: InputWatch;
  readonly #committer: Committer;
  readonly #offsetReports: OffsetReports;
  #ledgerTopicId: string | null = null;
  #assigned: readonly number[] | null = null;
  /** The ledger is read before the group is joined. */
  #isWarmingUp = false;
  #isRetiring = false;
  #isStopping = false;

  constructor(options: LaneSetOptions) {
    const { api, clock, config, log, onFatal, registry, reports, traces } = options;
    const settings = laneSettings(config);
    const { laneCount, topics } = settings;
    const groupId = config.KAFKA_GROUP_ID;
    const clientId = clientIdOf(groupId, this.#processId);
    const inputTopics = inputTopicsOf(settings);
    const kafkaLog: KafkaLog = withoutRepeats(
      ({ level, message, fields }) => log[level]({ event: 'kafka-client', ...fields }, message),
      () => clock.monotonicMs(),
    );
    const consumer = {
      settings: config,
      groupId,
      laneCount,
      sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
      heartbeatIntervalMs: config.KAFKA_HEARTBEAT_INTERVAL_MS,
      clock,
      log: kafkaLog,
    };
    this.#options = options;
    this.#settings = settings;
    this.#clientId = clientId;
    this.#index =
      options.index ??
      new LmdbLedgerIndex({
        stateDirectory: config.STATE_DIR,
        laneCount,
        restingSince: recordRestingSinceMs,
        nowMs: () => clock.nowMs(),
        onFatal,
      });
    this.#restore = new LedgerRestore(clock);
    this.#offsets = new TopicOffsets(config, { groupId, clientId: `${clientId}-offsets`, clock, log: kafkaLog });
    this.#poller = lanePoller({
      config,
      laneSettings: settings,
      processId: this.#processId,
      index: this.#index,
      api,
      clock,
      log,
      reports: reports.poll,
      submit: (records) => this.#laneOf(POLLER_LANE).submit(records),
    });
    this.#committer = new Committer({
      groupId,
      makeProducer: (transactionalId) =>
        new TransactionalProducer(config, {
          transactionalId,
          clientId: `${clientId}-ledger-writer`,
          compressedTopics: new Set([topics.ledger, topics.observations]),
          // Retries are part of every transaction; what is lost by one that fails, the lanes say themselves.
          log: ({ message, fields }) => log.debug({ event: 'kafka-client', ...fields }, message),
        }),
      clock,
    });
    this.#reader = new LedgerReader({
      ...consumer,
      clientId: `${clientId}-ledger`,
      topic: topics.ledger,
      index: this.#index,
      isOpen: (lane) => this.#lanes[lane]?.stage() === 'open',
      onCommitApplied: (lane, token, commit) => this.#lanes[lane]?.commitApplied(token, commit),
      onPosition: (lane, nextOffset) => this.#restore.reached(lane, nextOffset),
      onTransactionState: (value) => this.#poller.stateChanged(() => decodeTransactionState(value)),
      onFatal,
    });
    this.#member = new GroupMember({
      ...consumer,
      clientId,
      topics: inputTopics,
      address: options.address ?? (() => null),
      handlers: {
        assigned: (lanes, isNewMember) => this.#assign(lanes, isNewMember),
        batch: (batch) => this.#lanes[batch.lane]?.offer(batch) ?? 'not-now',
        filtered: (topic, lane, firstOffset, lastOffset) => this.#lanes[lane]?.filtered(topic, firstOffset, lastOffset),
        crashed: onFatal,
      },
    });
    this.#calls = new Calls({
      api,
      slots: config.API_MAX_CONCURRENCY,
      isConfirmed: () => this.#isConfirmed(),
      clock,
      traces,
      ratePerSecond: () => ((config.API_MAX_RPS ?? Infinity) * Math.max(1, this.#assigned?.length ?? 0)) / laneCount,
    });
    const shared: Omit<LaneParts, 'lane' | 'failures'> = {
      ...settings,
      repeats: new Repeats(() => clock.monotonicMs()),
      processId: this.#processId,
      intake: { registry, laneCount, maxAgeMs: config.COMMAND_MAX_AGE },
      writer: { registry, topics, topicPrefix: config.TOPIC_PREFIX },
      index: this.#index,
      reader: this.#reader,
      calls: this.#calls,
      lookUps: new LookUps({ listTransactions: (filter) => this.#poller.listAside(filter) }, clock),
      clock,
      log,
      reports,
      traces,
      groupId,
      committer: this.#committer,
      member: this.#member,
      offsets: this.#offsets,
      isMember: async (processId) =>
        (await this.groupMembers()).some(({ process }) => process === processName(processId)),
      ledgerTopicId: () => this.#ledgerTopicId,
      isConfirmed: () => this.#isConfirmed(),
      onStageChange: () => this.#stageChanged(),
      onMoved: (positions) => this.#offsetReports.moved(positions),
    };
    for (let lane = 0; lane < laneCount; lane += 1) {
      this.#lanes.push(new Lane({ ...shared, lane, failures: new MessageFailures() }));
    }
    this.#offsetReports = new OffsetReports({
      positions: () => (this.#assigned ?? []).flatMap((lane) => this.#laneOf(lane).committedOffsets()),
      commit: (offsets) => this.#member.commitOffsets(offsets),
    });
    this.#watch = new InputWatch({
      topics: [...inputTopics, topics.ledger],
      readers: this.#lanes.flatMap((lane, number) => [
        { lane: number, reading: (topic) => lane.reading(topic), stop: (reason) => void lane.stopInOrder(reason) },
        this.#ledgerReading(number),
      ]),
      boundsOf: (topic) => this.#offsets.bounds(topic),
      clock,
      log,
    });
  }

  /** Rejects when Kafka cannot be reached; lanes open later, as they are assigned. */
  async start(): Promise<void> {
    const { clock, config, log } = this.#options;
    const { laneCount, topics } = this.#settings;
    this.#restore.began();
    const { awayMsMax, ends, topicId } = await openLedgerStore({
      settings: config,
      clientId: `${this.#clientId}-ledger`,
      topic: topics.ledger,
      laneCount,
      index: this.#index,
      deletionsKeptMs: deletionsKeptMs(config),
      clock,
      log,
    });
    this.#ledgerTopicId = topicId;
    this.#restore.await(ends);
    if (this.#isStopping) return;
    this.#watch.start();
    await this.#reader.start(awayMsMax);
    this.#isWarmingUp = true;
    await warmedUp({
      tries: [
        this.#committer.writer().open(),
        ...inputTopicsOf(this.#settings).map((topic) => this.#offsets.startOf(topic, 0)),
      ],
      isRead: () => this.#restore.status()?.isUnderWay !== true,
      isServedByOthers: async () => (await this.groupMembers()).length > 0,
      isOver: () => this.#isOver(),
      clock,
    });
    this.#isWarmingUp = false;
    if (this.#isOver()) return;
    await this.#member.start();
    this.#offsetReports.start();
  }

  async stop(): Promise<void> {
    this.#isRetiring = true;
    await this.#member.retire();
    this.#isStopping = true;
    this.#watch.stop();
    this.#offsetReports.stop();
    await Promise.all(this.#lanes.map((lane) => lane.release()));
    await this.#committer.close();
    await this.#offsetReports.tell();
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
    return {
      processId: this.#processId,
      assigned: this.#assigned,
      isWarmingUp: this.#isWarmingUp,
      isGroupConfirmed: this.#isConfirmed(),
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

  /** What the ledger says of one command, of whichever lane. */
  command(key: string): CommandView {
    return commandView({ laneCount: this.#lanes.length, index: this.#index, reader: this.#reader }, key);
  }

  /** Asked after a wait: it may have been stopped meanwhile. */
  #isOver(): boolean {
    return this.#isStopping;
  }

  #assign(lanes: readonly number[], isNewMember: boolean): void {
    if (this.#isStopping) return;
    const before = this.#assigned ?? [];
    this.#assigned = lanes;
    this.#options.log.info({ event: 'lanes-assigned', lanes });
    for (const lane of before) if (!lanes.includes(lane)) void this.#laneOf(lane).revoked();
    for (const lane of lanes) if (!this.#isRetiring || before.includes(lane)) this.#laneOf(lane).assigned(isNewMember);
  }

  /** The group still counted this process in, less than a session time-out ago. */
  #isConfirmed(): boolean {
    return this.#member.isConfirmedWithinMs(this.#settings.sessionTimeoutMs);
  }

  #stageChanged(): void {
    this.#calls.setOpenLanes(this.#lanes.filter((lane) => lane.stage() === 'open').length);
    this.#poller.laneOpen(this.#laneOf(POLLER_LANE).stage() === 'open');
  }

  /** The lane's part of the ledger, as this process reads it. */
  #ledgerReading(lane: number): WatchedReader {
    const { topics } = this.#settings;
    return {
      lane,
      reading: (topic) =>
        topic === topics.ledger
          ? { offset: this.#reader.position(lane), boundId: this.#ledgerTopicId ?? undefined }
          : null,
      // It remembers another ledger than the one that lanes commit to.
      stop: (reason) => this.#options.onFatal(new Error(`the ledger cannot be read on: ${reason}`)),
    };
  }

  #laneOf(number: number): Lane {
    const lane = this.#lanes[number];
    if (lane === undefined) throw new Error(`lane ${number} is not one of ${this.#lanes.length}`);
    return lane;
  }
}
