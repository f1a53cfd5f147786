/**
 * Follows one payment by its command's key until it reaches its usual last status.
 *
 * Stages: listen for new events -> read the key's lane of results to its end -> once ACCEPTED, read the transaction's lane of
 * status events -> judge each new event, until the payment is settled or the time is up. It concludes nothing before it has
 * read a lane to its end, and caught up with it again: a later revision, or a refund, may follow.
 */
import { messageOf } from 'payment-processor-contract/registry-http';
import type { CommandAnswer } from './answers.ts';
import type { PaymentEvent } from './events.ts';
import type { LaneReader } from './lane-reader.ts';
import type { LiveEvents } from './live-events.ts';
import { onAbort } from './on-abort.ts';
import { CLOCK_SKEW_MS_MAX, KnownPayment, transactionOf, withoutEnd, type PaymentState } from './payment-state.ts';

export interface SettlementOptions {
  /** How long to follow the payment. */
  timeoutMs: number;
  /** Stops early: the answer then has the state known so far. */
  signal?: AbortSignal;
  /** From `fingerprintOf`: follows the payment of exactly this command. Without it: of the command that has the key. */
  fingerprint?: string;
  /**
   * The time of publication, or earlier: results are read from ten minutes before. Default: the time of the given
   * result. Given a key, it is all that the lane keeps, which may include results of an earlier command of the key.
   */
  since?: Date;
}

/** The known state of the payment. Without `endedBy` no further change is expected. */
export type Settlement =
  | (Extract<PaymentState, { kind: 'settled' | 'not-accepted' }> & { key: string })
  | (Extract<PaymentState, { kind: 'open' | 'unknown' | 'nothing-known' }> & {
      key: string;
      endedBy: 'timeout' | 'signal' | 'reading';
      /** Why no more is known, as a sentence. */
      problem: string;
    });

type LiveListening = Pick<LiveEvents, 'listen' | 'refusal' | 'caughtUp'>;

/** The sources of a payment's events. */
export interface PaymentTopics {
  results: LiveListening;
  /** Opened at first use. */
  changes: () => Promise<LiveListening>;
  read: LaneReader;
}

/** @param of the key; or a result, whose time limits the reading */
export async function followPayment(
  of: string | CommandAnswer,
  topics: PaymentTopics,
  { fingerprint, signal, since, timeoutMs }: SettlementOptions,
): Promise<Settlement> {
  const key = typeof of === 'string' ? of : of.key;
  const known = new KnownPayment(key, fingerprint ?? null);
  if (typeof of !== 'string') known.takeResult(of);
  const sinceMs = since?.getTime() ?? (typeof of === 'string' ? null : of.timestampMs);
  const stop = new AbortController();
  const stopped = Promise.withResolvers<undefined>();
  onAbort(stop.signal, () => stopped.resolve(undefined));
  // The first reason counts.
  const timer = setTimeout(() => stop.abort('timeout'), timeoutMs);
  const listenNoMore = signal && onAbort(signal, () => stop.abort('signal'));
  try {
    const following = follow(known, { key, sinceMs }, topics, stop.signal);
    following.catch(() => undefined);
    const settled = await Promise.race([following, stopped.promise]);
    if (settled !== undefined) return settled;
  } catch (error) {
    return stateAtEnd(known, key, { endedBy: 'reading', reason: messageOf(error) });
  } finally {
    clearTimeout(timer);
    listenNoMore?.();
    stop.abort();
  }
  const isTimeUp = stop.signal.reason === 'timeout';
  const reason = isTimeUp ? `${timeoutMs} ms have passed` : 'the caller stopped waiting';
  return stateAtEnd(known, key, { endedBy: isTimeUp ? 'timeout' : 'signal', reason });
}

async function follow(
  known: KnownPayment,
  { key, sinceMs }: { key: string; sinceMs: number | null },
  topics: PaymentTopics,
  stop: AbortSignal,
): Promise<Settlement | undefined> {
  let wakeUp = Promise.withResolvers<undefined>();
  /** How many new events came so far, and how many before the last catch-up: if equal, none is missing. */
  let [seen, complete] = [0, 0];
  const failures: Error[] = [];
  const over = new AbortController();
  const wake = (): void => wakeUp.resolve(undefined);
  const end = (): void => {
    over.abort();
    wake();
  };
  stop.addEventListener('abort', end, { once: true });
  const listen = (live: LiveListening, name: string, take: (event: PaymentEvent) => void): void => {
    const refusal = live.refusal();
    if (refusal !== null) throw refusal;
    const onEvent = (event: PaymentEvent): void => {
      take(event);
      seen += 1;
      wake();
    };
    const onEnd = (error: Error): void => {
      failures.push(error);
      end();
    };
    stops.push(live.listen(name, { onEvent, onEnd }));
  };
  const takeChange = (event: PaymentEvent): void => known.takeChange(event);
  const stops: (() => void)[] = [];
  const read = new Set<string | null>();
  try {
    listen(topics.results, key, (event) => known.takeResult(event));
    const results = { stream: 'results', key, sinceMs: earlier(sinceMs) } as const;
    if (!(await topics.read(results, (event) => known.takeResult(event), stop))) return undefined;
    while (!stop.aborted) {
      const [failure] = failures;
      if (failure !== undefined) throw failure;
      wakeUp = Promise.withResolvers();
      const { result } = known;
      const transactionId = result === null ? null : transactionOf(result);
      if (result?.outcome === 'ACCEPTED' && !read.has(transactionId)) {
        listen(await topics.changes(), transactionId ?? key, takeChange);
        // The payment may have ended before this command, which only observed its end. Then the last event is older.
        for (const fromMs of [earlier(Number(result.commandTimestamp)), null]) {
          const lane = { stream: 'transaction-status', key: transactionId, sinceMs: fromMs } as const;
          if (!(await topics.read(lane, takeChange, stop))) return undefined;
          if (known.hasChange(transactionId)) break;
        }
        read.add(transactionId);
        continue;
      }
      const state = known.state();
      if (state.kind !== 'settled' && state.kind !== 'not-accepted') {
        await wakeUp.promise;
        continue;
      }
      if (seen === complete) return { ...state, key };
      const asked = seen;
      if (await hasCaughtUp(known, state, topics, over.signal)) complete = asked;
    }
    return undefined;
  } finally {
    stop.removeEventListener('abort', end);
    for (const listenNoMore of stops) listenNoMore();
  }
}

async function hasCaughtUp(
  known: KnownPayment,
  state: Extract<PaymentState, { kind: 'settled' | 'not-accepted' }>,
  { changes, results }: PaymentTopics,
  signal: AbortSignal,
): Promise<boolean> {
  const result = known.latestResult;
  if (result !== null && !(await results.caughtUp(result, signal))) return false;
  const change = state.kind === 'settled' ? known.lastChange(state.transactionId) : null;
  if (change === null) return true;
  // A result that names no transaction may concern one of another lane, too.
  const isNamed = transactionOf(state.result) !== null;
  return (await changes()).caughtUp(isNamed ? change : { topic: change.topic, partition: null }, signal);
}

function stateAtEnd(
  known: KnownPayment,
  key: string,
  { endedBy, reason }: { endedBy: 'timeout' | 'signal' | 'reading'; reason: string },
): Settlement {
  const unread = known.problem === null ? '' : `; not readable: ${known.problem}`;
  return { ...withoutEnd(known.state()), key, endedBy, problem: `${reason}${unread}` };
}

function earlier(ms: number | null): number | null {
  return ms === null ? null : Math.max(0, ms - CLOCK_SKEW_MS_MAX);
}
