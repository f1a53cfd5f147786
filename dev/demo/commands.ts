/**
 * The fields of the demo's commands, and their accounts. Account ids avoid the endings (three digits) to which the
 * sandbox gives a meaning. Amounts are in the smallest unit of their currency.
 */
import type { CommandInput } from 'payment-processor-client/internal/command-input';
import type { AccountSeed } from 'payment-processor-sandbox/state';

const ALICE = 'InternalAccount:alice';
const BOB = 'ExternalAccount:bob';
const CAROL = 'InternalAccount:carol';
const BANK = 'ExternalAccount:alice-bank';

export const ACCOUNTS: readonly AccountSeed[] = [
  { id: ALICE, currency: 'USD', balance: 1_000_000n },
  { id: CAROL, currency: 'USD', balance: 0n },
  { id: BOB, currency: 'EUR', balance: 0n },
  // Receives a simulated payment in USD to this customer.
  { id: `${ALICE}-USD`, currency: 'USD', balance: 0n },
  { id: BANK, currency: 'USD', balance: 500_000n },
];

/** 250.00 USD to an account in EUR. */
export const QUOTE: CommandInput<'create-quote'> = {
  source: { sourceType: 'ACCOUNT', accountId: ALICE },
  destination: { destinationType: 'ACCOUNT', accountId: BOB },
  lockedCurrencySide: 'SENDING',
  lockedCurrencyAmount: 25_000n,
};
export const SHORT_QUOTE: CommandInput<'create-quote'> = { ...QUOTE, lockedCurrencyAmount: 1_000n };

export const IMMEDIATE_QUOTE: CommandInput<'create-quote'> = {
  source: { sourceType: 'ACCOUNT', accountId: ALICE },
  destination: { destinationType: 'ACCOUNT', accountId: CAROL },
  lockedCurrencySide: 'RECEIVING',
  lockedCurrencyAmount: 12_345n,
  immediatelyExecute: true,
};

export const TRANSFER_IN: CommandInput<'transfer-in'> = {
  source: { accountId: BANK },
  destination: { accountId: ALICE },
  amount: 40_000n,
};
export const OTHER_TRANSFER_IN: CommandInput<'transfer-in'> = { ...TRANSFER_IN, amount: 99_999n };

export const UMA_PAYMENT: CommandInput<'simulate-uma-receive'> = {
  senderUmaAddress: '$dora@sandbox.example',
  receivingCurrencyCode: 'USD',
  receivingCurrencyAmount: 7_500n,
  customerId: 'Customer:alice',
};

/** Neither Avro in the registry's framing nor JSON. */
export const UNREADABLE_BYTES = Buffer.from('ffdeadbeef00c0ffee', 'hex');
