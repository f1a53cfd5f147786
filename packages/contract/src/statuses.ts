/**
 * The service's statuses and the like, as its interface lists them. It may add others later, so our types keep them as
 * strings.
 */

/** Usually the last status of a payment. It may still change: a refund, a return by the bank. */
export const FINAL_STATUSES = ['COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

export type TransactionStatus = 'CREATED' | 'PENDING' | 'PROCESSING' | 'SENT' | FinalStatus;

export type QuoteStatus = 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'FAILED' | 'EXPIRED';
export type TransactionType = 'INCOMING' | 'OUTGOING';
export type FailureReason =
  | 'LNURLP_FAILED'
  | 'PAY_REQUEST_FAILED'
  | 'PAYMENT_APPROVAL_WEBHOOK_ERROR'
  | 'PAYMENT_APPROVAL_TIMED_OUT'
  | 'OFFRAMP_FAILED'
  | 'MISSING_MANDATORY_PAYEE_DATA'
  | 'QUOTE_EXPIRED'
  | 'QUOTE_EXECUTION_FAILED';

export function isFinalStatus(status: string | null): status is FinalStatus {
  return (FINAL_STATUSES as readonly (string | null)[]).includes(status);
}
