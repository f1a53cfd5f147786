/**
 * The state of this process for the page and the gauges: counts, ages, offsets and reasons. Pure.
 *
 * No keys, accounts, bodies or credentials (invariant I9). Offsets are strings, because JSON has no 64-bit integers. Ages are
 * seconds; instants are ISO 8601.
 */
import type { KafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import type { BreakerStage } from '../api/breaker.ts';
import type { PaymentApiSnapshot } from '../api/payment-api.ts';
import type { ServiceSetting, ServiceState } from '../api/types.ts';
import type { InputName, LaneStage } from '../lanes/lane-status.ts';
import { shownStateOf, type Entry, type EntryState } from '../ledger/entry.ts';
import { operationOf } from '../ledger/settlement.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import type { RegistryFailure } from 'payment-processor-contract/registry-failure';
import type { OpenLetters } from './dead-letter-watch.ts';
import { ageSeconds, type NotAdmittedCause } from './lag.ts';
import type { HoldState, LedgerState, UnknownResultsState } from './ledger-state.ts';
import type { MemberState } from './members.ts';
import type { OldestUnanswered } from './oldest-unanswered.ts';

export interface ResultCount {
  readonly command: string;
  readonly outcome: string;
  readonly count: number;
}

export interface WaitingElsewhere {
  readonly lane: number;
  readonly command: CommandType;
  readonly messages: number;
}

/** Since the start of the process. */
export interface ActivityState {
  readonly startedAt: string;
  readonly results: readonly ResultCount[];
  /** Failures of our own code, each a bug. */
  readonly ownFailures: number;
}

export interface InputState {
  readonly topic: string;
  readonly name: InputName;
  /** Null: not a command topic. */
  readonly command: CommandType | null;
  /** Null: unknown. */
  readonly lagMessages: number | null;
  /** Null without lag. */
  readonly oldestSeconds: number | null;
  /** Null without lag. */
  readonly cause: NotAdmittedCause | null;
  readonly problem: string | null;
  readonly position: string | null;
  /** Messages behind a publisher's open transaction, which no lag counts; 0 for an input that only we write to. */
  readonly heldBackMessages: number;
  /** How long that transaction has blocked readers; null: there is none. */
  readonly heldBackSeconds: number | null;
}

export interface LaneState {
  readonly lane: number;
  readonly stage: LaneStage;
  readonly stoppedReason: string | null;
  /** Null while it is not open. */
  readonly openedAt: string | null;
  readonly unfinished: number;
  /** How long it has committed nothing although it has something to commit; null: nothing to commit, or not open. */
  readonly uncommittedSeconds: number | null;
  /** How long an open transaction has blocked readers of the ledger; null: there is none. */
  readonly ledgerHeldBackSeconds: number | null;
  readonly inputs: readonly InputState[];
}

export interface UnfinishedState {
  readonly state: Exclude<EntryState, 'DONE'>;
  readonly operation: CommandType;
  readonly count: number;
  readonly oldestSeconds: number;
}

/** Identifies the deployment, so that no operator acts on the wrong one. */
export interface Deployment {
  /** TOPIC_PREFIX. */
  readonly prefix: string;
  readonly groupId: string;
  /** Host of the payment service. */
  readonly service: string;
  /** The machine's name; in Kubernetes the pod's. */
  readonly host: string;
  /** What precedes a command of the CLI in a shell, such as `npm run cli --`. */
  readonly cli: string;
}

export interface ProcessorState extends OldestUnanswered {
  readonly at: string;
  readonly processId: string;
  readonly ready: boolean;
  readonly reasons: readonly string[];
  /** Why Kafka refuses this process; null: no refusal is known. */
  readonly kafkaRefusal: KafkaRefusal['kind'] | null;
  /** Why the schema registry cannot be used; null: no problem is known. */
  readonly registryFailure: RegistryFailure['kind'] | null;
  readonly isGroupConfirmed: boolean;
  readonly service: {
    readonly state: ServiceState['kind'];
    readonly reason: string | null;
    /** The setting to check; null: no setting is to blame. */
    readonly setting: ServiceSetting | null;
    readonly since: string | null;
  };
  /** `allowance` null: unlimited. */
  readonly operations: readonly {
    readonly operation: CommandType;
    readonly breaker: BreakerStage;
    readonly lastFault: string | null;
    readonly callsUnderWay: number;
    readonly allowance: number | null;
  }[];
  readonly lanesConfigured: number;
  readonly lanes: readonly LaneState[];
  /** Age of the partition ends from which lag is computed. */
  readonly lagEndsAgeSeconds: number;
  readonly unfinished: readonly UnfinishedState[];
  readonly callsUnderWay: number;
  readonly keysRemembered: number;
  readonly deployment: Deployment;
  /** Limit on concurrent calls, all operations. */
  readonly callSlots: number;
  /** Limit on `unfinished` in each lane. */
  readonly unfinishedMax: number;
  readonly ledger: LedgerState;
  readonly members: readonly MemberState[];
  readonly unknownResults: UnknownResultsState;
  readonly holds: readonly HoldState[];
  /**
   * Dead letters of all processes that no operator has redriven or acknowledged, without REFUSED_DECISION. A process reads
   * only the newest ones at its start.
   */
  readonly openLetters: readonly OpenLetters[];
  /** False: reading has not finished or is failing, so more may be open. */
  readonly areLettersRead: boolean;
  /**
   * Commands in Kafka that wait for other processes' lanes. Computed from the group's committed offsets, which trail admission
   * by a second. Null until Kafka has answered.
   */
  readonly waitingElsewhere: readonly WaitingElsewhere[] | null;
  /** Totals since the process started. */
  readonly activity: ActivityState;
}

export function serviceState({ state }: PaymentApiSnapshot): ProcessorState['service'] {
  if (state.kind !== 'held') return { state: state.kind, reason: null, setting: null, since: null };
  return { state: state.kind, reason: state.reason, setting: state.setting, since: instant(state.sinceMs) };
}

export function unfinishedStates(entries: readonly Entry[], nowMs: number): UnfinishedState[] {
  const groups = new Map<string, UnfinishedState>();
  for (const entry of entries) {
    const state = shownStateOf(entry);
    if (state === 'DONE') continue;
    const operation = operationOf(entry);
    const name = `${state} ${operation}`;
    const known = groups.get(name) ?? { state, operation, count: 0, oldestSeconds: 0 };
    const oldestSeconds = Math.max(known.oldestSeconds, ageSeconds(entry.origin.timestampMs, nowMs));
    groups.set(name, { ...known, count: known.count + 1, oldestSeconds });
  }
  return [...groups.values()];
}

export function instant(ms: number): string {
  return new Date(ms).toISOString();
}
