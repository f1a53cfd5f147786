/** Commands as tests publish them, each moving the money of accounts of its own. */
import type { CommandInput } from 'payment-processor-client';
import { laneOf } from 'payment-processor-contract/keys';
import { LANES } from './stack-options.ts';
import type { Stack } from './stack.ts';

/** What an internal account of the sandbox begins with; smallest unit. */
export const STARTING_BALANCE = 9_000_000_000_000_000_000n;

/** The account that a transfer-in of this key moves money to. The last letter keeps the sandbox's scenarios away. */
export function accountOf(key: string): string {
  return `InternalAccount:${key}-x`;
}

export function transferInOf(key: string, amount = 100n): CommandInput<'transfer-in'> {
  return { source: { accountId: 'ExternalAccount:payer-x' }, destination: { accountId: accountOf(key) }, amount };
}

export function createQuoteOf(key: string, amount = 1000n): CommandInput<'create-quote'> {
  return {
    source: { sourceType: 'ACCOUNT', accountId: accountOf(key) },
    destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:payee-x' },
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: amount,
  };
}

/** Carried by every message of a command, so that its events can be recognised as its own. */
export function correlationIdOf(key: string): string {
  return `order of ${key}`;
}

/** @returns keys of the lane, as many as wanted */
export function keysOfLane(name: string, lane: number, count: number, laneCount = LANES): string[] {
  const keys: string[] = [];
  for (let index = 1; keys.length < count; index += 1) {
    const key = `${name}-${index}`;
    if (laneOf(key, laneCount) === lane) keys.push(key);
  }
  return keys;
}

/** A quote made beside the processor, and the command that executes it. */
export async function executionOf(stack: Pick<Stack, 'service'>, key: string): Promise<CommandInput<'execute-quote'>> {
  const quote = await stack.service.createQuote(accountOf(key));
  return { quoteId: quote.id, transactionId: quote.transactionId };
}

/** An incoming payment that is PENDING, and the command that rejects it. */
export async function rejectionOf(
  stack: Pick<Stack, 'service'>,
  key: string,
): Promise<CommandInput<'reject-transaction'>> {
  const transaction = await stack.service.simulateUmaReceive(`Customer:${key}-x`);
  return { transactionId: transaction.id, reason: 'not expected' };
}
