/** What a request came to, and what is known of a key. */
import type { Outcome } from 'payment-processor-contract/commands';
import type { CommandResult, PaymentEvent, Quote } from './events.ts';
import type { LaneReader } from './lane-reader.ts';
import { KeyResults, problemOf } from './payment-state.ts';
import type { AwaitedResult } from './result-awaiter.ts';

/** The result of the command itself: the table of outcomes says what it lets one conclude. */
export type CommandAnswer = AwaitedResult & {
  value: CommandResult & { outcome: Exclude<Outcome, 'CONFLICT'> };
};

export type Answer =
  /**
   * Of this command: of this message, or of an earlier one with the same key and fields. UNKNOWN is a result, too: a call
   * was made and nothing tells whether it took effect; an operator makes the next revision.
   */
  | {
      kind: 'result';
      result: CommandAnswer;
      /** The answer to a copy of the command: the same event as that of the first message; nothing happened again. */
      isReplayed: boolean;
    }
  /** The key belongs to a command with other fields or of another type: this one was ignored. */
  | { kind: 'conflict'; conflict: AwaitedResult; standing: StandingResult }
  /**
   * Nothing is known: the command may have been executed, or may be later, or may never have arrived. To ask again, make the
   * same request: same key, same fields. It is executed once, and each copy is answered.
   */
  | { kind: 'unanswered'; key: string; commandId: string; problem: string };

/** What the results topic has of a key. */
export type StandingResult =
  /** The highest revision of its last command. */
  | { kind: 'result'; result: CommandAnswer }
  /** None: its command has no result yet, or the topic does not keep it any more. */
  | { kind: 'none' }
  /** The topic could not be read in time, or the result that counts not at all. */
  | { kind: 'not-read'; problem: string };

/** How far a quote and its execution came. */
export type CreateAndExecuteAnswer =
  /** The quote was not accepted, or nothing is known of it: nothing was executed by this call. */
  | { stage: 'create'; create: Answer }
  /** Accepted, but what the service answered shows no quote: nothing was executed by this call. */
  | { stage: 'no-quote'; create: Answer & { kind: 'result' } }
  /** `approve` did not want it: nothing was executed by this call; an earlier one with the same keys may have. */
  | { stage: 'declined'; create: Answer & { kind: 'result' }; quote: Quote }
  /** The execution was requested; its answer tells what became of it. */
  | { stage: 'execute'; create: Answer & { kind: 'result' }; quote: Quote; execute: Answer };

/**
 * Reads the results topic for the result of a key: its lane, from the beginning to the end of what is there. It asks nobody
 * else, and publishes nothing.
 * @throws as subscribe
 */
export async function readResult(read: LaneReader, key: string, timeoutMs: number): Promise<StandingResult> {
  const found = new KeyResults();
  const onEvent = (event: PaymentEvent): void => found.take(event);
  if (!(await read({ stream: 'results', key, sinceMs: null }, onEvent, AbortSignal.timeout(timeoutMs)))) {
    return {
      kind: 'not-read',
      problem: `the results of its lane could not be read to their end within ${timeoutMs} ms`,
    };
  }
  const latest = found.counting;
  if (latest?.kind === 'unreadable') return { kind: 'not-read', problem: problemOf(latest) };
  return latest === null || !isOfKey(latest) ? { kind: 'none' } : { kind: 'result', result: latest };
}

/** A CONFLICT is about a message, and says nothing of its key. */
export function isOfKey(result: AwaitedResult): result is CommandAnswer {
  return result.value.outcome !== 'CONFLICT';
}
