/** Ids of handled events, to skip copies. */
import { messageOf } from 'payment-processor-contract/registry-http';
import { PaymentClientError, requireBoolean } from './client-error.ts';
import type { PaymentEvent } from './events.ts';

/** Remembers events by their `uniqueId`. An event that is not remembered is handled, possibly again. */
export interface SeenEvents {
  has: (uniqueId: string) => Promise<boolean> | boolean;
  /**
   * Called after the event was handled, before its offset is committed. Not for an unreadable event: a copy may be readable
   * once its schema is registered.
   */
  remember: (uniqueId: string) => Promise<void> | void;
}

/**
 * Handles the event, unless it was handled before.
 * @throws PaymentClientError, HANDLER_FAILED with what `seen` threw; what `handle` throws
 */
export async function onceRemembered(
  seen: SeenEvents | null,
  { kind, uniqueId }: Pick<PaymentEvent, 'kind' | 'uniqueId'>,
  handle: () => Promise<void>,
): Promise<void> {
  if (
    seen !== null &&
    uniqueId !== null &&
    (await callStore(async () => requireBoolean('has()', await seen.has(uniqueId))))
  )
    return;
  await handle();
  if (uniqueId !== null && kind !== 'unreadable') await callStore(() => seen?.remember(uniqueId));
}

async function callStore<Value>(call: () => Promise<Value> | Value): Promise<Value> {
  try {
    return await call();
  } catch (error) {
    throw new PaymentClientError('HANDLER_FAILED', `deduplicate: ${messageOf(error)}`, { cause: error });
  }
}

/** Copies follow soon after their originals. This many ids take about a megabyte. */
const IDS_MAX = 10_000;

/** The latest ids, in memory; the oldest are dropped first. */
export class RecentIds implements SeenEvents {
  readonly #ids = new Set<string>();

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  remember(id: string): void {
    this.#ids.add(id);
    if (this.#ids.size <= IDS_MAX) return;
    const [oldest] = this.#ids;
    if (oldest !== undefined) this.#ids.delete(oldest);
  }
}
