/** The settings of the lanes, and of the calls that they make. */
import { hash } from 'node:crypto';
import type { PaymentApiOptions } from '../api/payment-api.ts';
import { API_TIMEOUT_MAX_MS, SESSION_TIMEOUT_MAX_MS, type Config } from 'payment-processor-contract/config';
import type { LedgerPolicy } from '../ledger/settlement.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { topicNames, type TopicNames } from 'payment-processor-contract/topics';

export interface RetentionPolicy {
  readonly doneMs: number;
  readonly transactionMs: number;
}

export interface LaneSettings {
  readonly laneCount: number;
  readonly topics: TopicNames;
  readonly commandTypes: readonly CommandType[];
  readonly policy: LedgerPolicy;
  readonly retention: RetentionPolicy;
  readonly sessionTimeoutMs: number;
  readonly unfinishedMax: number;
}

export function laneSettings(config: Config): LaneSettings {
  return {
    laneCount: config.LANES,
    topics: topicNames(config.TOPIC_PREFIX),
    commandTypes: servedCommandTypes(config),
    policy: ledgerPolicy(config),
    retention: {
      doneMs: config.LEDGER_RETENTION,
      // While the poller still looks at a transaction that ended, its state must be known.
      transactionMs: Math.max(config.LEDGER_RETENTION, config.POLL_TERMINAL_FOR),
    },
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    unfinishedMax: config.MAX_UNFINISHED_PER_LANE,
  };
}

/** The settings that calls of the payment API depend on. */
export function apiSettings(
  config: Config,
): Omit<PaymentApiOptions, 'clock' | 'random' | 'log' | 'onCall' | 'makeClient'> {
  return {
    baseUrl: config.API_BASE_URL,
    credentials: () => ({ tokenId: config.API_TOKEN_ID, clientSecret: config.API_CLIENT_SECRET }),
    timeoutMs: config.API_TIMEOUT_MS,
    maxConcurrency: config.API_MAX_CONCURRENCY,
    breakerErrorPercent: config.BREAKER_ERROR_PERCENT,
    breakerResetMs: config.BREAKER_RESET_MS,
  };
}

export function inputTopicsOf({ commandTypes, topics }: LaneSettings): string[] {
  return [
    ...commandTypes.map((type) => topics.commands[type]),
    topics.operatorDecisions,
    topics.operatorHolds,
    topics.observations,
  ];
}

/** Only a sandbox can simulate payments. */
export function servedCommandTypes(config: Pick<Config, 'SANDBOX_COMMANDS'>): CommandType[] {
  return COMMAND_TYPES.filter((type) => type !== 'simulate-uma-receive' || config.SANDBOX_COMMANDS);
}

/** Enough to tell tokens apart, too little to recover one. */
const CALLER_ID_LENGTH = 8;

/** The settings that decisions on entries depend on. */
function ledgerPolicy(config: Config): LedgerPolicy {
  return {
    apiTimeoutMs: config.API_TIMEOUT_MS,
    callsEndWithinMs: SESSION_TIMEOUT_MAX_MS + API_TIMEOUT_MAX_MS,
    settlingTimeMs: config.SETTLING_TIME_MS,
    idempotentOperations: new Set(config.API_IDEMPOTENT_OPERATIONS),
    idempotencyRetentionMs: config.API_IDEMPOTENCY_RETENTION,
    immediateExecution: config.IMMEDIATE_EXECUTION,
    commandMaxAgeMs: config.COMMAND_MAX_AGE,
    // Read anew, because a mounted secret may change.
    get callerId() {
      return hash('sha256', config.API_TOKEN_ID, 'base64url').slice(0, CALLER_ID_LENGTH);
    },
  };
}
