/**
 * The sandbox's state: accounts, quotes, transactions, lookups. Each start or reset creates a world. It owns its scheduler, so
 * work left over from an old world does not touch the new one.
 */
import { Books } from './books.ts';
import type { Clock } from './clock.ts';
import { DEFAULT_CURRENCY, type Currency } from './currencies.ts';
import { Effects } from './effects.ts';
import { IdempotencyStore } from './idempotency.ts';
import { Identifiers } from './identifiers.ts';
import type { Price } from './rates.ts';
import type { FailureReason, Scenario } from './scenarios.ts';
import { Scheduler } from './scheduler.ts';
import type { Settings } from './settings.ts';

export type TransactionStatus =
  'CREATED' | 'PENDING' | 'PROCESSING' | 'SENT' | 'COMPLETED' | 'REJECTED' | 'FAILED' | 'REFUNDED' | 'EXPIRED';
export type QuoteStatus = 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED' | 'EXPIRED';

export interface Account {
  id: string;
  currency: Currency;
  customerId: string;
  platformCustomerId: string;
}

/** One end of a payment. */
export type Party =
  { kind: 'ACCOUNT'; account: Account } | { kind: 'UMA_ADDRESS'; umaAddress: string; currency: Currency };

interface Money {
  /** Smallest unit. */
  amount: bigint;
  currency: Currency;
}

/** A status and when it began. */
export interface StatusChange<Status> {
  status: Status;
  /** Milliseconds since 1970. */
  atMs: number;
}

export interface Transaction {
  id: string;
  /** Its position in the timeline. */
  position: number;
  type: 'INCOMING' | 'OUTGOING';
  status: TransactionStatus;
  /** Every status so far, oldest first. */
  history: StatusChange<TransactionStatus>[];
  scenario: Scenario;
  source: Party;
  destination: Party;
  /** Account ids and UMA addresses by which the list's two filters find it. */
  senderIdentifiers: readonly string[];
  receiverIdentifiers: readonly string[];
  customerId: string;
  platformCustomerId: string;
  sent: Money;
  received: Money;
  /** Only of an outgoing transaction; an incoming one has neither price nor quote. */
  price: Price | null;
  quoteId: string | null;
  description: string | null;
  counterpartyInformation: Readonly<Record<string, string>> | null;
  reference: string;
  failureReason: FailureReason | null;
  createdAtMs: number;
  updatedAtMs: number;
  settledAtMs: number | null;
  /** Grows with each change of plan: steps of an older plan are dropped. */
  plan: number;
}

export type PaymentInstruction =
  | { accountType: 'US_ACCOUNT'; accountNumber: string; routingNumber: string; bankName: string; referenceCode: string }
  | { accountType: 'SPARK_WALLET'; address: string; invoice: string };

export interface Quote {
  id: string;
  status: QuoteStatus;
  history: StatusChange<QuoteStatus>[];
  createdAtMs: number;
  expiresAtMs: number;
  source: { account: Account };
  destination: Party;
  price: Price;
  paymentInstructions: readonly PaymentInstruction[];
  transaction: Transaction;
}

/** The starting state of the books and accounts. */
export interface AccountSeed {
  id: string;
  currency?: string;
  /** Smallest unit. */
  balance?: bigint;
  customerId?: string;
  platformCustomerId?: string;
}

/** Covers nearly a thousand of the largest quotes, with an amount locked in the account's currency. */
const STARTING_BALANCE = 9_000_000_000_000_000_000n;

/** Protects the machine's memory: beyond this, creating returns 503 until a reset. */
export const TRANSACTIONS_MAX = 500_000;

export interface World {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly identifiers: Identifiers;
  readonly books: Books;
  readonly idempotency: IdempotencyStore;
  readonly effects: Effects;
  readonly accounts: Map<string, Account>;
  readonly quotes: Map<string, Quote>;
  readonly transactions: Map<string, Transaction>;
  /** In the order of creation, which is the order of createdAt, then id. */
  readonly timeline: Transaction[];
  /** Fields that a lookup's receiver requires of the payer; other lookups require none. */
  readonly lookups: Map<string, readonly string[]>;
}

export function createWorld(settings: Settings, clock: Clock): World {
  return {
    settings: { ...settings },
    clock,
    scheduler: new Scheduler(clock),
    identifiers: new Identifiers(),
    books: new Books(),
    idempotency: new IdempotencyStore(),
    effects: new Effects(),
    accounts: new Map(),
    quotes: new Map(),
    transactions: new Map(),
    timeline: [],
    lookups: new Map(),
  };
}

/** The account with that id; it is created when first named. */
export function accountNamed(world: World, id: string, currency: Currency = DEFAULT_CURRENCY): Account {
  return world.accounts.get(id) ?? openAccount(world, { id }, currency);
}

/** Opens an account that does not exist yet, with its starting balance if it is an internal one. */
export function openAccount(world: World, seed: AccountSeed, currency: Currency): Account {
  const localId = seed.id.slice(seed.id.indexOf(':') + 1);
  const account: Account = {
    id: seed.id,
    currency,
    customerId: seed.customerId ?? `Customer:${localId}`,
    platformCustomerId: seed.platformCustomerId ?? `platform-${localId}`,
  };
  world.accounts.set(seed.id, account);
  const balance = seed.balance ?? (isInternal(account) ? STARTING_BALANCE : 0n);
  if (balance !== 0n) postStartingBalance(world, account, balance);
  return account;
}

/** Books an amount from the source of all starting balances to the account. */
export function postStartingBalance(world: World, account: Account, amount: bigint): void {
  world.books.post(`the starting balance of ${account.id}`, [
    { account: 'starting-balances', currency: account.currency.code, amount: -amount },
    { account: account.id, currency: account.currency.code, amount },
  ]);
}

export function isInternal(account: Account): boolean {
  return account.id.startsWith('InternalAccount:');
}

export function currencyOfParty(party: Party): Currency {
  return party.kind === 'ACCOUNT' ? party.account.currency : party.currency;
}

export function nameOfParty(party: Party): string {
  return party.kind === 'ACCOUNT' ? party.account.id : party.umaAddress;
}
