/** Reads what the topic of a stream holds, to the end that it had when the reading began. */
import type { PaymentEvent, Stream } from './events.ts';
import { outagesAlone } from './notices.ts';
import type { PublisherSettings } from './settings.ts';
import { subscribe, type ConnectionOptions } from './subscription.ts';

export interface Lane {
  stream: Stream;
  /** Its lane alone; null: all lanes. */
  key: string | null;
  /** From this instant on; null: from the beginning. */
  sinceMs: number | null;
}

/**
 * @param signal ends the reading early
 * @returns whether all was read
 * @throws as subscribe
 */
export type LaneReader = (lane: Lane, onEvent: (event: PaymentEvent) => void, signal: AbortSignal) => Promise<boolean>;

export function laneReader(settings: PublisherSettings, options: ConnectionOptions): LaneReader {
  return async ({ key, sinceMs, stream }, onEvent, signal) => {
    const subscription = await subscribe(settings, {
      ...options,
      ...outagesAlone(options),
      streams: [stream],
      start: sinceMs === null ? { from: 'beginning' } : { from: 'time', ms: sinceMs },
      untilEnd: true,
      onEvent,
      ...(key === null ? {} : { key }),
    });
    const stop = (): void => void subscription.close();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      await subscription.ended;
      return !signal.aborted;
    } finally {
      signal.removeEventListener('abort', stop);
      await subscription.close();
    }
  };
}
