/** Reads one message of the topic of operators' holds: JSON, whatever its headers say. */
import { holdOrder, type HoldOrder } from '../ledger/holds.ts';
import type { DeadLetter } from '../producers/dead-letters.ts';
import { parseUnambiguous } from 'payment-processor-contract/lossless-json';
import type { InputMessage } from './input-message.ts';
import { originalMessage, type Place } from './message-origin.ts';

export type HoldIntake =
  { kind: 'order'; order: HoldOrder; offset: bigint } | { kind: 'dead-letter'; letter: DeadLetter };

export function readHold(place: Place, laneCount: number, message: InputMessage): HoldIntake {
  const deadLettered = (reason: DeadLetter['reason'], problem: string): HoldIntake => ({
    kind: 'dead-letter',
    letter: { ...originalMessage(place, laneCount, message), reason, message: problem },
  });
  if (message.unreadableBatch !== null) return deadLettered('UNREADABLE_BATCH', message.unreadableBatch.problem);
  const order = orderOf(message.cut === null ? message.value : null);
  return order === null
    ? deadLettered('UNREADABLE', 'not a hold or release that the command line wrote')
    : { kind: 'order', order, offset: message.offset };
}

/** Null: it is not an order. */
export function orderOf(value: Buffer | null): HoldOrder | null {
  try {
    return value === null
      ? null
      : holdOrder.parse(parseUnambiguous(new TextDecoder('utf-8', { fatal: true }).decode(value)));
  } catch {
    return null;
  }
}
