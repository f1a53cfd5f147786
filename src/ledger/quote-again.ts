/** Two-step quotes that ran out before their execution could be sent: made anew, within limits. Pure. */
import type { SettledBy } from 'payment-processor-contract/commands';
import { backOffMs } from './back-off.ts';
import { NO_CALLS, type Entry, type UnphasedEntry } from './entry.ts';
import { instantInWords } from './time-limit.ts';

/** A quote that lives shorter than this after its answer came, by our clock, had no chance: its service lives minutes. */
const QUOTE_LIFE_MIN_MS = 5_000;
/** Quotes made anew in a row because the one before had run out on arrival: some 8 s in all, with their pauses. */
export const QUOTES_ANEW_MAX = 5;

export type QuoteAgain =
  /** `pauseMs` 0: at once, for the last one lived and only waited too long. */
  | { kind: 'quote-again'; pauseMs: number; quotesRunOut: number }
  | { kind: 'expire'; reason: string; settledBy: SettledBy; quotesRunOut: number };

/** @returns null where there is no quote to be executed, or it still lives */
export function quoteAgainOf(entry: Entry, nowMs: number): QuoteAgain | null {
  const { quoted } = entry;
  if (entry.step !== 'EXECUTE' || quoted?.expiresAtMs == null || quoted.expiresAtMs > nowMs) return null;
  if (quoted.expiresAtMs - quoted.receivedMs >= QUOTE_LIFE_MIN_MS)
    return { kind: 'quote-again', pauseMs: 0, quotesRunOut: 0 };
  const quotesRunOut = entry.quotesRunOut + 1;
  if (quotesRunOut <= QUOTES_ANEW_MAX)
    return { kind: 'quote-again', pauseMs: backOffMs(entry.key, entry.quotesRunOut), quotesRunOut };
  return {
    kind: 'expire',
    reason:
      `each of ${quotesRunOut} quotes in a row had run out when it came, or was about to, by the processor's clock ` +
      `(is it right, and is the service's?): expiresAt of the last was ${instantInWords(quoted.expiresAtMs)}; ` +
      'the service took no execution of any of them',
    settledBy: 'PROCESSOR',
    quotesRunOut,
  };
}

/** The entry about to have another quote made: no call of its execution took effect, by their own answers or by a look-up. */
export function quotedAnew(
  entry: Entry,
  { pauseMs, quotesRunOut }: Extract<QuoteAgain, { kind: 'quote-again' }>,
  nowMs: number,
): Entry {
  const phase = { state: 'PARKED', untilMs: nowMs + pauseMs, reason: 'its quote had run out' } as const;
  return { ...entry, ...NO_CALLS, step: 'CREATE', quotesRunOut, phase };
}

export interface QuoteRunOut {
  /** Whether it had run out, or nearly, when it came, or while it waited for its execution. */
  readonly cause: 'on-arrival' | 'waiting';
  /** No: the command ended with it. */
  readonly isMadeAnew: boolean;
}

/** Whether the change of an entry is that its quote ran out. @returns null where it is not */
export function quoteRunOutOf(before: Entry, after: UnphasedEntry): QuoteRunOut | null {
  if (before.step !== 'EXECUTE') return null;
  const isMadeAnew = after.step === 'CREATE';
  const isOnArrival = after.quotesRunOut > before.quotesRunOut;
  if (!isMadeAnew && !isOnArrival) return null;
  return { cause: isOnArrival ? 'on-arrival' : 'waiting', isMadeAnew };
}
