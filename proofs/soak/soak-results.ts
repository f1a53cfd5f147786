/**
 * Follows the results of a long run in little memory: of each key its first result, and what contradicts it. Retention
 * removes results while the run goes on, so that they cannot be read anew at its end. A subscription that fails is opened
 * anew from the beginning; what was read is read once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { subscribe, type Outcome, type Subscription } from '../../src/client/index.ts';
import type { ClientSettings } from '../../src/client/settings.ts';
import type { ResultEvent } from '../../test/support/journal.ts';

const REOPEN_MS = 1_000;

export interface FirstResult {
  outcome: Outcome;
  id: string | null;
  replays: number;
}

export class SoakResults {
  readonly first = new Map<string, FirstResult>();
  /** Results beside the one that a key may have, in words. */
  readonly contradictions: string[] = [];
  readonly #read = new Map<number, bigint>();
  #subscription: Subscription | null = null;
  #isClosed = false;

  static async open(settings: ClientSettings): Promise<SoakResults> {
    const results = new SoakResults();
    await results.#open(settings);
    return results;
  }

  take({ headers, id, key, offset, partition, value }: ResultEvent): void {
    // A record that is handed over again is the same record.
    if (offset <= (this.#read.get(partition) ?? -1n)) return;
    this.#read.set(partition, offset);
    const { outcome, revision } = value;
    const first = this.first.get(key);
    if (first === undefined) {
      if (revision !== 1) this.contradictions.push(`${key}: its first result has revision ${revision}`);
      this.first.set(key, { outcome, id, replays: 0 });
    } else if (headers['replayed'] === 'true' && id === first.id) first.replays += 1;
    else this.contradictions.push(`${key}: ${outcome} (${id}) after ${first.outcome} (${first.id})`);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#subscription?.close();
  }

  async #open(settings: ClientSettings): Promise<void> {
    const subscription = await subscribe(settings, {
      streams: ['results'],
      start: { from: 'beginning' },
      onEvent: (event) => {
        if (event.kind === 'result') this.take(event);
        else this.contradictions.push(`${event.key}: ${event.kind} among the results`);
      },
    });
    this.#subscription = subscription;
    subscription.ended.then(
      () => undefined,
      () => void this.#openAgain(settings),
    );
  }

  async #openAgain(settings: ClientSettings): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#open(settings);
        return;
      } catch {
        await delay(REOPEN_MS);
      }
    }
  }
}
