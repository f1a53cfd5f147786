/** Commands that tests publish. Each moves money between its own accounts. */
import type { CommandInput } from 'payment-processor-client';
import { laneOf } from 'payment-processor-contract/keys';
import { LANES } from './stack-options.ts';
import type { Stack } from './stack.ts';
import type { TestStack } from './with-stack.ts';

/** Starting balance of the sandbox's internal accounts; smallest unit. */
export const STARTING_BALANCE = 9_000_000_000_000_000_000n;

/** Destination of this key's transfer-in. The final letter is there because final digits select a sandbox scenario. */
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

/** Every message of a command carries it, so that tests can match events to commands. */
export function correlationIdOf(key: string): string {
  return `order of ${key}`;
}

/** @returns `count` keys of the lane */
export function keysOfLane(name: string, lane: number, count: number, laneCount = LANES): string[] {
  const keys: string[] = [];
  for (let index = 1; keys.length < count; index += 1) {
    const key = `${name}-${index}`;
    if (laneOf(key, laneCount) === lane) keys.push(key);
  }
  return keys;
}

/** Publishes transfers in. @returns their keys */
export async function publishTransfers(
  { publisher }: { publisher: Pick<TestStack['publisher'], 'publish'> },
  name: string,
  count: number,
): Promise<string[]> {
  const keys = Array.from({ length: count }, (_, index) => `${name}-${index}`);
  await Promise.all(keys.map((key) => publisher.publish('transfer-in', key, transferInOf(key))));
  return keys;
}

/** Creates `count` quotes at the service, which do not expire while a test runs. @returns the commands that execute them, by key */
export async function executionsOf(
  stack: Pick<Stack, 'service'>,
  name: string,
  count: number,
): Promise<Map<string, CommandInput<'execute-quote'>>> {
  await stack.service.set({ quoteLifetimeMs: 3_600_000 });
  const keys = Array.from({ length: count }, (_, index) => `${name}-${index}`);
  return new Map(await Promise.all(keys.map(async (key) => [key, await executionOf(stack, key)] as const)));
}

/** Creates a quote at the service, without the processor. @returns the command that executes it */
export async function executionOf(stack: Pick<Stack, 'service'>, key: string): Promise<CommandInput<'execute-quote'>> {
  const quote = await stack.service.createQuote(accountOf(key));
  return { quoteId: quote.id, transactionId: quote.transactionId };
}

/** Creates a PENDING incoming payment at the service. @returns the command that rejects it */
export async function rejectionOf(
  stack: Pick<Stack, 'service'>,
  key: string,
): Promise<CommandInput<'reject-transaction'>> {
  const transaction = await stack.service.simulateUmaReceive(`Customer:${key}-x`);
  return { transactionId: transaction.id, reason: 'not expected' };
}
