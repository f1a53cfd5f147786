/**
 * Moves messages from an inbox into a lane's transaction, oldest first; the position moves with each. A message that makes our own
 * code fail is retried in later transactions, then set aside (invariant I6).
 */
import type { Clock } from 'payment-processor-contract/clock';
import { ITEMS_MAX, type Inbox } from '../../consumers/inbox.ts';
import type { InputMessage } from '../../consumers/input-message.ts';
import { errorText, type MessageFailures } from '../../consumers/message-failures.ts';
import type { Aside, Place } from '../../consumers/message-origin.ts';
import type { CarefulReading } from './careful-reading.ts';
import type { LaneReports } from '../reports.ts';
import type { LaneTransaction } from '../commits/transaction.ts';

/** What an open lane does with the messages of an input. */
export interface InputHandler<Item extends { readonly kind: string }, Stop, At extends Place = Place> {
  /** For the report of a failure. */
  readonly name: string;
  /** Puts the consequences of a message into the transaction, all or nothing. If it returns a stop, the message stays. */
  handle(transaction: LaneTransaction, item: Item): Stop | null;
  /** Puts the dead letter of a failed message into the transaction; a command with a new key also gets a FAILED result. It made no call. */
  setAside(transaction: LaneTransaction, place: At, message: InputMessage, aside: Aside): void;
}

/** An inbox and its place: topic and lane. */
export interface Input<Item extends { readonly kind: string }, At extends Place = Place> {
  readonly place: At;
  readonly inbox: Inbox<Item>;
}

export interface TakingParts {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly failures: MessageFailures;
  readonly reports: Pick<LaneReports, 'failed'>;
}

/**
 * @param careful null: messages are read as they come
 * @returns what stopped it early, or null
 */
export function takeFrom<Item extends { readonly kind: string }, Stop, At extends Place>(
  { clock, failures, reports }: TakingParts,
  careful: CarefulReading | null,
  transaction: LaneTransaction,
  { inbox, place }: Input<Item, At>,
  handler: InputHandler<Item, Stop, At>,
): Stop | 'failed' | null {
  const { lane, topic } = place;
  for (let count = 0; count < ITEMS_MAX; count += 1) {
    const message = inbox.head();
    // Checked before `mayTake`: an empty input must not use up the one unit that each phase is guaranteed.
    if (message === undefined || !transaction.mayTake(clock.monotonicMs())) return null;
    const { offset } = message;
    const order = inbox.isUnread() ? (careful?.before(topic, offset) ?? null) : null;
    switch (order?.kind) {
      case 'not-now':
        return null;
      case 'mark':
        transaction.mark(order.mark);
        transaction.unitDone();
        return null;
      case 'set-aside':
        handler.setAside(transaction, place, message, { problem: order.problem, isByReference: true });
        break;
      case 'read':
      case undefined:
        try {
          const read = inbox.read();
          if (read === null) {
            if (inbox.isUnavailable()) careful?.postponed(topic, false);
            return null;
          }
          const stop = handler.handle(transaction, read.item);
          if (stop === null) break;
          careful?.postponed(topic, true);
          return stop;
        } catch (error) {
          reports.failed(lane, handler.name, error);
          if (!failures.count(topic, offset)) return 'failed';
          handler.setAside(transaction, place, message, { problem: errorText(error), isByReference: false });
        }
    }
    inbox.take();
    transaction.moveTo(topic, inbox.position() ?? offset + 1n);
    transaction.unitDone({ topic, offset });
  }
  return null;
}
