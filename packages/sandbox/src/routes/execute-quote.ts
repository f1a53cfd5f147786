/** POST /quotes/{quoteId}/execute: works once. A second try, or one after expiry, is a conflict. */
import { isJsonObject } from 'payment-processor-contract/lossless-json';
import { executeQuote } from '../payments.ts';
import { errorReply, invalidInput, jsonReply, unchanged, type Outcome, type Reply } from '../replies.ts';
import { isInternal, type Account, type World } from '../state.ts';
import { quoteView } from '../views.ts';

/** `body` is undefined if the request had none. */
export function executeQuoteById(world: World, quoteId: string, body: unknown): Outcome {
  if (body !== undefined && !(isJsonObject(body) && Object.keys(body).length === 0)) {
    return unchanged(invalidInput({ path: '', message: 'this endpoint takes no body' }));
  }
  const quote = world.quotes.get(quoteId);
  if (quote === undefined) return unchanged(errorReply(404, 'QUOTE_NOT_FOUND', 'there is no such quote'));
  const refused =
    refusalOf(quote.status) ?? insufficientBalance(world, quote.source.account, quote.price.totalSendingAmount);
  world.effects.countExecution(quoteId, refused === null);
  if (refused !== null) return unchanged(refused);
  executeQuote(world, quote, world.clock.nowMs());
  return { reply: jsonReply(200, quoteView(quote)), effect: { transactionId: quote.transaction.id } };
}

/** The refusal if an internal account holds less than the amount to send, else null. */
export function insufficientBalance(world: World, account: Account, amount: bigint): Reply | null {
  if (!isInternal(account) || world.books.balanceOf(account.id, account.currency.code) >= amount) return null;
  return errorReply(400, 'INSUFFICIENT_BALANCE', 'the source account holds less than the amount to be sent');
}

function refusalOf(status: string): Reply | null {
  if (status === 'PENDING') return null;
  if (status === 'EXPIRED') return errorReply(409, 'QUOTE_EXPIRED', 'the quote has expired');
  return errorReply(409, 'CONFLICT', `the quote was executed before; it is ${status}`);
}
