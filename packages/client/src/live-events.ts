/**
 * Delivers new events to listeners by name: a command's key or a transaction's id. One subscription serves all listeners,
 * until it is closed.
 */
import { clientError, PaymentClientError } from './client-error.ts';
import type { PaymentEvent, Stream } from './events.ts';
import { onlyOutages } from './notices.ts';
import type { PublisherSettings } from './settings.ts';
import type { Place } from './kafka/catch-up.ts';
import type { TopicReader } from './kafka/topic-reader.ts';
import { subscribeLive, type ConnectionOptions } from './subscription.ts';

export interface Listener {
  onEvent: (event: PaymentEvent) => void;
  /** No event follows. */
  onEnd: (error: Error) => void;
}

const LISTENERS_MAX = 100_000;

export class LiveEvents {
  readonly #listeners = new Map<string, Set<Listener>>();
  #count = 0;
  #subscription: TopicReader | null = null;
  #ended: Error | null = null;

  /**
   * @returns once it sees every event published from here on
   * @throws as subscribe
   */
  static async open(settings: PublisherSettings, stream: Stream, options: ConnectionOptions): Promise<LiveEvents> {
    const live = new LiveEvents();
    live.#subscription = await subscribeLive(settings, {
      ...options,
      ...onlyOutages(options),
      streams: [stream],
      start: { from: 'now' },
      onEvent: (event) => live.take(event),
    });
    live.#subscription.ended.catch((error: unknown) => {
      const { code, message } = clientError(error);
      live.#end(new PaymentClientError(code, `the subscription to ${stream} ended: ${message}`, { cause: error }));
    });
    return live;
  }

  take(event: PaymentEvent): void {
    for (const listener of this.#listenersOf(event)) listener.onEvent(event);
  }

  get isOpen(): boolean {
    return this.#ended === null;
  }

  /** Why it accepts no new listener: it has ended, or has too many; null: it accepts one. */
  refusal(): Error | null {
    if (this.#ended !== null || this.#count < LISTENERS_MAX) return this.#ended;
    const problem = `${LISTENERS_MAX} results are awaited already: await some of them first`;
    return new PaymentClientError('TOO_MANY', problem);
  }

  /** @returns a function that removes the listener */
  listen(name: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener));
    this.#count += 1;
    return () => {
      if (!listeners.delete(listener)) return;
      this.#count -= 1;
      if (listeners.size === 0 && this.#listeners.get(name) === listeners) this.#listeners.delete(name);
    };
  }

  /**
   * Waits until listeners have every event that was written there before this call. After an outage, later events may
   * already contradict the first one that comes.
   * @returns false: the signal came first
   */
  async caughtUp(place: Place, signal: AbortSignal): Promise<boolean> {
    return this.#subscription === null || this.#subscription.caughtUp(place, signal);
  }

  /** Ends every listener with CLOSED. */
  async close(): Promise<void> {
    this.#end(new PaymentClientError('CLOSED', 'the client was closed'));
    await this.#subscription?.close();
  }

  #listenersOf(event: PaymentEvent): ReadonlySet<Listener> {
    const names = event.kind === 'transaction-status' ? [event.key, ...event.value.commandKeys] : [event.key];
    return new Set(names.flatMap((name) => [...(this.#listeners.get(name) ?? [])]));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const listeners of this.#listeners.values()) {
      for (const listener of listeners) listener.onEnd(this.#ended);
    }
  }
}
