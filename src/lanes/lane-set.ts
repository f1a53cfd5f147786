/**
 * All lanes of this process, and what they share: the group member, the copy of the ledger, the calls.
 *
 *   start   opens the ledger, reads it to its end while others serve the lanes, joins the group; lanes open once assigned.
 *           Retries each step until Kafka answers, no retry can help, or the process is stopped
 *   stop    serves the lanes until the group has given them to others. Then releases the rest: lets calls end and commits
 *           their answers. Leaves the group last. All of it is bounded in time
 */
import type { Logger } from 'pino';
import type { PaymentApi } from '../api/payment-api.ts';
import type { Clock } from 'payment-processor-contract/clock';
import type { Config } from 'payment-processor-contract/config';
import { GroupMember } from '../consumers/group-member.ts';
import { clientIdOf, newProcessId, processName } from '../consumers/group-processes.ts';
import { MessageFailures } from '../consumers/message-failures.ts';
import { OffsetReports } from '../consumers/offset-reports.ts';
import type { TopicOffsets } from '../consumers/topic-offsets.ts';
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { Repeats } from 'payment-processor-contract/repeats';
import type { PollerReports, StatusPoller } from '../status/poller/poller.ts';
import { LedgerCopy } from '../store/ledger-copy.ts';
import type { LmdbLedgerIndex } from '../store/lmdb-ledger-index.ts';
import { Calls } from './calls/calls.ts';
import type { CommandTraces } from './command-traces.ts';
import type { Committer } from './commits/committer.ts';
import type { ForcedJump } from './inputs/forced-jumps.ts';
import { InputWatch } from './inputs/input-watch.ts';
import { Lane } from './lane.ts';
import { laneClients } from './lane-clients.ts';
import { inputTopicsOf, laneSettings, type LaneSettings } from './lane-settings.ts';
import { LaneStart } from './ownership/lane-start.ts';
import type { LaneSetStatus } from './lane-status.ts';
import { LookUps } from './calls/look-ups.ts';
import type { LaneParts } from './parts.ts';
import { lanePoller, POLLER_LANE } from './poller-link.ts';
import type { LaneReports } from './reports.ts';
import { StandingAside } from './ownership/standing-aside.ts';
import type { StartSteps } from './ownership/start-steps.ts';

export interface LaneSetOptions {
  readonly config: Config;
  readonly api: PaymentApi;
  readonly registry: RecordRegistry;
  readonly clock: Clock;
  readonly log: Logger;
  readonly reports: LaneReports & { readonly poll: PollerReports };
  readonly traces: CommandTraces;
  /** Start steps of this process; those of the lanes come last. */
  readonly steps: StartSteps;
  /** The process must end, because it cannot do its work any more. */
  readonly onFatal: (error: Error) => void;
  /** Address of this process's HTTP endpoints, for the other members; absent or null: it announces none. */
  readonly address?: () => string | null;
  /** Replaces the process's own store under STATE_DIR. */
  readonly index?: LmdbLedgerIndex;
}

const REPORT_OFFSETS_MS_MAX = 3_000;

export class LaneSet {
  readonly #options: LaneSetOptions;
  readonly #settings: LaneSettings;
  readonly #processId = newProcessId();
  /** This process's copy of the ledger, all lanes. */
  readonly ledger: LedgerCopy;
  /** The group's offsets and members, and the topics' ends, according to the brokers. */
  readonly offsets: TopicOffsets;
  readonly #poller: StatusPoller;
  readonly #member: GroupMember;
  readonly #standing: StandingAside;
  readonly #calls: Calls;
  /** Constructed after their collaborators, which call back only after start(). */
  readonly #lanes: Lane[] = [];
  readonly #watch: InputWatch;
  readonly #committer: Committer;
  readonly #offsetReports: OffsetReports;
  readonly #start: LaneStart;
  #assigned: readonly number[] | null = null;
  #isRetiring = false;
  #isStopping = false;

