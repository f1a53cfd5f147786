/** The status of lanes. */
import type { Entry } from '../ledger/entry.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { CLAIM_REFUSALS } from './calls/claim-limits.ts';
import type { Trouble } from './commits/troubles.ts';

export const LANE_STAGES = ['closed', 'acquiring', 'open', 'releasing', 'stopped'] as const;
export type LaneStage = (typeof LANE_STAGES)[number];

/** Why the oldest command of a topic is not admitted. */
export const ADMISSION_CAUSES = [...CLAIM_REFUSALS, 'lane-full', 'failed'] as const;
export type AdmissionCause = (typeof ADMISSION_CAUSES)[number];

/** A lane must stop until an operator has repaired the cause. */
export class LaneStoppedError extends Error {}

/** Names of a lane's inputs. */
export type InputName = CommandType | 'operator-decision' | 'operator-hold' | 'observation';

export interface InputStatus {
  readonly topic: string;
  readonly name: InputName;
  /** Messages fetched and not yet admitted. */
  readonly buffered: number;
  readonly oldestTimestampMs: number | null;
  /** The lane has taken every record before this offset, but perhaps not committed that yet; null while closed. */
  readonly position: bigint | null;
  readonly highWatermark: bigint;
  readonly cause: AdmissionCause | 'registry' | null;
  readonly problem: string | null;
}

/** Status of a lane while this process owns it. */
export interface OpenLaneStatus {
  /** Nothing is being gathered or committed. */
  readonly isIdle: boolean;
  /** When it last committed, or was opened; 0 unless it is open or releasing. */
  readonly committedMs: number;
  /** The unfinished entries. */
  readonly entries: readonly Entry[];
  /** By topic, why fetched messages are not admitted. */
  readonly causes: ReadonlyMap<string, AdmissionCause>;
}

export const NOT_OPEN: OpenLaneStatus = { isIdle: true, committedMs: 0, entries: [], causes: new Map() };

export interface LaneStatus extends Omit<OpenLaneStatus, 'causes'> {
  readonly stage: LaneStage;
  readonly stoppedReason: string | null;
  /** Recent losses, one after another; null: none. */
  readonly trouble: Trouble | null;
  /** When it was opened, by the wall clock; 0 unless it is open. */
  readonly openedMs: number;
  readonly inputs: readonly InputStatus[];
}

export interface LaneSetStatus {
  readonly processId: string;
  /** Null until the group's first assignment, which may be empty. */
  readonly assigned: readonly number[] | null;
  /** True while the process reads the ledger, before it joins the group: others serve the lanes meanwhile. */
  readonly isWarmingUp: boolean;
  readonly isGroupConfirmed: boolean;
  /** Why it stands aside while other members have the lanes; null: it does not. */
  readonly asideReason: string | null;
  readonly lanes: ReadonlyMap<number, LaneStatus>;
  readonly callsRunning: number;
  readonly keysRemembered: number;
}
