/**
 * Tracing of commands by OpenTelemetry, off unless `OTEL_*` asks for it. The SDK is loaded only then, so that a process
 * without tracing carries none of it.
 */
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Config, Environment } from '../config.ts';
import type { CommandTraces } from '../lanes/command-traces.ts';
import type { TopicNames } from '../records/topics.ts';
import { readTracingSettings } from './tracing-settings.ts';

export interface Tracing {
  /** For lanes and calls. */
  readonly traces: CommandTraces;
  /** Exports what is left, for a bounded time. Never rejects. */
  stop(): Promise<void>;
}

export interface TracingOptions {
  readonly config: Pick<Config, 'KAFKA_GROUP_ID' | 'API_BASE_URL'>;
  readonly topics: Pick<TopicNames, 'results'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const OFF: Tracing = {
  traces: { admitted: () => undefined, called: () => undefined, lookedUp: () => undefined, resulted: () => undefined },
  stop: async () => undefined,
};

/** Never rejects: payments do not wait for tracing, whatever is wrong with it. */
export async function openTracing(environment: Environment, options: TracingOptions): Promise<Tracing> {
  const { log } = options;
  const { problems, settings } = readTracingSettings(environment);
  for (const problem of problems) log.warn({ event: 'tracing-setting-ignored', problem });
  if (settings === null) return OFF;
  try {
    const { startSpanExport } = await import('./span-export.ts');
    const tracing = startSpanExport(settings, options);
    log.info({ event: 'tracing', protocol: settings.protocol });
    return tracing;
  } catch (error) {
    log.error({ event: 'tracing-not-started', err: error });
    return OFF;
  }
}
