/** The state of lanes and payment API as plain data that a test can change. */
import type { PaymentApiSnapshot } from '../../src/api/payment-api.ts';
import type { InputStatus, LaneSetStatus, LaneStatus } from '../../src/lanes/lane-status.ts';
import type { CommandView, LedgerLaneStatus, LedgerStatus } from '../../src/store/ledger-view.ts';
import type { GroupProcess } from '../../src/consumers/group-processes.ts';
import type { PartitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import type { Entry } from '../../src/ledger/entry.ts';
import { Activity } from '../../src/ops/activity.ts';
import type { OpenLetters } from '../../src/ops/dead-letter-watch.ts';
import { createMetrics } from '../../src/ops/metrics.ts';
import { StateReader } from '../../src/ops/state-reader.ts';
import type { StartWait } from '../../src/lanes/ownership/start-steps.ts';
import type { KafkaAccess } from '../../src/producers/rights-check.ts';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';
import type { RegistryFault } from 'payment-processor-contract/registry';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandResult } from 'payment-processor-contract/types';
import { entryAt } from '../ledger/entries.ts';

export const TOPICS = topicNames('payments');
/** Something that must never be shown. */
export const SECRET_KEY = 'order-of-jane-doe-4711';

type Changeable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** A message without a key. */
export const A_LETTER = {
  ...{ topic: 't', partition: 0, offset: 1n, lastOffset: null, timestampMs: 0 },
  ...{ key: null, value: null, headers: {}, cut: null, reason: 'NO_KEY' as const, message: 'm' },
};

/** A call that was answered. */
const ANSWER = { outcomeKind: 'accepted', isAnswered: true, httpStatus: 201 };
export const A_CALL = { operation: 'transfer-in', ...ANSWER, durationMs: 30 } as const;

export class FakeProcessor {
  nowMs: number;
  isDraining = false;
  lanes: Changeable<LaneSetStatus> = {
    processId: 'process-1',
    assigned: [0],
    isWarmingUp: false,
    isGroupConfirmed: true,
    asideReason: null,
    lanes: new Map([[0, laneStatus()]]),
    callsRunning: 0,
    keysRemembered: 0,
  };
  /** All lanes, according to the ledger. */
  ledger: Changeable<LedgerStatus> = { lanes: [], oldestUnknown: [], restore: null, disk: null };
  /** Commands in the ledger, by key, all in lane 0. */
  readonly commands = new Map<string, Entry>();
  members: () => Promise<GroupProcess[]> = async () => [];
  highWatermarks: (topic: string) => Promise<Map<number, bigint>> = async () => new Map();
  committed: (topic: string) => Promise<Map<number, bigint>> = async () => new Map();
  starting: StartWait | null = null;
  kafkaAccess: KafkaAccess = { kind: 'allowed' };
  registryFault: RegistryFault | null = null;
  api: PaymentApiSnapshot = servingApi();
  ends: (topic: string) => Promise<Map<number, PartitionOffsets>> = async () => new Map([[0, { low: 0n, high: 0n }]]);
  endsAsked = 0;
  openLetters: OpenLetters[] = [];
  areLettersRead = true;

  readonly activity: Activity;
  readonly clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };

  /** @param startedMs when the process started */
  constructor(startedMs = Date.parse('2026-03-01T12:00:00Z')) {
    this.nowMs = startedMs;
    this.activity = new Activity(createMetrics(), () => this.nowMs);
  }

  /** For the routes. */
  command(key: string): CommandView {
    const known = this.commands.get(key);
    if (known === undefined) return { kind: 'unknown', lane: 0, nextOffset: 7n };
    return { kind: 'known', lane: 0, entry: known, owner: null };
  }

  /** For `StateReader`. */
  sources() {
    return {
      lanes: {
        status: () => this.lanes,
        ledger: { status: () => this.ledger },
        offsets: {
          members: () => this.members(),
          highWatermarks: (topic: string) => this.highWatermarks(topic),
          committed: (topic: string) => this.committed(topic),
          ends: (topic: string) => {
            this.endsAsked += 1;
            return this.ends(topic);
          },
        },
      },
      api: { snapshot: () => this.api },
      starting: () => this.starting,
      kafkaAccess: () => this.kafkaAccess,
      registryFault: () => this.registryFault,
      isDraining: () => this.isDraining,
      topics: TOPICS,
      commandTypes: COMMAND_TYPES,
      laneCount: 6,
      callSlots: 100,
      unfinishedMax: 2_000,
      deployment: {
        prefix: 'payments',
        groupId: 'payment-commands',
        service: 'api.example.com',
        host: 'pod-1',
        cli: 'npm run cli --',
      },
      activity: this.activity,
      letters: { open: () => this.openLetters, isRead: () => this.areLettersRead },
      clock: this.clock,
    };
  }

  setLane(lane: number, status: LaneStatus): void {
    this.lanes.lanes = new Map([...this.lanes.lanes, [lane, status]]);
  }
}

/** One whose state is read again and again, as by Prometheus. */
export class ScrapedProcessor extends FakeProcessor {
  readonly reader = new StateReader(this.sources());
  readonly metrics = createMetrics();

  async text(): Promise<string> {
    return this.metrics.text(await this.reader.read());
  }
}

export function laneStatus(change: Partial<LaneStatus> = {}): LaneStatus {
  const open = { stage: 'open', stoppedReason: null, trouble: null, openedMs: 0 } as const;
  return { ...open, isIdle: true, committedMs: 0, entries: [], inputs: [], ...change };
}

export function inputStatus(change: Partial<InputStatus> = {}): InputStatus {
  const ofTransfers = { topic: TOPICS.commands['transfer-in'], name: 'transfer-in' } as const;
  const places = { buffered: 0, oldestTimestampMs: null, position: 0n, highWatermark: 0n };
  return { ...ofTransfers, ...places, cause: null, problem: null, ...change };
}

/** What the ledger says of a lane. */
export function ledgerLane(lane: number, change: Partial<LedgerLaneStatus> = {}): LedgerLaneStatus {
  return { lane, owner: null, nextOffset: 0n, unknown: [], holds: {}, ...change };
}

export function laneOwner(processId: string, atMs: number): NonNullable<LedgerLaneStatus['owner']> {
  return { processId, atMs, token: 't', transactionalId: 'id', barren: 0, fencedCallUntilMs: 0, laneCount: 1 };
}

/** What reports and metrics read of a result. */
export function aResult(change: Partial<CommandResult>): CommandResult {
  const times = { commandTimestamp: 1_000n, completedAt: 1_400n, revision: 1 };
  return { commandKey: SECRET_KEY, commandType: 'transfer-in', outcome: 'ACCEPTED', ...times, ...change } as never;
}

function servingApi(): PaymentApiSnapshot {
  const healthy = { breaker: 'closed', lastFault: null, callsUnderWay: 0, allowance: null } as const;
  const operations = Object.fromEntries(COMMAND_TYPES.map((type) => [type, { ...healthy }])) as never;
  return { state: { kind: 'serving' }, operations };
}

export function entry(commandType: Entry['commandType'], timestampMs: number, phase: Entry['phase']): Entry {
  const origin = { topic: TOPICS.commands[commandType], partition: 0, offset: 7n, timestampMs };
  const planted = { key: SECRET_KEY, fieldsJson: '{"accountId":"ACCOUNT-OF-JANE"}' };
  return { ...entryAt(commandType), ...planted, origin, deadlineMs: timestampMs + 60_000, phase };
}
