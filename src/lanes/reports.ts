/** What lanes report, for the metrics and the log. */
import type { ExpiredQuote } from '../ledger/quote-again.ts';
import type { DeadLetter } from '../producers/dead-letters.ts';
import type { CommandResult, OperatorDecision } from 'payment-processor-contract/types';
import type { LaneLoss } from './commits/troubles.ts';

export interface LaneReports {
  resulted(lane: number, result: CommandResult): void;
  replayed(lane: number): void;
  deadLettered(lane: number, letter: DeadLetter): void;
  moved(lane: number): void;
  /** A two-step quote expired before an execution took effect. */
  quoteExpired(lane: number, quote: ExpiredQuote): void;
  statusChanged(lane: number, kind: 'transaction' | 'quote'): void;
  /** An operator's decision, published at this offset of its topic, was carried out, or refused. */
  decided(lane: number, key: string, decision: OperatorDecision, isCarriedOut: boolean, offset: bigint): void;
  failed(lane: number, where: string, error: unknown): void;
  committed(): void;
  laneLost(reason: LaneLoss): void;
  /** Kafka redelivered messages that the lane already had; the lane skipped them. */
  redelivered(messages: number): void;
}
