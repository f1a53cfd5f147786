/**
 * The steps of a command for tracing: admitted, called, looked up, resulted. Lanes and calls report only here, and know nothing of
 * spans. They report committed steps, ended calls and look-ups. An implementation is cheap and never throws.
 */
import type { Reading } from '../api/types.ts';
import type { TracedCommand } from '../consumers/command-intake.ts';
import type { LookUpOutcome } from '../ledger/decision.ts';
import type { DeadLetterReason } from '../producers/dead-letters.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import type { CommandResult } from 'payment-processor-contract/types';
import type { CallTimes } from './calls/call-times.ts';

/** What the lane made of the message. */
export type AdmissionKind =
  /** An entry with an intent, or parked until its call may begin. */
  | 'called'
  /** An entry that ended without a call. */
  | 'finished'
  /** A copy of a known command: answered again, or noted until its result. */
  | 'copy'
  /** Ignored, with a CONFLICT result: its key belongs to another command. */
  | 'conflict'
  /** A dead letter without an entry. */
  | 'dead-letter';

export interface TracedAdmission {
  readonly kind: AdmissionKind;
  /** When this process last began to read the message; for one set aside, when that was. */
  readonly beganMs: number;
  /** Why it went to the dead letters, with or without an entry. */
  readonly deadLetteredAs: DeadLetterReason | null;
}

export interface TracedCall extends CallTimes {
  readonly operation: CommandType;
  /** From 1, over all steps of the command. */
  readonly attempt: number;
  readonly reading: Reading;
}

export interface CommandTraces {
  /** The message is admitted: its transaction is committed. */
  admitted(command: TracedCommand, admission: TracedAdmission): void;
  /** A call that passed the gate ended, sent or not. */
  called(command: TracedCommand, call: TracedCall): void;
  /** A look-up for the command ended. */
  lookedUp(command: TracedCommand, times: CallTimes, found: LookUpOutcome['kind']): void;
  /** The result is committed, and readers see it. */
  resulted(command: TracedCommand, result: CommandResult): void;
}
