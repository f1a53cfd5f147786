/** What tests ask the sandbox without the processor: control endpoints, and calls as another client. */
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { request } from 'undici';

/** The sandbox accepts any non-empty credentials unless it was given some. */
export const TOKEN_ID = 'token-id-of-a-test';
export const CLIENT_SECRET = 'client-secret-of-a-test';

export interface KeyTally {
  calls: number;
  effects: number;
  transactionIds: string[];
}

export interface EffectsReport {
  operations: Record<CommandType, Record<string, KeyTally>>;
  unkeyed: Record<string, { calls: number; effects: number }>;
  quotes: Record<string, { executeCalls: number; executions: number }>;
  transactions: Record<string, { rejectCalls: number; rejections: number }>;
  totals: Record<string, { calls: number; effects: number }>;
}

export interface BooksReport {
  balanced: boolean;
  entries: number;
  totals: Record<string, string>;
  balances: { account: string; currency: string; balance: string }[];
  transactions: number;
  scheduledSteps: number;
}

export interface StatusChange {
  status: string;
  /** Milliseconds since 1970. */
  atMs: number;
}

/** The true history of a payment: every status, oldest first. */
export interface PaymentHistory {
  id: string;
  type: 'INCOMING' | 'OUTGOING';
  failureReason: string | null;
  history: StatusChange[];
  quote: { id: string; history: StatusChange[] } | null;
}

/** A rule of `POST /control/faults`; see the sandbox's README. */
export type Fault = { kind: string; operation?: string } & Record<string, string | number | boolean>;

/** An active rule, with its number of hits. */
export type CountedFault = Fault & { hits: number };

export interface SandboxQuote {
  id: string;
  transactionId: string;
  totalSendingAmount: number;
  status: string;
}

export interface SandboxTransaction {
  id: string;
  status: string;
  [name: string]: unknown;
}

/** One request and its answer. */
type Exchange = (request: {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
}) => Promise<{ status: number; text: string }>;

/** One connection per request: the sandbox may close an idle one just as the next request is written to it. */
const overTheNetwork: Exchange = async ({ url, ...options }) => {
  const { statusCode, body } = await request(url, { ...options, reset: true });
  return { status: statusCode, text: await body.text() };
};

export class SandboxControl {
  readonly #url: string;
  readonly #baseUrl: string;
  readonly #authorization: string;
  readonly #exchange: Exchange;

  constructor(
    sandbox: { url: string; baseUrl: string },
    credentials = `${TOKEN_ID}:${CLIENT_SECRET}`,
    exchange = overTheNetwork,
  ) {
    this.#url = sandbox.url;
    this.#baseUrl = sandbox.baseUrl;
    this.#authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    this.#exchange = exchange;
  }

  effects(): Promise<EffectsReport> {
    return this.#ask<EffectsReport>('GET', `${this.#url}/control/effects`);
  }

  /** Calls that change state, by the service's own count; look-ups and polls do not count. */
  async callsMade(): Promise<number> {
    const { totals } = await this.effects();
    return COMMAND_TYPES.reduce((sum, type) => sum + (totals[type]?.calls ?? 0), 0);
  }

  books(): Promise<BooksReport> {
    return this.#ask<BooksReport>('GET', `${this.#url}/control/books`);
  }

  /** The history of every transaction, in the order of creation. */
  async histories(): Promise<PaymentHistory[]> {
    const { transactions } = await this.#ask<{ transactions: PaymentHistory[] }>(
      'GET',
      `${this.#url}/control/transactions`,
    );
    return transactions;
  }

  /** The account's balance; 0 if the service has not seen the account; smallest unit. */
  async balanceOf(account: string): Promise<bigint> {
    const { balances } = await this.books();
    return BigInt(balances.find((line) => line.account === account)?.balance ?? '0');
  }

  async faults(): Promise<CountedFault[]> {
    const { faults } = await this.#ask<{ faults: CountedFault[] }>('GET', `${this.#url}/control/faults`);
    return faults;
  }

  async addFaults(...faults: Fault[]): Promise<void> {
    await this.#ask('POST', `${this.#url}/control/faults`, faults);
  }

  async clearFaults(): Promise<void> {
    await this.#ask('DELETE', `${this.#url}/control/faults`);
  }

  async set(settings: Record<string, unknown>): Promise<void> {
    await this.#ask('POST', `${this.#url}/control/settings`, settings);
  }

  async setAccounts(...accounts: Record<string, unknown>[]): Promise<void> {
    await this.#ask('POST', `${this.#url}/control/accounts`, accounts);
  }

  /** Creates a quote that no command asked for. */
  createQuote(sourceAccountId: string, amount = 1000): Promise<SandboxQuote> {
    return this.#ask<SandboxQuote>('POST', `${this.#baseUrl}/quotes`, {
      source: { sourceType: 'ACCOUNT', accountId: sourceAccountId },
      destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:payee-x' },
      lockedCurrencySide: 'SENDING',
      lockedCurrencyAmount: amount,
    });
  }

  /** Creates an incoming UMA payment, PENDING for the sandbox's approval time. */
  simulateUmaReceive(customerId: string, amount = 700): Promise<SandboxTransaction> {
    return this.#ask<SandboxTransaction>('POST', `${this.#baseUrl}/sandbox/uma/receive`, {
      senderUmaAddress: '$sender@example.com',
      receivingCurrencyCode: 'USD',
      receivingCurrencyAmount: amount,
      customerId,
    });
  }

  async transactions(query = ''): Promise<SandboxTransaction[]> {
    const page = await this.#ask<{ data: SandboxTransaction[] }>('GET', `${this.#baseUrl}/transactions${query}`);
    return page.data;
  }

  async #ask<Value>(method: string, url: string, body?: unknown): Promise<Value> {
    const { status, text } = await this.#exchange({
      method,
      url,
      headers: { authorization: this.#authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (status >= 300) throw new Error(`${method} ${url}: ${status} ${text}`);
    return JSON.parse(text) as Value;
  }
}
