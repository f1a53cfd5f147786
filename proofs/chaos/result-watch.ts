/**
 * Follows results while a run goes on: which keys have one, and when a lane gave one again. A subscription that fails is
 * opened anew from the beginning; what was seen is seen once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { subscribe, type Subscription } from '../../src/client/index.ts';
import type { ClientSettings } from '../../src/client/settings.ts';
import { laneOf } from '../../src/records/keys.ts';
import type { ResultEvent } from '../../test/support/journal.ts';
import { LANES } from '../../test/support/stack.ts';
import { Watch } from '../../test/support/watch.ts';

const REOPEN_MS = 1_000;

export interface Awaited {
  /** Of the first result; null while there is none. */
  tookMs: number | null;
}

export class ResultWatch {
  readonly answered = new Set<string>();
  readonly watch = new Watch();
  readonly #settings: ClientSettings;
  readonly #onResult: (event: ResultEvent) => void;
  readonly #awaiting = new Set<{ lanes: readonly number[]; sinceMs: number; awaited: Awaited }>();
  #subscription: Subscription | null = null;
  #isClosed = false;

  private constructor(settings: ClientSettings, onResult: (event: ResultEvent) => void) {
    this.#settings = settings;
    this.#onResult = onResult;
  }

  /** @param onResult is told the first result of each key */
  static async open(
    settings: ClientSettings,
    onResult: (event: ResultEvent) => void = () => undefined,
  ): Promise<ResultWatch> {
    const watch = new ResultWatch(settings, onResult);
    await watch.#open();
    return watch;
  }

  /** Measures from now on until the first result of one of the lanes is written. */
  nextResultIn(lanes: readonly number[]): Awaited {
    const awaited: Awaited = { tookMs: null };
    this.#awaiting.add({ lanes, sinceMs: Date.now(), awaited });
    return awaited;
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
        // Of one that is read again only the key counts.
        if (event.timestampMs >= openedMs) this.#saw(laneOf(event.key, LANES), event.timestampMs);
        if (event.kind === 'result' && event.value.outcome !== 'CONFLICT' && !this.answered.has(event.key)) {
          this.answered.add(event.key);
          this.#onResult(event);
        }
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

  /** @param writtenMs when its processor wrote it: one that was written before is no answer to what happened since */
  #saw(lane: number, writtenMs: number): void {
    for (const waiting of this.#awaiting) {
      if (!waiting.lanes.includes(lane) || writtenMs <= waiting.sinceMs) continue;
      waiting.awaited.tookMs = writtenMs - waiting.sinceMs;
      this.#awaiting.delete(waiting);
    }
  }
}
