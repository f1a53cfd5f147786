/** A sandbox on a real socket with a clock that tests move, and a small client for it. */
import { request } from 'undici';
import { afterEach, expect } from 'vitest';
import { SandboxControl } from '../../../test/support/sandbox-control.ts';
import { ManualClock } from '../src/clock.ts';
import { startSandbox, type RunningSandbox, type SandboxStartOptions } from '../src/start.ts';

const CREDENTIALS = 'token:secret';

/** Fields of a request that replace or add to the usual ones; undefined leaves one out. */
export type Fields = Record<string, unknown>;

/** Every field that a test reads, of whichever answer; which ones are there is what the tests find out. */
export interface WireBody {
  id: string;
  status: string;
  type: string;
  createdAt: string;
  expiresAt: string;
  customerId: string;
  transactionId: string;
  receivedAmount: { amount: number };
  sendingCurrency: { decimals: number };
  receivingCurrency: { decimals: number };
  totalSendingAmount: number;
  totalReceivingAmount: number;
  exchangeRate: number;
  feesIncluded: number;
  rateDetails: { serviceApiFixedFee: number; serviceApiVariableFeeAmount: number };
  paymentInstructions: [object];
  reconciliationInstructions: { reference: string };
  data: WireBody[];
  hasMore: boolean;
  nextCursor: string;
  totalCount: number;
  details: { problems: { path: string; message: string }[] };
  accounts: [{ balance: string }];
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: WireBody;
}

export class TestSandbox extends SandboxControl {
  readonly running: RunningSandbox;
  readonly clock: ManualClock;

  constructor(running: RunningSandbox, clock: ManualClock) {
    super(running, CREDENTIALS);
    this.running = running;
    this.clock = clock;
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const authorization = `Basic ${Buffer.from(CREDENTIALS).toString('base64')}`;
    return this.#fetch(this.running.baseUrl + path, method, body, { authorization, ...headers });
  }

  async get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  async post(path: string, body?: unknown, idempotencyKey?: string): Promise<Answer> {
    return this.send('POST', path, body, idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey });
  }

  /** The answer of a control endpoint, refusals too. */
  async control(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.#fetch(`${this.running.url}/control/${path}`, method, body, {});
  }

  async transferIn(
    from = 'ExternalAccount:a',
    to = 'InternalAccount:b',
    amount: number | undefined = 500,
    key?: string,
  ): Promise<Answer> {
    return this.post('/transfer-in', { source: { accountId: from }, destination: { accountId: to }, amount }, key);
  }

  async quote(fields: Fields = {}, key?: string): Promise<Answer> {
    return this.post('/quotes', quoteRequest(fields), key);
  }

  async receive(fields: Fields = {}, key?: string): Promise<Answer> {
    return this.post('/sandbox/uma/receive', { ...RECEIVE, ...fields }, key);
  }

  /** The transaction of that id, as the list shows it now. */
  async transaction(id: string): Promise<WireBody> {
    let cursor = '';
    for (;;) {
      const page = await this.get(`/transactions?limit=100${cursor}`);
      const found = page.body.data.find((transaction) => transaction.id === id);
      if (found !== undefined) return found;
      if (!page.body.hasMore) throw new Error(`the list does not have ${id}`);
      cursor = `&cursor=${page.body.nextCursor}`;
    }
  }

  async #fetch(url: string, method: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
    const isWritten = typeof body === 'string' || Buffer.isBuffer(body);
    const written = isWritten ? body : body === undefined ? null : JSON.stringify(body);
    const answer = await request(url, {
      method: method as 'GET',
      headers: { ...(written === null ? {} : { 'content-type': 'application/json' }), ...headers },
      body: written,
    });
    const received = await answer.body.text();
    return { status: answer.statusCode, headers: answer.headers, text: received, body: parsed(received) };
  }
}

/** The JSON of a text; null if it is none, such as a body that a fault put there. */
function parsed(text: string): WireBody {
  try {
    return JSON.parse(text) as WireBody;
  } catch {
    return null as unknown as WireBody;
  }
}

export const TRANSFER: Fields = {
  source: { accountId: 'ExternalAccount:a' },
  destination: { accountId: 'InternalAccount:b' },
  amount: 500,
};

export const RECEIVE: Fields = {
  senderUmaAddress: '$sender@sandbox.example',
  receivingCurrencyCode: 'USD',
  receivingCurrencyAmount: 700,
  customerId: 'Customer:c',
};

/** Matches any string where an answer is compared. */
export const ANY_STRING: unknown = expect.any(String);

export function quoteRequest(fields: Fields = {}): Fields {
  return {
    source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:a' },
    destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:b' },
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: 10_000,
    ...fields,
  };
}

export function toAccount(accountId: string): Fields {
  return { destination: { destinationType: 'ACCOUNT', accountId } };
}

const started: RunningSandbox[] = [];

/** Starts a sandbox that ends with the test. */
export async function sandboxForTest(options: SandboxStartOptions = {}): Promise<TestSandbox> {
  const clock = new ManualClock();
  const running = await startSandbox({ clock, ...options });
  started.push(running);
  return new TestSandbox(running, clock);
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((running) => running.stop()));
});
