/** Two-step quotes that expired before their execution could be sent: the command gets new ones, within limits. Pure. */
import type { SettledBy } from 'payment-processor-contract/commands';
import { backOffMs } from './back-off.ts';
import { NO_CALLS, type Entry, type UnphasedEntry } from './entry.ts';
import { instantInWords } from './time-limit.ts';

/** Least life that an arriving quote must have left, by our clock. Quotes live for minutes, so one with less is late. */
const QUOTE_LIFE_MIN_MS = 5_000;
/** How many quotes in a row we replace because they had expired on arrival. With the pauses this takes about 8 s. */
export const REQUOTES_MAX = 5;

export type QuoteAgain =
  /** `pauseMs` 0: at once, because the last quote only waited too long. */
  | { kind: 'quote-again'; pauseMs: number; quotesRunOut: number }
  | { kind: 'expire'; reason: string; settledBy: SettledBy; quotesRunOut: number };

/** @returns null if there is no quote to execute, or it has not expired as far as we know */
export function quoteAgainOf(entry: Entry, nowMs: number): QuoteAgain | null {
  const { quoted } = entry;
  if (entry.step !== 'EXECUTE' || quoted?.expiresAtMs == null || quoted.expiresAtMs > nowMs) return null;
  if (quoted.expiresAtMs - quoted.receivedMs >= QUOTE_LIFE_MIN_MS)
    return { kind: 'quote-again', pauseMs: 0, quotesRunOut: 0 };
  const quotesRunOut = entry.quotesRunOut + 1;
  if (quotesRunOut <= REQUOTES_MAX)
    return { kind: 'quote-again', pauseMs: backOffMs(entry.key, entry.quotesRunOut), quotesRunOut };
  return {
    kind: 'expire',
    reason:
      `${quotesRunOut} quotes in a row had expired on arrival, or were about to, and none was executed. ` +
      `The last one's expiresAt was ${instantInWords(quoted.expiresAtMs)}: compare the processor's clock with the service's`,
    settledBy: 'PROCESSOR',
    quotesRunOut,
  };
}

/** The entry, about to get another quote. Answers, a look-up or an operator said that no call executed the last one. */
export function requoted(
  entry: Entry,
  { pauseMs, quotesRunOut }: Extract<QuoteAgain, { kind: 'quote-again' }>,
  nowMs: number,
): Entry {
  const phase = { state: 'PARKED', untilMs: nowMs + pauseMs, reason: 'its quote expired' } as const;
  return { ...entry, ...NO_CALLS, step: 'CREATE', quotesRunOut, phase };
}

export interface ExpiredQuote {
  /** Whether it had expired on arrival, or nearly; or expired while it waited for its execution. */
  readonly cause: 'on-arrival' | 'waiting';
  /** True: the command gets another quote. False: it ended when this one expired. */
  readonly isMadeAnew: boolean;
}

/** @returns null if the entry changed for another reason than its quote's expiry */
export function expiredQuoteOf(before: Entry, after: UnphasedEntry): ExpiredQuote | null {
  if (before.step !== 'EXECUTE') return null;
  const isMadeAnew = after.step === 'CREATE';
  const isOnArrival = after.quotesRunOut > before.quotesRunOut;
  if (!isMadeAnew && !isOnArrival) return null;
  return { cause: isOnArrival ? 'on-arrival' : 'waiting', isMadeAnew };
}
