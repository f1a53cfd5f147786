/** POST /transactions/{transactionId}/reject: only an incoming payment that is PENDING. */
import { z } from 'zod';
import { rejectIncoming } from '../payments.ts';
import { errorReply, invalidInput, jsonReply, unchanged, type Outcome } from '../replies.ts';
import type { World } from '../state.ts';
import { check } from '../validation.ts';
import { transactionView } from '../views.ts';

const BODY = z.strictObject({ reason: z.string().optional() });

/** `body` is undefined if the request had none. */
export function rejectTransaction(world: World, transactionId: string, body: unknown): Outcome {
  const checked = body === undefined ? null : check(BODY, body);
  if (checked?.ok === false) return unchanged(invalidInput(...checked.problems));
  const transaction = world.transactions.get(transactionId);
  if (transaction === undefined)
    return unchanged(errorReply(404, 'TRANSACTION_NOT_FOUND', 'there is no such transaction'));
  const rejectable = transaction.type === 'INCOMING' && transaction.status === 'PENDING';
  world.effects.countRejection(transactionId, rejectable);
  if (!rejectable) {
    const message = `only an incoming payment that is PENDING can be rejected; this one is ${transaction.type} and ${transaction.status}`;
    return unchanged(errorReply(409, 'TRANSACTION_NOT_PENDING_PLATFORM_APPROVAL', message));
  }
  rejectIncoming(world, transaction, world.clock.nowMs());
  return { reply: jsonReply(200, transactionView(transaction)), effect: { transactionId } };
}
