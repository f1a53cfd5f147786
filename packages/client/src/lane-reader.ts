/** Reads a stream's topic up to the end that it had at the start, records of open transactions included. */
import type { PaymentEvent, Stream } from './events.ts';
import { onlyOutages } from './notices.ts';
import { onAbort } from './on-abort.ts';
import type { PublisherSettings } from './settings.ts';
import { subscribeUntilWritten, type ConnectionOptions } from './subscription.ts';
import { Turns } from './turns.ts';

export interface Lane {
  stream: Stream;
  /** Reads only this key's lane; null: all lanes. */
  key: string | null;
  /** Start time; null: from the beginning. */
  sinceMs: number | null;
}

/**
 * @param signal stops early
 * @returns whether it reached the end
 * @throws as subscribe
 */
export type LaneReader = (lane: Lane, onEvent: (event: PaymentEvent) => void, signal: AbortSignal) => Promise<boolean>;

/** Readings at once: each has a consumer group and connections of its own. */
const READINGS_MAX = 20;

export function laneReader(settings: PublisherSettings, options: ConnectionOptions): LaneReader {
  const read = oneReading(settings, options);
  const turns = new Turns(READINGS_MAX);
  return async (lane, onEvent, signal) => {
    if (!(await turns.begin(signal))) return false;
    try {
      return await read(lane, onEvent, signal);
    } finally {
      turns.end();
    }
  };
}

function oneReading(settings: PublisherSettings, options: ConnectionOptions): LaneReader {
  return async ({ key, sinceMs, stream }, onEvent, signal) => {
    const subscription = await subscribeUntilWritten(settings, {
      ...options,
      ...onlyOutages(options),
      streams: [stream],
      start: sinceMs === null ? { from: 'beginning' } : { from: 'time', ms: sinceMs },
      onEvent,
      ...(key === null ? {} : { key }),
    });
    const listenNoMore = onAbort(signal, () => void subscription.close());
    try {
      await subscription.ended;
      return !signal.aborted;
    } finally {
      listenNoMore();
      await subscription.close();
    }
  };
}
