/** The outcomes of a request and of a key's look-up. */
import { once } from 'node:events';
import type { Outcome } from 'payment-processor-contract/commands';
import type { CommandResult, PaymentEvent, Quote } from './events.ts';
import type { LaneReader } from './lane-reader.ts';
import { KeyResults, problemOf } from './payment-state.ts';
import type { AwaitedResult } from './result-awaiter.ts';

/** The result of the command itself; see the table of outcomes for its meaning. */
export type CommandAnswer = AwaitedResult & {
  value: CommandResult & { outcome: Exclude<Outcome, 'CONFLICT'> };
};

export type Answer =
  /**
   * The result of this message, or of an earlier one with the same key and fields. UNKNOWN is also a result: a call may have
   * taken effect, and nothing shows whether it did; an operator makes the next revision.
   */
  | {
      kind: 'result';
      result: CommandAnswer;
      /**
       * The answer to a copy of the command: the same event as for the first message; nothing was executed again. If
       * false, another caller may still have published the first message: book a payment by its transaction's id.
       */
      isReplayed: boolean;
    }
  /** The key belongs to a command with other fields or of another type: this message was ignored. */
  | { kind: 'conflict'; conflict: AwaitedResult; standing: StandingResult }
  /**
   * Nothing is known: the command may have been executed, may be executed later, or may never have arrived. To ask again,
   * repeat the request with the same key and fields. The command is executed once, and each copy gets an answer.
   */
  | { kind: 'unanswered'; key: string; commandId: string; problem: string };

/** A key's result in the results topic. */
export type StandingResult =
  /** The highest revision of the last of its commands that has a result. */
  | { kind: 'result'; result: CommandAnswer }
  /** None: the command has no result yet, or the topic no longer keeps it. */
  | { kind: 'none' }
  /** The topic could not be read in time, or the result that counts is unreadable. */
  | { kind: 'not-read'; problem: string };

/** How far a quote and its execution got. */
export type CreateAndExecuteAnswer =
  /** The quote was not accepted, or its outcome is unknown. This call executed nothing. */
  | { stage: 'create'; create: Answer }
  /** Accepted, but the service's answer shows no quote. This call executed nothing. */
  | { stage: 'no-quote'; create: Answer & { kind: 'result' } }
  /** `approve` declined. This call executed nothing; an earlier one with the same keys may have. */
  | { stage: 'declined'; create: Answer & { kind: 'result' }; quote: Quote }
  /** The execution was requested; its answer has the outcome. */
  | { stage: 'execute'; create: Answer & { kind: 'result' }; quote: Quote; execute: Answer };

/**
 * Reads a key's result from its lane of the results topic, from the beginning to the end that it had at the start. It
 * publishes nothing.
 * @throws as subscribe
 */
export async function readResult(read: LaneReader, key: string, timeoutMs: number): Promise<StandingResult> {
  const found = new KeyResults();
  const onEvent = (event: PaymentEvent): void => found.take(event);
  const up = AbortSignal.timeout(timeoutMs);
  // The signal does not stop a reading that is still being opened.
  const late = once(up, 'abort').then(() => false);
  if (!(await Promise.race([read({ stream: 'results', key, sinceMs: null }, onEvent, up), late]))) {
    return {
      kind: 'not-read',
      problem: `the results of its lane could not be read to their end within ${timeoutMs} ms`,
    };
  }
  const latest = found.latest;
  if (latest?.kind === 'unreadable') return { kind: 'not-read', problem: problemOf(latest) };
  return latest === null || !isOfKey(latest) ? { kind: 'none' } : { kind: 'result', result: latest };
}

/** A CONFLICT concerns one message, not the key. */
export function isOfKey(result: AwaitedResult): result is CommandAnswer {
  return result.value.outcome !== 'CONFLICT';
}
