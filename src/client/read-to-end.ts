/** Reads what a topic holds, to the end that it had when the reading began. */
import { outagesAlone } from './notices.ts';
import type { PublisherSettings } from './settings.ts';
import { subscribe, type SubscriptionOptions } from './subscription.ts';

type ReadOptions = Pick<SubscriptionOptions, 'streams' | 'start' | 'key' | 'onEvent' | 'format' | 'retry' | 'onNotice'>;

/**
 * @param signal ends the reading early
 * @returns whether all was read
 * @throws as subscribe
 */
export async function readToEnd(
  settings: PublisherSettings,
  options: ReadOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const subscription = await subscribe(settings, { ...options, ...outagesAlone(options), untilEnd: true });
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
}
