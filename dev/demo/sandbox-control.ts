/** The sandbox's control endpoints, as far as the demo uses them: fault rules, settings, books and effects. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultRule } from '../sandbox/faults.ts';

/** `GET /control/books`: amounts are strings of the smallest unit. */
export interface ServiceBooks {
  readonly balanced: boolean;
  readonly entries: number;
  readonly totals: Readonly<Record<string, string>>;
  readonly balances: readonly { account: string; currency: string; balance: string }[];
}

export interface KeyEffects {
  readonly calls: number;
  readonly effects: number;
}

/** `GET /control/effects`. */
export interface ServiceEffects {
  /** Operation -> Idempotency-Key -> counts. */
  readonly operations: Readonly<Record<string, Readonly<Record<string, KeyEffects>>>>;
  /** Operation -> counts of calls without a key. */
  readonly unkeyed: Readonly<Record<string, KeyEffects>>;
  readonly quotes: Readonly<Record<string, { executeCalls: number; executions: number }>>;
}

/** It is in this process and answers at once. */
const ANSWER_MS_MAX = 5_000;
/** Payments are done about two seconds after their execution; what a fault rule delays may take longer, and is shown. */
const SETTLED_MS_MAX = 10_000;
const SETTLED_POLL_MS = 100;

export async function addFaults(url: string, faults: readonly FaultRule[]): Promise<void> {
  await control(url, 'faults', faults);
}

export async function setQuoteLifetime(url: string, quoteLifetimeMs: number): Promise<void> {
  await control(url, 'settings', { quoteLifetimeMs });
}

/** Waits until no money is under way, or for some seconds. */
export async function readSettledBooks(url: string): Promise<ServiceBooks> {
  const startedAtMs = performance.now();
  for (;;) {
    const books = (await control(url, 'books')) as ServiceBooks;
    if (amountsInTransit(books).length === 0 || performance.now() - startedAtMs > SETTLED_MS_MAX) return books;
    await sleep(SETTLED_POLL_MS);
  }
}

/** What was taken from senders and has neither been delivered nor returned; such as `77273 USD`. */
export function amountsInTransit(books: ServiceBooks): string[] {
  return books.balances
    .filter(({ account, balance }) => account === 'transit' && balance !== '0')
    .map(({ currency, balance }) => `${balance} ${currency}`);
}

export async function readEffects(url: string): Promise<ServiceEffects> {
  return (await control(url, 'effects')) as ServiceEffects;
}

async function control(url: string, name: string, body?: object): Promise<unknown> {
  const response = await fetch(`${url}/control/${name}`, {
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`BUG: the sandbox refused /control/${name}: ${text}`);
  return JSON.parse(text) as unknown;
}
