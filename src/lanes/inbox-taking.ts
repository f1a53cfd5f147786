/**
 * Taking from an inbox into a lane's transaction: oldest first, the position moving with each message that is handled. A
 * message that makes our own code fail is tried again with later transactions, then set aside (invariant I6).
 */
import { ITEMS_MAX, type LaneInbox } from '../consumers/inbox.ts';
import type { InputMessage } from '../consumers/input-message.ts';
import type { MessageFailures } from '../consumers/message-failures.ts';
import type { LaneTransaction } from './transaction.ts';

export interface Taking<Item, Stop> {
  readonly topic: string;
  readonly inbox: LaneInbox<Item>;
  readonly failures: MessageFailures;
  /** Puts what follows from a message into the transaction, all or nothing; anything but null leaves it where it is. */
  readonly handle: (item: Item) => Promise<Stop | null>;
  /** Puts what is left to do with it into the transaction: nothing of it was sent. */
  readonly setAside: (message: InputMessage, error: unknown) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** @returns what stopped it before the end, or null */
export async function takeFrom<Item, Stop>(
  transaction: LaneTransaction,
  { failures, handle, inbox, onFailure, setAside, topic }: Taking<Item, Stop>,
): Promise<Stop | 'failed' | null> {
  for (let count = 0; count < ITEMS_MAX && !transaction.isFull(); count += 1) {
    const ready = inbox.peek();
    if (ready === undefined) return null;
    try {
      const stop = await handle(ready.item);
      if (stop !== null) return stop;
    } catch (error) {
      onFailure(error);
      if (!failures.count(topic, ready.offset)) return 'failed';
      await setAside(ready.message, error);
    }
    inbox.take();
    transaction.moveTo(topic, inbox.position() ?? ready.offset + 1n);
    transaction.unitDone({ topic, offset: ready.offset });
  }
  return null;
}
