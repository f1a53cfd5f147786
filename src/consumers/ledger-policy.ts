/** The settings that decisions on entries depend on. */
import { API_TIMEOUT_MAX_MS, SESSION_TIMEOUT_MAX_MS, type Config } from '../config.ts';
import type { LedgerPolicy } from '../ledger/settlement.ts';

export function ledgerPolicy(config: Config): LedgerPolicy {
  return {
    apiTimeoutMs: config.API_TIMEOUT_MS,
    callsEndWithinMs: SESSION_TIMEOUT_MAX_MS + API_TIMEOUT_MAX_MS,
    settlingTimeMs: config.SETTLING_TIME_MS,
    idempotentOperations: new Set(config.API_IDEMPOTENT_OPERATIONS),
    idempotencyRetentionMs: config.API_IDEMPOTENCY_RETENTION,
    immediateExecution: config.IMMEDIATE_EXECUTION,
    commandMaxAgeMs: config.COMMAND_MAX_AGE,
  };
}
