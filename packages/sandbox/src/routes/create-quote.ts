/** POST /quotes: prices a transfer, creates its transaction, and executes it at once if asked to. */
import { z } from 'zod';
import { currencyOf, DEFAULT_CURRENCY } from '../currencies.ts';
import { addTransaction, awaitExecution, executeQuote } from '../payments.ts';
import { priceOf } from '../rates.ts';
import { invalidInput, jsonReply, unchanged, type Outcome, type Problem, type Reply } from '../replies.ts';
import { scenarioOf } from '../scenarios.ts';
import {
  accountNamed,
  currencyOfParty,
  isInternal,
  type Account,
  type Party,
  type PaymentInstruction,
  type Quote,
  type Transaction,
  type World,
} from '../state.ts';
import { accountId, amount, check, currencyCode, lookupId, stringMap, umaAddress } from '../validation.ts';
import { quoteView } from '../views.ts';
import { insufficientBalance } from './execute-quote.ts';
import { refusedAtOnce } from './refusals.ts';

const LOCKED_AMOUNT_MAX = 9_000_000_000_000_000n;

const PURPOSES = [
  'GIFT',
  'SELF',
  'GOODS_OR_SERVICES',
  'EDUCATION',
  'HEALTH_OR_MEDICAL',
  'REAL_ESTATE_PURCHASE',
  'TAX_PAYMENT',
  'LOAN_PAYMENT',
  'UTILITY_BILL',
  'DONATION',
  'TRAVEL',
  'OTHER',
] as const;

/** Receiving currencies of countries that require the purpose, as the sandbox simulates them. */
const CURRENCIES_WITH_PURPOSE = ['INR'];

const BODY = z.strictObject({
  source: z.strictObject({ sourceType: z.literal('ACCOUNT'), accountId }),
  destination: z.discriminatedUnion('destinationType', [
    z.strictObject({ destinationType: z.literal('ACCOUNT'), accountId }),
    z.strictObject({ destinationType: z.literal('UMA_ADDRESS'), umaAddress, currency: currencyCode.optional() }),
  ]),
  lockedCurrencySide: z.enum(['SENDING', 'RECEIVING']),
  lockedCurrencyAmount: amount.refine((value) => value <= LOCKED_AMOUNT_MAX, `must be at most ${LOCKED_AMOUNT_MAX}`),
  lookupId: lookupId.optional(),
  immediatelyExecute: z.boolean().optional(),
  description: z.string().optional(),
  purposeOfPayment: z.enum(PURPOSES).optional(),
  senderCustomerInfo: stringMap.optional(),
});
type Request = z.infer<typeof BODY>;

export function createQuote(world: World, body: unknown): Outcome {
  const checked = check(BODY, body);
  if (!checked.ok) return unchanged(invalidInput(...checked.problems));
  const request = checked.value;
  const destinationName =
    'accountId' in request.destination ? request.destination.accountId : request.destination.umaAddress;
  const scenario = scenarioOf(request.source.accountId, destinationName);
  const refused = refusedAtOnce(world, scenario);
  if (refused !== null) return unchanged(refused);

  const source = accountNamed(world, request.source.accountId);
  const destination = destinationOf(world, request);
  const problems = problemsOf(world, request, source, destination);
  if (problems.length > 0) return unchanged(invalidInput(...problems));
  const receivingCurrency = currencyOfParty(destination);
  const pricing = priceOf(source.currency, receivingCurrency, request.lockedCurrencySide, request.lockedCurrencyAmount);
  if (pricing.kind !== 'priced') {
    const message =
      pricing.kind === 'too-small' ? 'is too small to be converted' : 'makes an amount that does not fit 64 bits';
    return unchanged(invalidInput({ path: 'lockedCurrencyAmount', message }));
  }

  const { price } = pricing;
  const executesNow = request.immediatelyExecute === true;
  const insufficient: Reply | null = executesNow ? insufficientBalance(world, source, price.totalSendingAmount) : null;
  if (insufficient !== null) return unchanged(insufficient);
  const nowMs = world.clock.nowMs();
  const quoteId = world.identifiers.next('Quote', nowMs);
  const transaction = addTransaction(
    world,
    {
      type: 'OUTGOING',
      scenario,
      source: { kind: 'ACCOUNT', account: source },
      destination,
      customerId: source.customerId,
      platformCustomerId: source.platformCustomerId,
      sent: { amount: price.totalSendingAmount, currency: source.currency },
      received: { amount: price.totalReceivingAmount, currency: receivingCurrency },
      price,
      quoteId,
      description: request.description ?? null,
      counterpartyInformation: destination.kind === 'UMA_ADDRESS' ? { FULL_NAME: 'Receiver of the sandbox' } : null,
    },
    nowMs,
  );
  const quote: Quote = {
    id: quoteId,
    status: 'PENDING',
    history: [{ status: 'PENDING', atMs: nowMs }],
    createdAtMs: nowMs,
    expiresAtMs: nowMs + world.settings.quoteLifetimeMs,
    source: { account: source },
    destination,
    price,
    paymentInstructions: executesNow || isInternal(source) ? [] : [instructionFor(source, transaction)],
    transaction,
  };
  world.quotes.set(quoteId, quote);
  if (executesNow) {
    executeQuote(world, quote, nowMs);
    world.effects.countExecution(quoteId, true);
  } else awaitExecution(world, quote);
  return { reply: jsonReply(201, quoteView(quote)), effect: { transactionId: transaction.id } };
}

