/**
 * The client's reports of its work, for logs and counters. One hook with one union fits any logger and any metrics library:
 * the client counts nothing itself and depends on neither.
 */
import type { CommandType, Outcome } from 'payment-processor-contract/commands';
import type { PaymentClientError } from './client-error.ts';
import type { PaymentEvent } from './events.ts';

export type ClientNotice =
  /** The brokers confirmed a command; `ms` since publishing began. */
  | { kind: 'published'; type: CommandType; key: string; topic: string; partition: number; offset: bigint; ms: number }
  | { kind: 'publish-failed'; type: CommandType; key: string; error: PaymentClientError; ms: number }
  /** A request got its answer, or `unanswered`; `ms` since it began. */
  | { kind: 'answered'; type: CommandType; key: string; outcome: Outcome | 'unanswered'; ms: number }
  /** The registry or Kafka does not answer; the client retries. */
  | { kind: 'registry-outage' | 'kafka-outage'; problem: string }
  /** A handler finished an event, with the number of calls and the time. */
  | { kind: 'handled'; event: PaymentEvent; attempts: number; ms: number }
  /** A call of the handler failed; also reported for the last one. */
  | { kind: 'handler-failed'; event: PaymentEvent; attempt: number; error: unknown }
  /** An event was given up: it is skipped, or the subscription ends. */
  | { kind: 'given-up'; event: PaymentEvent; error: unknown; decision: 'skip' | 'end' };

export interface Noticing {
  /** Called for each notice; errors that it throws are ignored. */
  onNotice?: (notice: ClientNotice) => void;
}

/** For the client's own reading, only outages are reported. */
export function onlyOutages(options: Noticing): Noticing {
  return {
    onNotice: (given) => {
      if (given.kind === 'registry-outage' || given.kind === 'kafka-outage') notice(options, given);
    },
  };
}

export function notice({ onNotice }: Noticing, given: ClientNotice): void {
  try {
    onNotice?.(given);
  } catch {
    // A payment must not fail because logging fails.
  }
}
