/** The service's statuses, as its interface lists them. It may add others later: what is read stays a string. */

/** Where a payment usually stays. It may change all the same: a refund, a return by the bank. */
export const FINAL_STATUSES = ['COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

export type TransactionStatus = 'CREATED' | 'PENDING' | 'PROCESSING' | 'SENT' | FinalStatus;

export function isFinalStatus(status: string | null): status is FinalStatus {
  return (FINAL_STATUSES as readonly (string | null)[]).includes(status);
}
