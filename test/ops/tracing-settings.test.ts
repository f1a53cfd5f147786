/** What the `OTEL_*` variables turn on, and which values are ignored. */
import { describe, expect, test } from 'vitest';
import { readTracingSettings } from '../../src/ops/tracing-settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const BY_DEFAULT = {
  protocol: 'http/protobuf',
  sampler: { isParentBased: true, ratio: 1 },
  queueMax: 2048,
  batchMax: 512,
  delayMs: 5000,
  exportTimeoutMs: 30_000,
};

describe('tracing is on', () => {
  test.each([
    ['by an endpoint', ENDPOINT],
    ['by an endpoint for traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces' }],
    ['by the exporter, at its own default endpoint', { OTEL_TRACES_EXPORTER: 'otlp' }],
    ['where disabled says false', { ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }],
    ['where variables are empty', { ...ENDPOINT, OTEL_TRACES_EXPORTER: '', OTEL_TRACES_SAMPLER: ' ' }],
  ])('%s', (_, environment) => {
    expect(readTracingSettings(environment)).toEqual({ settings: BY_DEFAULT, problems: [] });
  });
});

describe('tracing is off, and logs nothing', () => {
  test.each([
    ['unless asked for', {}],
    ['where the endpoint is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }],
    ['where only a name is given', { OTEL_SERVICE_NAME: 'payments' }],
    ['where the SDK is disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'True' }],
    ['where no exporter is wanted', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ])('%s', (_, environment) => {
    expect(readTracingSettings(environment)).toEqual({ settings: null, problems: [] });
  });
});

describe('tracing is off, and says why', () => {
  test.each([
    [
      'with an endpoint that is no URL',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    ],
    ['with gRPC', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL'],
    [
      'with gRPC for traces alone',
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
    ],
    ['with another exporter', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER'],
  ])('%s', (_, environment, name) => {
    const { problems, settings } = readTracingSettings(environment);
    expect(settings).toBeNull();
    expect(problems).toEqual([expect.stringContaining(name)]);
  });
});

test.each([
  ['always_on', { isParentBased: false, ratio: 1 }],
  ['always_off', { isParentBased: false, ratio: 0 }],
  ['traceidratio', { isParentBased: false, ratio: 0.25 }],
  ['parentbased_always_on', { isParentBased: true, ratio: 1 }],
  ['parentbased_always_off', { isParentBased: true, ratio: 0 }],
  ['parentbased_traceidratio', { isParentBased: true, ratio: 0.25 }],
])('the sampler %s is known', (name, sampler) => {
  const environment = { ...ENDPOINT, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '0.25' };
  expect(readTracingSettings(environment)).toMatchObject({ settings: { sampler }, problems: [] });
});

test('an unusable value is reported by variable and falls back to its default; values are bounded', () => {
  const { problems, settings } = readTracingSettings({
    ...ENDPOINT,
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_BSP_MAX_QUEUE_SIZE: '1000000000',
    OTEL_BSP_SCHEDULE_DELAY: 'soon',
    OTEL_BSP_EXPORT_TIMEOUT: '-1',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '0',
  });
  expect(settings).toEqual({ ...BY_DEFAULT, sampler: { isParentBased: false, ratio: 1 } });
  expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([
    'OTEL_BSP_EXPORT_TIMEOUT',
    'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    'OTEL_BSP_MAX_QUEUE_SIZE',
    'OTEL_BSP_SCHEDULE_DELAY',
    'OTEL_TRACES_SAMPLER_ARG',
  ]);
});

test('a batch is never larger than the queue', () => {
  const environment = { ...ENDPOINT, OTEL_BSP_MAX_QUEUE_SIZE: '10', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' };
  expect(readTracingSettings(environment).settings).toMatchObject({
    queueMax: 10,
    batchMax: 10,
    protocol: 'http/json',
  });
});
