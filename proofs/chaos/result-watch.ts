/**
 * Follows results during a run, in little memory: the first of each key, what contradicts it, and when a lane next gave
 * one. A subscription that fails is opened again from the beginning, and skips what was already read.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { subscribe, type Outcome, type Subscription } from 'payment-processor-client';
import type { ClientSettings } from 'payment-processor-client/internal/settings';
import { laneOf } from 'payment-processor-contract/keys';
import type { ResultEvent } from '../../test/support/journal.ts';
import { LANES } from '../../test/support/stack-options.ts';
import { Watch } from '../../test/support/watch.ts';

const REOPEN_MS = 1_000;

export interface Awaited {
  /** Time until the first result; null while there is none. */
  tookMs: number | null;
}

export interface FirstResult {
  readonly outcome: Outcome;
  readonly id: string | null;
  replays: number;
}

export class ResultWatch {
  readonly first = new Map<string, FirstResult>();
  /** Results that contradict the first of their key, in words. */
  readonly contradictions: string[] = [];
  readonly watch = new Watch();
  readonly #settings: ClientSettings;
  readonly #read = new Map<number, bigint>();
  readonly #awaiting = new Set<{ lanes: readonly number[]; sinceMs: number; awaited: Awaited }>();
  #subscription: Subscription | null = null;
  #isClosed = false;

  constructor(settings: ClientSettings) {
    this.#settings = settings;
  }

  static async open(settings: ClientSettings): Promise<ResultWatch> {
    const watch = new ResultWatch(settings);
    await watch.#open();
    return watch;
  }

  /** Measures the time from now until one of the lanes writes its next result. */
  nextResultIn(lanes: readonly number[]): Awaited {
    const awaited: Awaited = { tookMs: null };
    this.#awaiting.add({ lanes, sinceMs: Date.now(), awaited });
    return awaited;
  }

  take(event: ResultEvent): void {
    const { headers, id, key, offset, partition, value } = event;
    // A record that was already read.
    if (offset <= (this.#read.get(partition) ?? -1n)) return;
    this.#read.set(partition, offset);
    const { outcome, revision } = value;
    const first = this.first.get(key);
    // A CONFLICT is about a message, not about its key.
    if (first === undefined && outcome !== 'CONFLICT') {
      if (revision !== 1) this.contradictions.push(`${key}: its first result has revision ${revision}`);
      this.first.set(key, { outcome, id, replays: 0 });
    } else if (first !== undefined && headers['replayed'] === 'true' && id === first.id) first.replays += 1;
    else this.contradictions.push(`${key}: ${outcome} (${id}) after ${first?.outcome} (${first?.id})`);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#subscription?.close();
  }

  async #open(): Promise<void> {
    const openedMs = Date.now();
    const subscription = await subscribe(this.#settings, {
      streams: ['results'],
      start: { from: 'beginning' },
      onEvent: (event) => {
        // Results from before the subscription opened end no measurement.
        if (event.timestampMs >= openedMs) this.#saw(laneOf(event.key, LANES), event.timestampMs);
        if (event.kind === 'result') this.take(event);
        else this.contradictions.push(`${event.key}: ${event.kind} among the results`);
        this.watch.changed();
      },
    });
    this.#subscription = subscription;
    subscription.ended.then(
      () => undefined,
      () => void this.#openAgain(),
    );
  }

  async #openAgain(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#open();
        return;
      } catch {
        await delay(REOPEN_MS);
      }
    }
  }

  /** @param writtenMs when its processor wrote it; a result from before a measurement does not end it */
  #saw(lane: number, writtenMs: number): void {
    for (const waiting of this.#awaiting) {
      if (!waiting.lanes.includes(lane) || writtenMs <= waiting.sinceMs) continue;
      waiting.awaited.tookMs = writtenMs - waiting.sinceMs;
      this.#awaiting.delete(waiting);
    }
  }
}
