/** What most commands start with: settings from the environment, and a Kafka client. */
import { once } from 'node:events';
import { keyProblem } from 'payment-processor-contract/keys';
import type { PaymentApi } from '../../../src/api/payment-api.ts';
import { readSomeSettings, type Config, type SettingName } from 'payment-processor-contract/config';
import { createKafka, KAFKA_SETTING_NAMES, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { topicNames, topicsOfLanes } from 'payment-processor-contract/topics';
import { laneOfKey } from 'payment-processor-client/internal/kafka/topic-bounds';
import { CliFailure } from './exit-codes.ts';

/** An operator waits: after about eight seconds of retries the command reports that no broker answers. */
export const CLI_RETRY = { initialRetryTime: 50, maxRetryTime: 1_500, retries: 10, factor: 0.2, multiplier: 1.6 };

/** Most commands need these: Kafka, and our topics' prefix. */
export const CLI_SETTING_NAMES = [...KAFKA_SETTING_NAMES, 'TOPIC_PREFIX'] as const;
export type CliSettings = Pick<Config, (typeof CLI_SETTING_NAMES)[number]>;

export type CliKafka = ReturnType<typeof createKafka>;

export function cliKafka(settings: KafkaSettings): CliKafka {
  return createKafka(settings, 'payment-cli', { retry: CLI_RETRY });
}

/** A key's lane, in every topic of the prefix. */
export async function laneIn(settings: CliSettings, key: string): Promise<number> {
  return laneOfKey(cliKafka(settings), topicsOfLanes(topicNames(settings.TOPIC_PREFIX)), key);
}

export const API_SETTING_NAMES = ['API_BASE_URL', 'API_TOKEN_ID', 'API_CLIENT_SECRET', 'API_TIMEOUT_MS'] as const;

/** The payment service, for reading only. */
export async function withPaymentApi<Value>(
  settings: Pick<Config, (typeof API_SETTING_NAMES)[number]>,
  use: (api: PaymentApi) => Promise<Value> | Value,
): Promise<Value> {
  // Loaded by the commands that need it: undici and all of src/api take a tenth of a start.
  const { createPaymentApi } = await import('../../../src/api/payment-api.ts');
  const api = createPaymentApi({
    baseUrl: settings.API_BASE_URL,
    credentials: () => ({ tokenId: settings.API_TOKEN_ID, clientSecret: settings.API_CLIENT_SECRET }),
    timeoutMs: settings.API_TIMEOUT_MS,
    // The command line reads one list at a time, so these limits do not matter.
    maxConcurrency: 1,
    breakerErrorPercent: 100,
    breakerResetMs: 1_000,
  });
  try {
    await api.start();
    return await use(api);
  } finally {
    await api.close();
  }
}

/**
 * Reads the settings that a command needs.
 * @throws CliFailure listing every problem with them
 */
export function requireSettings<Name extends SettingName>(names: readonly Name[]): Pick<Config, Name> {
  const read = readSomeSettings(process.env, names);
  if (read.ok) return read.config;
  throw new CliFailure('settings', [
    'wrong settings (set them in the environment):',
    ...read.problems.map((problem) => `  ${problem}`),
  ]);
}

/** @throws CliFailure for a key that no command can have */
export function requireKey(key: string): void {
  const problem = keyProblem(key);
  if (problem !== null) throw new CliFailure('usage', problem);
}

/** Runs until SIGINT, SIGTERM or SIGHUP, or until the work ends. */
export function untilInterrupted(work: Promise<void>): Promise<void> {
  return withInterruption(async (interruption) => {
    await Promise.race([work, once(interruption, 'abort')]);
  });
}

/** A lost terminal sends SIGHUP. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** After the first SIGINT, SIGTERM or SIGHUP the work decides when to end; the second ends the process at once. */
export async function withInterruption<Value>(work: (interruption: AbortSignal) => Promise<Value>): Promise<Value> {
  const interruption = new AbortController();
  const listenNoMore = (): void => {
    for (const signal of SIGNALS) process.removeListener(signal, stop);
  };
  const stop = (): void => {
    listenNoMore();
    interruption.abort();
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work(interruption.signal);
  } finally {
    listenNoMore();
  }
}
