/** What a lane depends on. */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import type { IntakeOptions } from '../consumers/command-intake.ts';
import type { GroupMember, GroupOffset } from '../consumers/group-member.ts';
import type { MessageFailures } from '../consumers/message-failures.ts';
import type { TopicOffsets } from '../consumers/topic-offsets.ts';
import type { ResultWriter } from '../producers/result-events.ts';
import type { LmdbLedgerIndex } from '../store/lmdb-ledger-index.ts';
import type { LedgerReader } from '../store/ledger-reader.ts';
import type { Repeats } from 'payment-processor-contract/repeats';
import type { Calls } from './calls/calls.ts';
import type { CommandTraces } from './command-traces.ts';
import type { Committer } from './commits/committer.ts';
import type { LaneSettings } from './lane-settings.ts';
import type { LookUps } from './calls/look-ups.ts';
import type { LaneReports } from './reports.ts';

/** Lanes read it when they are acquired, and for keys that they do not have in memory. */
export type LedgerIndex = Pick<
  LmdbLedgerIndex,
  'checkpoint' | 'claims' | 'entry' | 'expired' | 'owner' | 'position' | 'transactions' | 'unfinished' | 'value'
>;

export interface LaneParts extends LaneSettings {
  readonly lane: number;
  readonly processId: string;
  readonly intake: IntakeOptions;
  /** Failures in handling messages of this lane; kept when the lane is lost. */
  readonly failures: MessageFailures;
  readonly writer: ResultWriter;
  readonly index: LedgerIndex;
  readonly reader: Pick<LedgerReader, 'fetchAgain' | 'ownCommitted' | 'position' | 'seen'>;
  readonly calls: Calls;
  readonly lookUps: Pick<LookUps, 'find'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Shared by all lanes, so that one fault is logged once. */
  readonly repeats: Repeats;
  readonly reports: LaneReports;
  readonly traces: CommandTraces;
  readonly groupId: string;
  readonly committer: Pick<Committer, 'disown' | 'fence' | 'fenced' | 'loop'>;
  readonly member: Pick<GroupMember, 'seek' | 'resume' | 'isConfirmedSinceMs'>;
  readonly offsets: Pick<TopicOffsets, 'startOf' | 'epochEnd' | 'written' | 'highWatermarks'>;
  /** Whether the process is a member of the group, as Kafka knows it. */
  readonly isMember: (processId: string) => Promise<boolean>;
  /** Id of the topic that the index was built from; null: the brokers have no topic ids. */
  readonly ledgerTopicId: () => string | null;
  /** The last heartbeat that the group confirmed was sent less than the session timeout ago. */
  readonly isConfirmed: () => boolean;
  readonly onStageChange: () => void;
  /** The ledger now has these positions. */
  readonly onMoved: (positions: readonly GroupOffset[]) => void;
}