  constructor(options: LaneSetOptions) {
    const { api, clock, config, log, onFatal, registry, reports, traces } = options;
    const settings = laneSettings(config);
    const { laneCount, topics } = settings;
    const groupId = config.KAFKA_GROUP_ID;
    const clientId = clientIdOf(groupId, this.#processId);
    const inputTopics = inputTopicsOf(settings);
    const { committer, consumer, offsets } = laneClients(config, settings, { clientId, clock, log });
    this.#options = options;
    this.#settings = settings;
    this.ledger = new LedgerCopy({
      config,
      topics,
      clock,
      log,
      ...(options.index !== undefined && { index: options.index }),
      reader: {
        ...consumer,
        clientId: `${clientId}-ledger`,
        isOpen: (lane) => this.#lanes[lane]?.stage() === 'open',
        onCommitApplied: (lane, position) => this.#lanes[lane]?.commitApplied(position),
        onTransactionState: (value) => this.#poller.stateChanged(value),
        onFatal,
      },
    });
    this.offsets = offsets;
    this.#committer = committer;
    this.#poller = lanePoller({
      config,
      laneSettings: settings,
      processId: this.#processId,
      index: this.ledger.index,
      reader: this.ledger.reader,
      offsets,
      api,
      clock,
      log,
      reports: reports.poll,
      submit: (records) => this.#laneOf(POLLER_LANE).submit(records),
    });
    this.#standing = new StandingAside({
      api,
      unanswered: () => this.#watch.unanswered(),
      sessionTimeoutMs: settings.sessionTimeoutMs,
      clock,
      log,
    });
    this.#member = new GroupMember({
      ...consumer,
      clientId,
      topics: inputTopics,
      address: options.address ?? (() => null),
      standing: this.#standing,
      handlers: {
        assigned: (lanes, isNewMember) => this.#assign(lanes, isNewMember),
        batch: (batch) => this.#lanes[batch.lane]?.offer(batch) ?? 'not-now',
        filtered: (filtered) => this.#lanes[filtered.lane]?.filtered(filtered),
        restarted: (error) => options.steps.failed(error),
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
      index: this.ledger.index,
      reader: this.ledger.reader,
      calls: this.#calls,
      lookUps: new LookUps({ listTransactions: (filter) => this.#poller.listAside(filter) }, clock),
      clock,
      log,
      reports,
      traces,
      groupId,
      committer: this.#committer,
      member: this.#member,
      offsets,
      isMember: async (processId) =>
        (await offsets.members()).some(({ process }) => process === processName(processId)),
      ledgerTopicId: () => this.ledger.topicId(),
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
    // Fatal, because the index no longer describes the ledger that the lanes commit to.
    const ledgerJumped = ({ found }: ForcedJump): void =>
      onFatal(
        new Error(
          `the ledger cannot be read any further: ${found}. It may lack records of handled keys: see the runbook lost-internal-topic`,
        ),
      );
    this.#watch = new InputWatch({
      topics: [...inputTopics, topics.ledger],
      readers: this.#lanes.flatMap((lane, number) => [
        {
          lane: number,
          reading: (topic) => lane.reading(topic),
          epochHeld: (topic, span) => lane.epochHeld(topic, span),
          stop: ({ reason }) => void lane.stopInOrder(reason),
        },
        { lane: number, reading: (topic) => this.ledger.reading(topic, number), stop: ledgerJumped },
      ]),
      boundsOf: (topic, epochs) => offsets.bounds(topic, epochs),
      clock,
      log,
    });
    this.#start = new LaneStart({
      settings: config,
      steps: options.steps,
      ledger: this.ledger,
      watch: this.#watch,
      committer,
      member: this.#member,
      askInputs: () => inputTopics.map((topic) => offsets.startOf(topic, 0)),
      isServedByOthers: async () => (await offsets.members()).length > 0,
      isOver: () => this.#isStopping,
      clock,
    });
  }

  /**
   * Resolves once the group has assigned lanes, or the process was stopped before that.
   * @throws errors that no retry fixes: a refusal by Kafka, StateDirectoryError, LaneCountError
   */
  async start(): Promise<void> {
    if (await this.#start.run()) this.#offsetReports.start();
  }

  /**
   * Should take at most API_TIMEOUT_MS and 35 s: 5 s to leave, 2 s beyond a call, two commits of 10 s, and 8 s for the
   * rest. After that `main.ts` ends the process.
   */
  async stop(): Promise<void> {
    this.#options.steps.end();
    this.#isRetiring = true;
    await this.#member.retire();
    this.#isStopping = true;
    this.#watch.stop();
    this.#offsetReports.stop();
    await Promise.all(this.#lanes.map((lane) => lane.release()));
    await this.#committer.close();
    // A hanging broker would delay this for minutes, and no lane depends on it.
    await settledWithin(this.#offsetReports.report(), REPORT_OFFSETS_MS_MAX);
    await Promise.all([this.#member.stop(), this.ledger.stop(), this.offsets.stop()]);
    this.#calls.close();
  }

  status(): LaneSetStatus {
    return {
      processId: this.#processId,
      assigned: this.#assigned,
      isWarmingUp: this.#start.isWarmingUp(),
      isGroupConfirmed: this.#isConfirmed(),
      asideReason: this.#standing.reason(),
      lanes: new Map((this.#assigned ?? []).map((lane) => [lane, this.#laneOf(lane).status()])),
      callsRunning: this.#calls.running(),
      keysRemembered: this.ledger.index.size(),
    };
  }

  #assign(lanes: readonly number[], isNewMember: boolean): void {
    if (this.#isStopping) return;
    const before = this.#assigned ?? [];
    this.#assigned = lanes;
    this.#standing.joined(lanes);
    this.#start.joined();
    this.#options.log.info({ event: 'lanes-assigned', lanes });
    for (const lane of before) if (!lanes.includes(lane)) void this.#laneOf(lane).revoked();
    for (const lane of lanes) if (!this.#isRetiring || before.includes(lane)) this.#laneOf(lane).assigned(isNewMember);
  }

  /** Whether a request that the group confirmed was sent less than a session timeout ago. */
  #isConfirmed(): boolean {
    return this.#member.isConfirmedWithinMs(this.#settings.sessionTimeoutMs);
  }

  #stageChanged(): void {
    this.#calls.setOpenLanes(this.#lanes.filter((lane) => lane.stage() === 'open').length);
    this.#poller.laneOpen(this.#laneOf(POLLER_LANE).stage() === 'open');
  }

  #laneOf(number: number): Lane {
    const lane = this.#lanes[number];
    if (lane === undefined)
      throw new Error(`lane ${number} does not exist: there are ${this.#lanes.length} lanes, numbered from 0`);
    return lane;
  }
}
