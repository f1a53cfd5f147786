/** Makes a command of each type, with its allowed outcomes and the account that shows its effects. */
import type { Outcome } from 'payment-processor-contract/commands';
import { accountOf, createQuoteOf, transferInOf } from '../../test/support/commands.ts';
import type { ChaosCommand, ChaosType, PlanOptions } from './chaos-commands.ts';

/** The account's scenario makes the service refuse the call. */
const REFUSED_SHARE = 0.03;
/** Accepted payments that go wrong later: rejected, failed, refunded after completion, slow. */
const LATER_SHARE = 0.06;
const LATER_SCENARIOS = ['004', '006', '007', '011', '012', '013', '014', '015', '016', '018'];
/** If a quote's payment stays PENDING (005) or fails by QUOTE_EXPIRED (017), it looks as if nobody had executed it. */
const INCOMING_SCENARIOS = [...LATER_SCENARIOS, '005', '017'];
/** Prepared quotes and payments that expire or complete at about the time that their command arrives. */
const RACE_SHARE = 0.08;
const RACE_SPREAD_MS = 6_000;
const LONG_MS = 6 * 3_600_000;

type Made = Pick<ChaosCommand, 'fields' | 'allowed'> &
  Partial<Pick<ChaosCommand, 'subject' | 'account' | 'effectAmount'>>;
type Maker = (options: PlanOptions, key: string, atMs: number, preparedAtMs: number) => Promise<Made> | Made;

/** Whether something special happens to a command; never in a plain plan. */
export function isDrawn({ isPlain, random }: PlanOptions, share: number): boolean {
  return !isPlain && random() < share;
}

export const MAKERS: Readonly<Record<ChaosType, Maker>> = {
  'transfer-in': (options, key) => {
    const scenario = drawScenario(options, INCOMING_SCENARIOS);
    const amount = amountOf(options.random);
    const fields = transferInOf(key, amount);
    if (scenario === null) {
      return { fields, allowed: ['ACCEPTED'], account: accountOf(key), effectAmount: amount };
    }
    const destination = { accountId: `InternalAccount:${key}-${scenario}` };
    return { fields: { ...fields, destination }, allowed: outcomesOf(scenario) };
  },
  'execute-quote': async (options, key, atMs, preparedAtMs) => {
    const { random, service } = options;
    const amount = amountOf(random);
    const { isRace, lifetimeMs } = drawLifetime(options, atMs, preparedAtMs);
    await service.set({ quoteLifetimeMs: lifetimeMs });
    const quote = await service.createQuote(accountOf(key), Number(amount));
    // The transaction shows its quote's id, so a look-up can settle the doubt without the transaction's id.
    const withId = random() < 0.8 ? { transactionId: quote.transactionId } : {};
    return {
      fields: { quoteId: quote.id, ...withId },
      allowed: isRace ? ['ACCEPTED', 'REFUSED'] : ['ACCEPTED'],
      subject: quote.id,
      account: accountOf(key),
      effectAmount: -amount,
    };
  },
  'reject-transaction': async (options, key, atMs, preparedAtMs) => {
    const { service } = options;
    const { isRace, lifetimeMs } = drawLifetime(options, atMs, preparedAtMs);
    await service.set({ approvalMs: lifetimeMs });
    const transaction = await service.simulateUmaReceive(`Customer:${key}-x`);
    return {
      fields: { transactionId: transaction.id, reason: 'not expected' },
      allowed: isRace ? ['ACCEPTED', 'REFUSED'] : ['ACCEPTED'],
      subject: transaction.id,
    };
  },
  'create-quote': (options, key) => quoteOf(options, key, false),
  'immediate-quote': (options, key) => {
    const made = quoteOf(options, key, true);
    if (options.isPlain) return made;
    // The quote may expire before its execution. If the service honours the key, a new call returns the same quote, and the
    // command expires.
    const besides: Outcome[] = options.honourKeys.includes('create-quote') ? ['REFUSED', 'EXPIRED'] : ['REFUSED'];
    return { ...made, allowed: [...made.allowed, ...besides] };
  },
  'simulate-uma-receive': ({ random }, key) => {
    const amount = amountOf(random);
    return {
      fields: {
        senderUmaAddress: '$sender@example.com',
        receivingCurrencyCode: 'USD',
        receivingCurrencyAmount: amount,
        customerId: `Customer:${key}-x`,
      },
      allowed: ['ACCEPTED'],
      account: `InternalAccount:${key}-x-USD`,
      effectAmount: amount,
    };
  },
};

function quoteOf(options: PlanOptions, key: string, immediatelyExecute: boolean): Made {
  const scenario = drawScenario(options, LATER_SCENARIOS);
  const amount = amountOf(options.random);
  const fields = { ...createQuoteOf(key, amount), immediatelyExecute };
  if (scenario === null) {
    const effectAmount = immediatelyExecute ? -amount : 0n;
    return { fields, allowed: ['ACCEPTED'], account: accountOf(key), effectAmount };
  }
  const source = { sourceType: 'ACCOUNT', accountId: `InternalAccount:${key}-${scenario}` };
  return { fields: { ...fields, source }, allowed: outcomesOf(scenario) };
}

/** Null: the payment completes and is never reversed. */
function drawScenario(options: PlanOptions, later: readonly string[]): string | null {
  const { isPlain, laterShare = isPlain ? 0 : LATER_SHARE, random } = options;
  if (isDrawn(options, REFUSED_SHARE)) return random() < 0.5 ? '002' : '003';
  return drawLater(random, laterShare, later);
}

/** The digits of a payment that goes wrong after its acceptance, or null. */
export function drawLater(
  random: () => number,
  share: number,
  scenarios: readonly string[] = INCOMING_SCENARIOS,
): string | null {
  if (share === 0 || random() >= share) return null;
  return scenarios[Math.floor(random() * scenarios.length)] ?? null;
}

function outcomesOf(scenario: string): Outcome[] {
  return scenario === '002' || scenario === '003' ? ['REFUSED'] : ['ACCEPTED'];
}

function drawLifetime(
  options: PlanOptions,
  atMs: number,
  preparedAtMs: number,
): { isRace: boolean; lifetimeMs: number } {
  if (!isDrawn(options, RACE_SHARE)) return { isRace: false, lifetimeMs: options.preparedForMs ?? LONG_MS };
  const untilPublishedMs = atMs - (performance.now() - preparedAtMs);
  return { isRace: true, lifetimeMs: Math.max(1, Math.floor(untilPublishedMs + options.random() * RACE_SPREAD_MS)) };
}

function amountOf(random: () => number): bigint {
  return 100n + BigInt(Math.floor(random() * 900_000));
}

/** Fields of another command of the same type. */
export function otherFields({ fields, type }: ChaosCommand): object {
  switch (type) {
    case 'transfer-in':
      return { ...fields, amount: 1n };
    case 'execute-quote':
      return { ...fields, quoteId: 'Quote:of-another-command' };
    case 'reject-transaction':
      return { ...fields, reason: 'another reason' };
    case 'create-quote':
    case 'immediate-quote':
      return { ...fields, lockedCurrencyAmount: 1n };
    case 'simulate-uma-receive':
      return { ...fields, receivingCurrencyAmount: 1n };
  }
}
