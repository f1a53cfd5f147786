/** What a lane is given, and what it tells of itself. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { IntakeOptions } from '../consumers/command-intake.ts';
import type { MessageFailures } from '../consumers/message-failures.ts';
import type { TopicStart } from '../consumers/topic-offsets.ts';
import type { Entry } from '../ledger/entry.ts';
import type { LedgerPolicy } from '../ledger/settlement.ts';
import type { LaneProducer } from '../producers/lane-producer.ts';
import type { ResultWriter } from '../producers/result-events.ts';
import type { CommandType } from '../records/commands.ts';
import type { TopicNames } from '../records/topics.ts';
import type { LedgerIndex } from '../store/ledger-index.ts';
import type { LedgerReader } from '../store/ledger-reader.ts';
import type { AdmissionCause } from './admission.ts';
import type { Calls } from './calls.ts';
import type { CommandTraces } from './command-traces.ts';
import type { LookUps } from './look-ups.ts';
import type { DeskReports } from './outcomes.ts';
import type { RetentionPolicy } from './retention.ts';
import type { LaneLoss, Trouble } from './troubles.ts';

export type LaneStage = 'closed' | 'acquiring' | 'open' | 'releasing' | 'stopped';

/** A lane must not go on; only a person can mend it. */
export class LaneStoppedError extends Error {}

/** What the metrics count of lanes, whatever passes through them. */
export interface LaneReports {
  committed(): void;
  laneLost(reason: LaneLoss): void;
  /** Messages came again that the lane has had; they were passed over. */
  redelivered(messages: number): void;
}

export interface LaneParts {
  readonly lane: number;
  readonly laneCount: number;
  readonly processId: string;
  readonly topics: TopicNames;
  readonly commandTypes: readonly CommandType[];
  readonly policy: LedgerPolicy;
  readonly sessionTimeoutMs: number;
  readonly unfinishedMax: number;
  readonly retention: RetentionPolicy;
  readonly intake: IntakeOptions;
  /** Of messages of this lane; outlives its tenures. */
  readonly failures: MessageFailures;
  readonly writer: ResultWriter;
  readonly index: LedgerIndex;
  readonly reader: Pick<LedgerReader, 'seen'>;
  readonly calls: Calls;
  readonly lookUps: Pick<LookUps, 'find'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly reports: DeskReports;
  readonly traces: CommandTraces;
  /** Of this lane in our group. */
  readonly transactionalId: string;
  readonly makeProducer: (lane: number, transactionalId: string) => LaneProducer;
  readonly seek: (topic: string, lane: number, offset: bigint) => void;
  readonly resume: (topic: string, lane: number) => void;
  readonly topicStart: (topic: string, lane: number) => Promise<TopicStart>;
  /** Of the topic that the index was made from; null: brokers do not know ids. */
  readonly ledgerTopicId: () => string | null;
  /** The last heartbeat that the group confirmed was sent less than the session time-out ago. */
  readonly isConfirmed: () => boolean;
  readonly isConfirmedSince: (monotonicMs: number) => boolean;
  readonly onStageChange: () => void;
  readonly onCommit: () => void;
  readonly onLost: (reason: LaneLoss) => void;
  /** Messages came again that the lane has had; they were passed over. */
  readonly onRedelivered: (messages: number) => void;
}

/** What comes in by a lane's inputs. */
export type InputName = CommandType | 'operator-decision' | 'observation';

export interface InputStatus {
  readonly topic: string;
  readonly name: InputName;
  /** Fetched and not admitted. */
  readonly held: number;
  readonly oldestTimestampMs: number | null;
  /** Everything below is in the ledger, or about to be; null while closed. */
  readonly position: bigint | null;
  readonly highWatermark: bigint;
  readonly cause: AdmissionCause | 'registry' | null;
  readonly problem: string | null;
}

export interface LaneStatus {
  readonly stage: LaneStage;
  readonly stoppedReason: string | null;
  /** Losses that follow each other, of late. */
  readonly trouble: Trouble | null;
  readonly openedMs: number;
  /** Nothing is being gathered or committed. */
  readonly isIdle: boolean;
  /** When it last committed, or was opened; 0 while it is not open. */
  readonly committedMs: number;
  /** Unfinished entries. */
  readonly entries: readonly Entry[];
  readonly inputs: readonly InputStatus[];
}
