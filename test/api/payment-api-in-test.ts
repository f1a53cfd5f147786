/** Payment APIs and requests for tests, closed when the test ends. */
import { onTestFinished } from 'vitest';
import { createPaymentApi, type PaymentApi, type PaymentApiOptions } from '../../src/api/payment-api.ts';
import type { ChangeRequest } from '../../src/api/types.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { startScriptedService, type Script, type ScriptedService } from './scripted-service.ts';

export const TOKEN_ID = 'token-id-that-is-secret';
export const CLIENT_SECRET = 'client-secret-ü';

export function paymentApi(baseUrl: string, overrides: Partial<PaymentApiOptions> = {}): PaymentApi {
  const api = createPaymentApi({
    baseUrl,
    credentials: () => ({ tokenId: TOKEN_ID, clientSecret: CLIENT_SECRET }),
    timeoutMs: 2000,
    maxConcurrency: 8,
    breakerErrorPercent: 50,
    breakerResetMs: 100,
    // The shortest pauses.
    random: () => 0,
    ...overrides,
  });
  onTestFinished(() => api.close());
  return api;
}

export async function scriptedService(
  script: Script,
  options?: Parameters<typeof startScriptedService>[1],
): Promise<ScriptedService> {
  const service = await startScriptedService(script, options);
  onTestFinished(() => service.stop());
  return service;
}

/** A started API against a scripted service. */
export async function startedPair(
  script: Script,
  overrides: Partial<PaymentApiOptions> = {},
): Promise<{ service: ScriptedService; api: PaymentApi }> {
  const service = await scriptedService(script);
  const api = paymentApi(service.baseUrl, overrides);
  await api.start();
  return { service, api };
}

/** Resolves when the condition holds, at once or after a change that the API tells of. */
export function whenApi(api: PaymentApi, condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (condition()) resolve();
    };
    api.onChange(look);
    look();
  });
}

export const transferIn: ChangeRequest = {
  operation: 'transfer-in',
  fields: {
    source: { accountId: 'ExternalAccount:e1' },
    destination: { accountId: 'InternalAccount:i1' },
    amount: 12_345n,
  },
};
export const createQuote: Extract<ChangeRequest, { operation: 'create-quote' }> = {
  operation: 'create-quote',
  fields: {
    source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:i1', otherFieldsJson: null },
    destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:e1', otherFieldsJson: null },
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: 9_000_000_000_000_000n,
    lookupId: null,
    immediatelyExecute: false,
    description: null,
    purposeOfPayment: null,
    senderCustomerInfo: null,
  },
};

/** One request of every operation. */
export const oneOfEach: Record<CommandType, ChangeRequest> = {
  'create-quote': createQuote,
  'execute-quote': { operation: 'execute-quote', fields: { quoteId: 'Quote:q1' } },
  'transfer-in': transferIn,
  'reject-transaction': {
    operation: 'reject-transaction',
    fields: { transactionId: 'Transaction:t1', reason: 'not ours' },
  },
  'simulate-uma-receive': {
    operation: 'simulate-uma-receive',
    fields: {
      senderUmaAddress: '$sender@sandbox.example',
      receivingCurrencyCode: 'USD',
      receivingCurrencyAmount: 5000n,
      receiverUmaAddress: null,
      customerId: 'Customer:c1',
    },
  },
};

export const TRANSACTION_BODY = JSON.stringify({
  id: 'Transaction:t1',
  status: 'PENDING',
  type: 'INCOMING',
  destination: { destinationType: 'ACCOUNT', accountId: 'InternalAccount:i1', currency: 'USD' },
  customerId: 'Customer:c1',
  platformCustomerId: 'p1',
  receivedAmount: { amount: 12_345, currency: { code: 'USD', name: 'US dollar', symbol: '$', decimals: 2 } },
});
