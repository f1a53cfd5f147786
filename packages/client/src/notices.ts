/**
 * What the client tells of its work, for a log and for counters. One hook with one union, for any logger and any library of
 * metrics: the client counts nothing itself and depends on neither.
 */
import type { CommandType, Outcome } from 'payment-processor-contract/commands';
import type { PaymentClientError } from './client-error.ts';
import type { PaymentEvent } from './events.ts';

export type ClientNotice =
  /** A command was confirmed by the brokers, after so long. */
  | { kind: 'published'; type: CommandType; key: string; topic: string; partition: number; offset: bigint; ms: number }
  | { kind: 'publish-failed'; type: CommandType; key: string; error: PaymentClientError; ms: number }
  /** A request got its answer, or `unanswered`, after so long. */
  | { kind: 'answered'; type: CommandType; key: string; outcome: Outcome | 'unanswered'; ms: number }
  /** The registry cannot be asked; it is asked again. */
  | { kind: 'registry-outage'; problem: string }
  /** A handler is done with an event, after so many calls and so long. */
  | { kind: 'handled'; event: PaymentEvent; attempts: number; ms: number }
  /** A call of the handler failed, the last one included. */
  | { kind: 'handler-failed'; event: PaymentEvent; attempt: number; error: unknown }
  /** An event was given up: passed, or the subscription ends. */
  | { kind: 'given-up'; event: PaymentEvent; error: unknown; decision: 'skip' | 'end' };

export interface Noticing {
  /** Called for each of these; what it throws is ignored. */
  onNotice?: (notice: ClientNotice) => void;
}

/** For what the client reads for itself: only that it waits is news. */
export function outagesAlone(options: Noticing): Noticing {
  return {
    onNotice: (given) => {
      if (given.kind === 'registry-outage') notice(options, given);
    },
  };
}

export function notice({ onNotice }: Noticing, given: ClientNotice): void {
  try {
    onNotice?.(given);
  } catch {
    // A payment must not fail because a log does.
  }
}
