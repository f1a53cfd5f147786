/**
 * Quotes and transactions as the interface shows them. Amounts are bigints and decimals raw numbers: no digit is lost. What is
 * undefined is not written.
 */
import { parseLossless, type JsonValue } from 'payment-processor-contract/lossless-json';
import { VARIABLE_FEE_RATE, type Price } from './rates.ts';
import { currencyOfParty, type Party, type Quote, type Transaction } from './state.ts';

export function quoteView(quote: Quote): object {
  const { paymentInstructions, price, transaction } = quote;
  return {
    id: quote.id,
    status: quote.status,
    createdAt: isoText(quote.createdAtMs),
    expiresAt: isoText(quote.expiresAtMs),
    source: { sourceType: 'ACCOUNT', accountId: quote.source.account.id, customerId: quote.source.account.customerId },
    destination: { destinationType: quote.destination.kind, ...partyView(quote.destination) },
    sendingCurrency: transaction.sent.currency,
    receivingCurrency: transaction.received.currency,
    totalSendingAmount: price.totalSendingAmount,
    totalReceivingAmount: price.totalReceivingAmount,
    exchangeRate: decimal(price.exchangeRate),
    feesIncluded: price.fees,
    transactionId: transaction.id,
    paymentInstructions: paymentInstructions.length === 0 ? undefined : paymentInstructions,
    rateDetails: {
      counterpartyMultiplier: decimal(price.receivingPerSending),
      counterpartyFixedFee: 0,
      ...transactionRateDetails(price),
    },
  };
}

export function transactionView(transaction: Transaction): object {
  const { source, destination, price, status } = transaction;
  return {
    id: transaction.id,
    status,
    type: transaction.type,
    source: { sourceType: source.kind, ...partyView(source), currency: currencyOfParty(source).code },
    destination: {
      destinationType: destination.kind,
      ...partyView(destination),
      currency: currencyOfParty(destination).code,
    },
    customerId: transaction.customerId,
    platformCustomerId: transaction.platformCustomerId,
    sentAmount: transaction.type === 'OUTGOING' ? transaction.sent : undefined,
    receivedAmount: transaction.received,
    settledAt: transaction.settledAtMs === null ? undefined : isoText(transaction.settledAtMs),
    createdAt: isoText(transaction.createdAtMs),
    updatedAt: isoText(transaction.updatedAtMs),
    description: transaction.description ?? undefined,
    counterpartyInformation: transaction.counterpartyInformation ?? undefined,
    reconciliationInstructions: status === 'CREATED' ? undefined : { reference: transaction.reference },
    ...(price === null ? {} : { exchangeRate: decimal(price.exchangeRate), fees: price.fees }),
    rateDetails: price === null ? INCOMING_RATE_DETAILS : transactionRateDetails(price),
    quoteId: transaction.quoteId ?? undefined,
    failureReason: transaction.failureReason ?? undefined,
  };
}

/** Incoming payments arrive as they were sent, without a fee. */
const INCOMING_RATE_DETAILS = {
  serviceApiMultiplier: 1,
  serviceApiFixedFee: 0,
  serviceApiVariableFeeRate: 0,
  serviceApiVariableFeeAmount: 0,
};

function transactionRateDetails(price: Price): object {
  return {
    serviceApiMultiplier: decimal(price.exchangeRate),
    serviceApiFixedFee: price.fixedFee,
    serviceApiVariableFeeRate: decimal(VARIABLE_FEE_RATE),
    serviceApiVariableFeeAmount: price.variableFee,
  };
}

function partyView(party: Party): object {
  return party.kind === 'ACCOUNT' ? { accountId: party.account.id } : { umaAddress: party.umaAddress };
}

function decimal(text: string): JsonValue {
  return parseLossless(text);
}

function isoText(ms: number): string {
  return new Date(ms).toISOString();
}