function destinationOf(world: World, { destination }: Request): Party {
  if (destination.destinationType === 'ACCOUNT')
    return { kind: 'ACCOUNT', account: accountNamed(world, destination.accountId) };
  const currency = destination.currency === undefined ? DEFAULT_CURRENCY : currencyOf(destination.currency);
  return { kind: 'UMA_ADDRESS', umaAddress: destination.umaAddress, currency };
}

/** Checks rules that involve several fields. */
function problemsOf(world: World, request: Request, source: Account, destination: Party): Problem[] {
  const problems: Problem[] = [];
  const { lookupId: lookup, senderCustomerInfo, purposeOfPayment } = request;
  const toUma = destination.kind === 'UMA_ADDRESS';
  if (destination.kind === 'ACCOUNT' && destination.account.id === source.id) {
    problems.push({ path: 'destination.accountId', message: 'must not be the source account' });
  }
  if (toUma && lookup === undefined) problems.push({ path: 'lookupId', message: 'is required for a UMA destination' });
  if (!toUma && senderCustomerInfo !== undefined) {
    problems.push({ path: 'senderCustomerInfo', message: 'is only for UMA destinations' });
  }
  const asked = toUma && lookup !== undefined ? world.lookups.get(lookup) : undefined;
  if (asked !== undefined) {
    const missing = asked.filter((field) => !Object.hasOwn(senderCustomerInfo ?? {}, field));
    if (missing.length > 0)
      problems.push({ path: 'senderCustomerInfo', message: `must include ${missing.join(', ')}` });
    if (asked.length === 0 && senderCustomerInfo !== undefined) {
      problems.push({ path: 'senderCustomerInfo', message: 'must be left out: the receiver asked for nothing' });
    }
  }
  if (purposeOfPayment === undefined && CURRENCIES_WITH_PURPOSE.includes(currencyOfParty(destination).code)) {
    problems.push({ path: 'purposeOfPayment', message: 'is required for this receiving currency' });
  }
  if (request.immediatelyExecute === true && !isInternal(source) && source.currency.code !== 'USD') {
    problems.push({
      path: 'immediatelyExecute',
      message: 'is only for internal accounts and those that support direct pull',
    });
  }
  return problems;
}

/** How to fund a quote from an external account: a wallet for bitcoin, a bank account for the rest. */
function instructionFor(source: Account, transaction: Transaction): PaymentInstruction {
  if (source.currency.code === 'BTC') {
    return {
      accountType: 'SPARK_WALLET',
      address: `spark1sandbox${transaction.reference.toLowerCase()}`,
      invoice: `lnsandbox${transaction.sent.amount}${transaction.reference.toLowerCase()}`,
    };
  }
  return {
    accountType: 'US_ACCOUNT',
    accountNumber: '000123456789',
    routingNumber: '110000000',
    bankName: 'Sandbox Bank',
    referenceCode: transaction.reference,
  };
}
