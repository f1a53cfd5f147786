/**
 * Makes spans and exports them, with OpenTelemetry's SDK.
 *
 *   command reported -> span plan -> sampled? -> queue (bounded; drops the overflow) -> batches over OTLP/HTTP
 *   stop -> exports the queue, for a bounded time
 *
 * A slow or missing collector costs spans and one log line per minute, nothing else. Owns the provider, whose batch processor
 * owns queue, timer and connections. No other file uses the SDK.
 */
import {
  defaultTextMapGetter,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Context,
  type DiagLogger,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  RandomIdGenerator,
  SamplingDecision,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type IdGenerator,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import type { TracedCommand } from '../consumers/command-intake.ts';
import {
  admissionSpan,
  callSpan,
  idsOf,
  lookUpSpan,
  resultSpan,
  spanEnvironment,
  type SpanPlan,
  type SpanRole,
} from './command-spans.ts';
import { Repeats } from 'payment-processor-contract/repeats';
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { SamplerChoice, Tracing, TracingOptions, TracingSettings } from './tracing-settings.ts';

/** How long a stopping process waits to export its last spans. */
const STOP_MS_MAX = 2_000;

const KINDS: Record<SpanRole, SpanKind> = {
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
  producer: SpanKind.PRODUCER,
};

/** The trace and parent of a command's spans. */
interface TracePlace {
  /** From the publisher; empty if the command came without a trace. */
  readonly publisher: Context;
  readonly traceId: string;
  readonly admissionSpanId: string;
}

export function startSpanExport(settings: TracingSettings, { clock, config, log, topics }: TracingOptions): Tracing {
  const failures = new Repeats(() => clock.monotonicMs());
  const failed = (error: unknown): void => {
    const failuresBefore = failures.unlogged('export');
    if (failuresBefore !== null) log.warn({ event: 'tracing-export-failed', err: error, failuresBefore });
  };
  setGlobalErrorHandler(failed);
  diag.setLogger(diagnosticsTo(failed), DiagLogLevel.WARN);
  const exporter = settings.protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: settings.queueMax,
    maxExportBatchSize: settings.batchMax,
    scheduledDelayMillis: settings.delayMs,
    exportTimeoutMillis: settings.exportTimeoutMs,
  });
  const environment = spanEnvironment(config.API_BASE_URL, config.KAFKA_GROUP_ID, topics.results);
  const sampler = samplerOf(settings.sampler);
  const ids = new PresetIds();
  const resource = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'payment-processor' }))
    .merge(
      detectResources({
        detectors: [serviceInstanceIdDetector, resourceAttributesEnvDetector, serviceNameEnvDetector],
      }),
    );
  const provider = new TracerProvider({ resource, sampler, idGenerator: ids, spanProcessors: [processor] });
  const tracer = provider.getTracer('payment-processor');
  const propagator = new W3CTraceContextPropagator();

  const placeOf = (command: TracedCommand): TracePlace => {
    const publisher = propagator.extract(ROOT_CONTEXT, command.carried, defaultTextMapGetter);
    const own = idsOf(command);
    return { ...own, publisher, traceId: trace.getSpanContext(publisher)?.traceId ?? own.traceId };
  };
  const emit = ({ attributes, beganMs, endedMs, isError, name, role }: SpanPlan, parent: Context): void => {
    const options = { kind: KINDS[role], startTime: beganMs, attributes: { ...attributes } };
    const span = tracer.startSpan(name, options, parent);
    if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
    // Clocks can be set back.
    span.end(Math.max(beganMs, endedMs));
  };
  /** Under the admission's span and sampled like it, even if another process made that span. */
  const emitBelow = (command: TracedCommand, plan: SpanPlan): void => {
    const { admissionSpanId, publisher, traceId } = placeOf(command);
    const { decision } = sampler.shouldSample(publisher, traceId, plan.name, KINDS[plan.role], {}, []);
    const isSampled = decision === SamplingDecision.RECORD_AND_SAMPLED;
    const traceState = trace.getSpanContext(publisher)?.traceState;
    const parent = trace.setSpanContext(ROOT_CONTEXT, {
      traceId,
      spanId: admissionSpanId,
      traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
      ...(traceState === undefined ? {} : { traceState }),
    });
    emit(plan, parent);
  };
  const safely = (make: () => void): void => {
    try {
      make();
    } catch (error) {
      failed(error);
    }
  };

  return {
    traces: {
      admitted: (command, admission) =>
        safely(() => {
          const place = placeOf(command);
          const plan = admissionSpan(command, admission, environment, clock.nowMs());
          ids.during(place, () => emit(plan, place.publisher));
        }),
      called: (command, call) => safely(() => emitBelow(command, callSpan(command, call, environment))),
      lookedUp: (command, times, found) => safely(() => emitBelow(command, lookUpSpan(command, times, found))),
      resulted: (command, result) =>
        safely(() => emitBelow(command, resultSpan(command, result, environment, clock.nowMs()))),
    },
    stop: async () => {
      await settledWithin(provider.shutdown().catch(failed), STOP_MS_MAX);
    },
  };
}

/** Random ids, except for an admission, whose ids are preset. */
class PresetIds implements IdGenerator {
  readonly #random = new RandomIdGenerator();
  #preset: Pick<TracePlace, 'traceId' | 'admissionSpanId'> | null = null;

  /** @param start starts one span synchronously */
  during(place: Pick<TracePlace, 'traceId' | 'admissionSpanId'>, start: () => void): void {
    this.#preset = place;
    try {
      start();
    } finally {
      this.#preset = null;
    }
  }

  generateSpanId(): string {
    return this.#preset?.admissionSpanId ?? this.#random.generateSpanId();
  }

  /** The SDK calls it only for a span without a parent. */
  generateTraceId(): string {
    return this.#preset?.traceId ?? this.#random.generateTraceId();
  }
}

function samplerOf({ isParentBased, ratio }: SamplerChoice): Sampler {
  const own =
    ratio === 1 ? new AlwaysOnSampler() : ratio === 0 ? new AlwaysOffSampler() : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root: own }) : own;
}

/** The SDK's own diagnostics: dropped spans, ignored settings. */
function diagnosticsTo(failed: (error: unknown) => void): DiagLogger {
  // The component's name and message are strings. Other arguments may have any size and content.
  const report = (...parts: unknown[]): void => failed(parts.filter((part) => typeof part === 'string').join(' '));
  const nothing = (): void => undefined;
  return { error: report, warn: report, info: nothing, debug: nothing, verbose: nothing };
}
