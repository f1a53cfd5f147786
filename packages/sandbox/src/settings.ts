/** What can be set, at the start or at run time through `POST /control/settings`. */
import type { CommandType } from 'payment-processor-contract/commands';

export interface Settings {
  /** Operations whose Idempotency-Key is honoured. */
  honourKeys: CommandType[];
  /** A known Idempotency-Key with another request is answered 409; else as the first request was, as the interface says. */
  refuseReusedKeys: boolean;
  /** Integers of answers are written as `1000.0`, which JSON Schema takes for integers. */
  writePointZero: boolean;
  /** From the creation of a quote to its expiry. */
  quoteLifetimeMs: number;
  /** From the execution of a quote, or from a transfer-in, to COMPLETED. */
  settleMs: number;
  /** How long a simulated incoming UMA payment waits PENDING, so that it can be rejected. */
  approvalMs: number;
  /** Requests per second to the versioned endpoints, all clients together; null: no limit. */
  rateLimitPerSecond: number | null;
  /** How long an Idempotency-Key is remembered. */
  idempotencyRetentionMs: number;
}

export const DEFAULT_SETTINGS: Settings = {
  honourKeys: ['transfer-in'],
  refuseReusedKeys: false,
  writePointZero: false,
  quoteLifetimeMs: 60_000,
  settleMs: 5000,
  approvalMs: 5000,
  rateLimitPerSecond: null,
  idempotencyRetentionMs: 24 * 3_600_000,
};
