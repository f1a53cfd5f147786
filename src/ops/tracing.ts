/**
 * Tracing of commands with OpenTelemetry, off unless `OTEL_*` variables turn it on. Only then is the SDK loaded: a process
 * without tracing should not pay for it.
 */
import type { Environment } from 'payment-processor-contract/config';
import { readTracingSettings, type Tracing, type TracingOptions } from './tracing-settings.ts';

const OFF: Tracing = {
  traces: { admitted: () => undefined, called: () => undefined, lookedUp: () => undefined, resulted: () => undefined },
  stop: async () => undefined,
};

/** Never rejects: payments must not depend on tracing. */
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
