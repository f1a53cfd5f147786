/**
 * The service interface as lists: endpoints, enumeration values and the fields of answers. The tests of values run over
 * them, so that a value added here is tested.
 */

export const ENDPOINTS = {
  'list-transactions': 'GET /transactions',
  'create-quote': 'POST /quotes',
  'execute-quote': 'POST /quotes/{quoteId}/execute',
  'transfer-in': 'POST /transfer-in',
  'reject-transaction': 'POST /transactions/{transactionId}/reject',
  'simulate-uma-receive': 'POST /sandbox/uma/receive',
} as const;

export const ENUMERATIONS = {
  transactionStatus: [
    'CREATED',
    'PENDING',
    'PROCESSING',
    'SENT',
    'COMPLETED',
    'REJECTED',
    'FAILED',
    'REFUNDED',
    'EXPIRED',
  ],
  transactionType: ['INCOMING', 'OUTGOING'],
  quoteStatus: ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'EXPIRED'],
  failureReason: [
    'LNURLP_FAILED',
    'PAY_REQUEST_FAILED',
    'PAYMENT_APPROVAL_WEBHOOK_ERROR',
    'PAYMENT_APPROVAL_TIMED_OUT',
    'OFFRAMP_FAILED',
    'MISSING_MANDATORY_PAYEE_DATA',
    'QUOTE_EXPIRED',
    'QUOTE_EXECUTION_FAILED',
  ],
  lockedCurrencySide: ['SENDING', 'RECEIVING'],
  purposeOfPayment: [
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
  ],
  accountType: ['US_ACCOUNT', 'SPARK_WALLET'],
  sourceType: ['ACCOUNT'],
  destinationType: ['ACCOUNT'],
  counterpartyKey: ['FULL_NAME', 'BIRTH_DATE', 'NATIONALITY'],
} as const;
