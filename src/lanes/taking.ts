/**
 * Taking from an inbox into a lane's transaction: oldest first, the position moving with each message that is handled. A
 * message that makes our own code fail is tried again with later transactions, then set aside (invariant I6).
 */
import type { Clock } from 'payment-processor-contract/clock';
import { ITEMS_MAX, type Inbox } from '../consumers/inbox.ts';
import type { InputMessage } from '../consumers/input-message.ts';
import { errorText, type MessageFailures } from '../consumers/message-failures.ts';
import type { Place } from '../consumers/message-origin.ts';
import type { LaneReports } from './reports.ts';
import type { LaneTransaction } from './transaction.ts';

/** What an open lane does with the messages of an input. */
export interface InputHandler<Item, Stop, At extends Place = Place> {
  /** For the report of a failure. */
  readonly name: string;
  /** Puts what follows from a message into the transaction, all or nothing; anything but null leaves it where it is. */
  handle(transaction: LaneTransaction, item: Item): Promise<Stop | null>;
  /** Puts what is left to do with it into the transaction: nothing of it was sent. */
  setAside(transaction: LaneTransaction, place: At, message: InputMessage, problem: string): Promise<void>;
}

/** An inbox, and where it stands. */
export interface Input<Item, At extends Place = Place> {
  readonly place: At;
  readonly inbox: Inbox<Item>;
}

/** @returns what stopped it before the end, or null */
export async function takeFrom<Item, Stop, At extends Place>(
  { clock, failures, reports }: { clock: Clock; failures: MessageFailures; reports: Pick<LaneReports, 'failed'> },
  transaction: LaneTransaction,
  { inbox, place }: Input<Item, At>,
  handler: InputHandler<Item, Stop, At>,
): Promise<Stop | 'failed' | null> {
  const { lane, topic } = place;
  for (let count = 0; count < ITEMS_MAX && transaction.hasRoom(clock.monotonicMs()); count += 1) {
    const ready = inbox.peek();
    if (ready === undefined) return null;
    try {
      const stop = await handler.handle(transaction, ready.item);
      if (stop !== null) return stop;
    } catch (error) {
      reports.failed(lane, handler.name, error);
      if (!failures.count(topic, ready.offset)) return 'failed';
      await handler.setAside(transaction, place, ready.message, errorText(error));
    }
    inbox.take();
    transaction.moveTo(topic, inbox.position() ?? ready.offset + 1n);
    transaction.unitDone({ topic, offset: ready.offset });
  }
  return null;
}
