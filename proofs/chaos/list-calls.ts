/** Records when pollers ask the service in this process for pages of transactions, until `close`. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

const REQUEST_STARTS = 'http.server.request.start';
const MINUTE_MS = 60_000;

export class ListCalls {
  /** Arrivals on the wall clock. */
  readonly atMs: number[] = [];
  readonly #port: number;

  /** @param port of the service */
  constructor(port: number) {
    this.#port = port;
    subscribe(REQUEST_STARTS, this.#take);
  }

  close(): void {
    unsubscribe(REQUEST_STARTS, this.#take);
  }

  /** The most in any minute. */
  mostInAMinute(): number {
    let most = 0;
    let first = 0;
    for (const [index, atMs] of this.atMs.entries()) {
      while ((this.atMs[first] ?? atMs) <= atMs - MINUTE_MS) first += 1;
      most = Math.max(most, index - first + 1);
    }
    return most;
  }

  readonly #take = (message: unknown): void => {
    const { request } = message as { request: IncomingMessage };
    if (request.socket.localPort !== this.#port || request.method !== 'GET') return;
    const url = request.url ?? '';
    // A page of one is the service check of a starting processor. Only look-ups sort: the poller's limit does not count them.
    const isOther = url.startsWith('/control/') || /[?&](limit=1(&|$)|sortOrder=)/.test(url);
    if (url.includes('/transactions?') && !isOther) this.atMs.push(Date.now());
  };
}
