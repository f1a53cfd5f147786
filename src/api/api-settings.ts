/** The settings that calls of the payment API depend on. */
import type { PaymentApiOptions } from './payment-api.ts';
import type { Config } from 'payment-processor-contract/config';

type ApiSettings = Pick<
  PaymentApiOptions,
  'baseUrl' | 'credentials' | 'timeoutMs' | 'maxConcurrency' | 'breakerErrorPercent' | 'breakerResetMs'
>;

export function apiSettings(config: Config): ApiSettings {
  return {
    baseUrl: config.API_BASE_URL,
    credentials: () => ({ tokenId: config.API_TOKEN_ID, clientSecret: config.API_CLIENT_SECRET }),
    timeoutMs: config.API_TIMEOUT_MS,
    maxConcurrency: config.API_MAX_CONCURRENCY,
    breakerErrorPercent: config.BREAKER_ERROR_PERCENT,
    breakerResetMs: config.BREAKER_RESET_MS,
  };
}
