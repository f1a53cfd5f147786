/** What a scene runs on: topics, a sandbox and the wire to it, processors, and a watch on their results. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from 'payment-processor-local-kafka/start';
import { Stack, type StackOptions } from '../../test/support/stack.ts';
import { Fleet } from './fleet.ts';
import { ResultWatch } from './result-watch.ts';
import { ServiceLink } from './service-link.ts';

/** Where a scene runs, and whom it reports to. */
export interface Place extends Pick<StackOptions, 'kafkaBrokers' | 'schemaRegistryUrl'> {
  /** Its brokers and registry can be disturbed; null: they are shared with others. */
  readonly engine: Engine | null;
  /** Logs and local stores of the processors. */
  readonly directory: string;
  readonly onProgress: (line: string) => void;
}

export interface Rig {
  readonly stack: Stack;
  readonly link: ServiceLink;
  readonly fleet: Fleet;
  readonly results: ResultWatch;
}

export type RigOptions = Pick<StackOptions, 'name' | 'lanes' | 'sandbox' | 'isRead' | 'settings'>;

export const SESSION_TIMEOUT_MS = 3_000;
export const API_TIMEOUT_MS = 2_000;
export const SETTLING_TIME_MS = 2_000;
const TIMES = {
  KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS),
  KAFKA_HEARTBEAT_INTERVAL_MS: '500',
  API_TIMEOUT_MS: String(API_TIMEOUT_MS),
  SETTLING_TIME_MS: String(SETTLING_TIME_MS),
};

/** Ends everything that it opened, however the run ends. */
export async function withRig<Result>(
  { directory, kafkaBrokers, schemaRegistryUrl }: Place,
  options: RigOptions,
  run: (rig: Rig) => Promise<Result>,
): Promise<Result> {
  const logs = join(directory, 'logs');
  await mkdir(logs, { recursive: true });
  const stack = await Stack.open({
    kafkaBrokers,
    schemaRegistryUrl,
    isRead: false,
    ...options,
    settings: { ...TIMES, STATE_DIR: join(directory, 'state'), ...options.settings },
  });
  const link = await ServiceLink.open(stack.sandbox.port, Number(stack.environment['API_TIMEOUT_MS']));
  const apiBaseUrl = stack.sandbox.baseUrl.replace(`:${stack.sandbox.port}`, `:${link.port}`);
  const fleet = new Fleet({ ...stack.environment, API_BASE_URL: apiBaseUrl }, logs);
  const results = await ResultWatch.open(stack.settings);
  try {
    return await run({ stack, link, fleet, results });
  } finally {
    await Promise.all([fleet.close(), results.close()]);
    await link.close();
    await stack.close();
  }
}
