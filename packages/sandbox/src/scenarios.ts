/** A payment's scenario, by the last three digits of an account id or of a UMA address's user part. */

export const FAILURE_REASONS = [
  'LNURLP_FAILED',
  'PAY_REQUEST_FAILED',
  'PAYMENT_APPROVAL_WEBHOOK_ERROR',
  'PAYMENT_APPROVAL_TIMED_OUT',
  'OFFRAMP_FAILED',
  'MISSING_MANDATORY_PAYEE_DATA',
  'QUOTE_EXPIRED',
  'QUOTE_EXECUTION_FAILED',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

export type Scenario =
  | { kind: 'succeeds' }
  /** The call itself is refused. */
  | { kind: 'refused'; code: 'INSUFFICIENT_BALANCE' | 'ACCOUNT_CLOSED'; message: string }
  /** Accepted, and fails on the way. */
  | { kind: 'fails'; failureReason: FailureReason }
  /** The receiving institution rejects the payment, and the money goes back. */
  | { kind: 'rejected' }
  /** Stays PENDING for a while, then fails. */
  | { kind: 'times-out' }
  /** COMPLETED, and later REFUNDED: a return by the bank. */
  | { kind: 'refunded-later' }
  /** Stays long in each status, including CREATED. */
  | { kind: 'slow' };

const SUCCEEDS: Scenario = { kind: 'succeeds' };

const SCENARIOS: ReadonlyMap<string, Scenario> = new Map<string, Scenario>([
  ['002', { kind: 'refused', code: 'INSUFFICIENT_BALANCE', message: 'the account has insufficient funds' }],
  ['003', { kind: 'refused', code: 'ACCOUNT_CLOSED', message: 'the account is closed' }],
  ['004', { kind: 'rejected' }],
  ['005', { kind: 'times-out' }],
  ['006', { kind: 'refunded-later' }],
  ['007', { kind: 'slow' }],
  // 011 to 018, in the order of the list of reasons.
  ...FAILURE_REASONS.map((failureReason, index): [string, Scenario] => [
    `0${11 + index}`,
    { kind: 'fails', failureReason },
  ]),
]);

/** The scenario of the first account id or UMA address that has one. */
export function scenarioOf(...names: string[]): Scenario {
  for (const name of names) {
    const user = name.includes('@') && !name.includes(':') ? name.slice(0, name.indexOf('@')) : name;
    const scenario = SCENARIOS.get(user.slice(-3));
    if (scenario !== undefined) return scenario;
  }
  return SUCCEEDS;
}
