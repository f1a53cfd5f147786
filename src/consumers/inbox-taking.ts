/** Taking from an inbox into a lane's transaction: oldest first, the position moving with each message that is handled. */
import { ITEMS_MAX, type LaneInbox, type Ready } from './lane-inbox.ts';
import type { LaneTransaction } from './lane-transaction.ts';

/**
 * @param handle puts what follows from a message into the transaction; anything but null stops the taking, with the
 * message left where it is
 * @returns what stopped it, or null
 */
export async function takeFrom<Item, Stop>(
  transaction: LaneTransaction,
  topic: string,
  inbox: LaneInbox<Item>,
  handle: (ready: Ready<Item>) => Promise<Stop | null>,
): Promise<Stop | null> {
  for (let count = 0; count < ITEMS_MAX && !transaction.isFull(); count += 1) {
    const ready = inbox.peek();
    if (ready === undefined) return null;
    const stop = await handle(ready);
    if (stop !== null) return stop;
    inbox.take();
    transaction.moveTo(topic, inbox.position() ?? ready.offset + 1n);
  }
  return null;
}
