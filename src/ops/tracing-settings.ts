/**
 * The `OTEL_*` variables that decide whether and how spans are exported, as OpenTelemetry specifies them. Pure.
 *
 * The SDK's packages read the rest themselves: the exporter's endpoint (only checked here), headers, timeout, compression and
 * certificates, the service name and the resource attributes.
 *
 * Payments must not depend on tracing, so we report an unusable value and ignore it. An unusable exporter, endpoint or protocol turns
 * tracing off; any other unusable value falls back to its default.
 */
import type { Logger } from 'pino';
import type { Clock } from 'payment-processor-contract/clock';
import type { Config, Environment } from 'payment-processor-contract/config';
import type { CommandTraces } from '../lanes/command-traces.ts';
import type { TopicNames } from 'payment-processor-contract/topics';

export interface Tracing {
  /** Receives the reports of lanes and calls. */
  readonly traces: CommandTraces;
  /** Exports the queued spans, for a bounded time. Never rejects. */
  stop(): Promise<void>;
}

export interface TracingOptions {
  readonly config: Pick<Config, 'KAFKA_GROUP_ID' | 'API_BASE_URL'>;
  readonly topics: Pick<TopicNames, 'results'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export type ExportProtocol = 'http/protobuf' | 'http/json';

export interface SamplerChoice {
  /** Whether the publisher's sampling decision applies to a command's trace. */
  readonly isParentBased: boolean;
  /** Share of traces, 0 to 1, if the publisher has not decided. */
  readonly ratio: number;
}

export interface TracingSettings {
  readonly protocol: ExportProtocol;
  readonly sampler: SamplerChoice;
  /** Limit of spans that wait for export; any more are dropped. */
  readonly queueMax: number;
  readonly batchMax: number;
  readonly delayMs: number;
  readonly exportTimeoutMs: number;
}

export interface TracingChoice {
  /** Null: tracing is off. */
  readonly settings: TracingSettings | null;
  /** One message for each variable with an unusable value, which it never shows. */
  readonly problems: readonly string[];
}

/** About 10 MB: tracing must not take memory from payments. */
const QUEUE_MAX = 20_000;
const DELAY_MS_MAX = 600_000;
const EXPORT_TIMEOUT_MS_MAX = 120_000;
const ENDPOINTS = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT'];
/** The first one set counts. */
const PROTOCOLS = ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL'];

/** @param environment as `process.env`; an empty variable counts as not set */
export function readTracingSettings(environment: Environment): TracingChoice {
  const valueOf = (name: string): string => environment[name]?.trim() ?? '';
  if (valueOf('OTEL_SDK_DISABLED').toLowerCase() === 'true') return { settings: null, problems: [] };
  const exporters = valueOf('OTEL_TRACES_EXPORTER')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const endpoints = ENDPOINTS.filter((name) => valueOf(name) !== '');
  if (exporters.includes('none') || (exporters.length === 0 && endpoints.length === 0))
    return { settings: null, problems: [] };

  const problems: string[] = [];
  const others = exporters.filter((name) => name !== 'otlp');
  if (others.length > 0)
    problems.push(
      `OTEL_TRACES_EXPORTER: only otlp and none are supported; ${exporters.includes('otlp') ? 'the others are ignored' : 'no spans are exported'}`,
    );
  const invalid = endpoints.filter((name) => !isHttpUrl(valueOf(name)));
  problems.push(...invalid.map((name) => `${name} is not an http or https URL; no spans are exported`));
  const protocolName = PROTOCOLS.find((name) => valueOf(name) !== '');
  const protocol = readProtocol(protocolName === undefined ? 'http/protobuf' : valueOf(protocolName));
  if (protocol === null)
    problems.push(`${protocolName}: only http/protobuf and http/json are supported; no spans are exported`);
  if (protocol === null || invalid.length > 0 || (exporters.length > 0 && !exporters.includes('otlp')))
    return { settings: null, problems };

  const wholeNumber = (name: string, fallback: number, max: number): number => {
    const text = valueOf(name);
    if (text === '') return fallback;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (value >= 1 && value <= max) return value;
    problems.push(`${name} is not a whole number from 1 to ${max}; ${fallback} is used`);
    return fallback;
  };
  const queueMax = wholeNumber('OTEL_BSP_MAX_QUEUE_SIZE', 2048, QUEUE_MAX);
  const settings: TracingSettings = {
    protocol,
    sampler: readSampler(valueOf('OTEL_TRACES_SAMPLER'), valueOf('OTEL_TRACES_SAMPLER_ARG'), problems),
    queueMax,
    batchMax: Math.min(queueMax, wholeNumber('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, QUEUE_MAX)),
    delayMs: wholeNumber('OTEL_BSP_SCHEDULE_DELAY', 5000, DELAY_MS_MAX),
    exportTimeoutMs: wholeNumber('OTEL_BSP_EXPORT_TIMEOUT', 30_000, EXPORT_TIMEOUT_MS_MAX),
  };
  return { settings, problems };
}

function readProtocol(text: string): ExportProtocol | null {
  return text === 'http/protobuf' || text === 'http/json' ? text : null;
}

function readSampler(name: string, argument: string, problems: string[]): SamplerChoice {
  const own = name.replace(/^parentbased_/, '');
  const isParentBased = own !== name || name === '';
  switch (own) {
    case '':
    case 'always_on':
      return { isParentBased, ratio: 1 };
    case 'always_off':
      return { isParentBased, ratio: 0 };
    case 'traceidratio': {
      const ratio = argument === '' ? 1 : Number(argument);
      if (ratio >= 0 && ratio <= 1) return { isParentBased, ratio };
      problems.push('OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1; 1 is used');
      return { isParentBased, ratio: 1 };
    }
    default:
      problems.push('OTEL_TRACES_SAMPLER has an unknown value; parentbased_always_on is used');
      return { isParentBased: true, ratio: 1 };
  }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}
