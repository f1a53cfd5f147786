/** Options of a stack, with a real or a simulated Kafka. */
import type { IHeaders } from 'kafkajs';
import type { SandboxStartOptions } from 'payment-processor-sandbox/start';

export const LANES = 3;

export interface StackOptions {
  name: string;
  kafkaBrokers: readonly string[];
  schemaRegistryUrl: string;
  /** Partitions of every topic; LANES by default. */
  lanes?: number;
  sandbox?: SandboxStartOptions;
  /** False: the journal stays empty. */
  isRead?: boolean;
  /** Additional settings of the processor. */
  settings?: Readonly<Record<string, string>>;
}

/** Short timeouts, so that the loss of a member or an answer is settled in seconds. */
export const QUICK_SETTINGS = {
  KAFKA_SESSION_TIMEOUT_MS: '2000',
  KAFKA_HEARTBEAT_INTERVAL_MS: '300',
  API_TIMEOUT_MS: '1500',
  SETTLING_TIME_MS: '1000',
  BREAKER_RESET_MS: '500',
  SANDBOX_COMMANDS: 'true',
};

/** So slow that no payment proceeds by itself during a test. */
export const SLOW_PAYMENTS = { settleMs: 60_000, approvalMs: 600_000 };

export interface RawMessage {
  key: Buffer | string | null;
  value: Buffer | string | null;
  headers?: IHeaders;
  partition?: number;
}
