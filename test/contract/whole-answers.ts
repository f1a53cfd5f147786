/** Answers of the service that have every field of the interface, each with a value of its own. */

const CURRENCY = (code: string) => ({ code, name: `${code} name`, symbol: `${code} symbol`, decimals: 2 });

export const WHOLE_QUOTE = {
  id: 'Quote:whole',
  status: 'PENDING',
  createdAt: '2025-10-13T10:00:00Z',
  expiresAt: '2999-10-13T10:05:00Z',
  source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:from', customerId: 'Customer:from' },
  destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:to' },
  sendingCurrency: CURRENCY('USD'),
  receivingCurrency: CURRENCY('EUR'),
  totalSendingAmount: 10_000,
  totalReceivingAmount: 9_000,
  exchangeRate: 1.11,
  feesIncluded: 10,
  transactionId: 'Transaction:of-whole',
  paymentInstructions: [
    { accountType: 'US_ACCOUNT', accountNumber: 'n1', routingNumber: 'r1', bankName: 'b1', referenceCode: 'c1' },
    { accountType: 'SPARK_WALLET', address: 'a1', invoice: 'i1' },
  ],
  rateDetails: {
    counterpartyMultiplier: 1.01,
    counterpartyFixedFee: 2,
    serviceApiMultiplier: 1.03,
    serviceApiFixedFee: 4,
    serviceApiVariableFeeRate: 0.05,
    serviceApiVariableFeeAmount: 6,
  },
};

export const WHOLE_TRANSACTION = {
  id: 'Transaction:whole',
  status: 'PENDING',
  type: 'INCOMING',
  destination: { destinationType: 'ACCOUNT', accountId: 'InternalAccount:to', currency: 'USD' },
  customerId: 'Customer:to',
  platformCustomerId: 'platform-to',
  receivedAmount: { amount: 700, currency: CURRENCY('USD') },
  settledAt: '2025-10-13T10:00:03Z',
  createdAt: '2025-10-13T10:00:01Z',
  updatedAt: '2025-10-13T10:00:02Z',
  description: 'memo',
  counterpartyInformation: { FULL_NAME: 'A B', BIRTH_DATE: '1990-01-01', NATIONALITY: 'US' },
  source: { sourceType: 'ACCOUNT', accountId: 'ExternalAccount:from', currency: 'EUR' },
  reconciliationInstructions: { reference: 'REF-1' },
  rateDetails: {
    serviceApiMultiplier: 1.03,
    serviceApiFixedFee: 4,
    serviceApiVariableFeeRate: 0.05,
    serviceApiVariableFeeAmount: 6,
  },
  failureReason: 'OFFRAMP_FAILED',
};
