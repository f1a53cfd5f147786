/** Settings, at the start or at run time through `POST /control/settings`. */
import { z } from 'zod';
import { COMMAND_TYPES } from 'payment-processor-contract/commands';

const durationMs = z.number().min(0).max(1e12);

export const SETTINGS = z.strictObject({
  /** Operations whose Idempotency-Key is honoured. */
  honourKeys: z.array(z.enum(COMMAND_TYPES)).readonly(),
  /**
   * True: a known Idempotency-Key with another request gets a 409. False: it gets the first request's answer, as the
   * interface says.
   */
  refuseReusedKeys: z.boolean(),
  /** From the creation of a quote to its expiry. */
  quoteLifetimeMs: durationMs,
  /** From the execution of a quote, or from a transfer-in, to COMPLETED. */
  settleMs: durationMs,
  /** How long a simulated incoming UMA payment waits PENDING, so that it can be rejected. */
  approvalMs: durationMs,
  /** Requests per second to the versioned endpoints, all clients together; null: no limit. */
  rateLimitPerSecond: z.number().positive().nullable(),
  /** How long an Idempotency-Key is remembered. */
  idempotencyRetentionMs: durationMs,
});
export type Settings = z.infer<typeof SETTINGS>;

export const DEFAULT_SETTINGS: Settings = {
  honourKeys: ['transfer-in'],
  refuseReusedKeys: false,
  quoteLifetimeMs: 60_000,
  settleMs: 5000,
  approvalMs: 5000,
  rateLimitPerSecond: null,
  idempotencyRetentionMs: 24 * 3_600_000,
};
