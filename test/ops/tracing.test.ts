/** Tracing by `OTEL_*`: the publisher's trace continues through admission, call and result; payments never wait for it. */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startHostileService } from '../support/hostile-service.ts';
import { SpanReceiver, tracingTo, type ReceivedSpan } from '../support/span-receiver.ts';
import { createQuoteOf, publishTransfers, transferInOf } from '../support/commands.ts';
import type { LogLine, RunningProcessor } from '../support/processor.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';

const INTERNAL = 1;
const CLIENT = 3;
const PRODUCER = 4;
const CONSUMER = 5;
/** All that a span may show of a key. */
const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 16);

const stack = useStack({ name: 'tracing' });
const receivers: SpanReceiver[] = [];

async function receiverOf(...mood: Parameters<typeof SpanReceiver.start>): Promise<SpanReceiver> {
  const receiver = await SpanReceiver.start(...mood);
  receivers.push(receiver);
  return receiver;
}

/** A publisher's span, sampled or not. */
function publisherSpan(flags: '00' | '01' = '01'): { traceId: string; spanId: string; traceparent: string } {
  const traceId = randomBytes(16).toString('hex');
  const spanId = randomBytes(8).toString('hex');
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
}

/** The admission's span and those under it; the trace is complete once its result is sent. */
async function wholeTrace(
  receiver: SpanReceiver,
  isOfTrace: (span: ReceivedSpan) => boolean,
): Promise<{ admission: ReceivedSpan; below: ReceivedSpan[] }> {
  await receiver.received((span) => isOfTrace(span) && span.kind === PRODUCER, 1, 'a result');
  const [admission] = await receiver.received((span) => isOfTrace(span) && span.kind === CONSUMER, 1, 'an admission');
  if (admission === undefined) throw new Error('there is no admission');
  return { admission, below: receiver.spans.filter((span) => isOfTrace(span) && span !== admission) };
}

function linesOf(processor: RunningProcessor, event: string): LogLine[] {
  return processor.log().filter((line) => line.event === event);
}

describe('of one processor with a collector', () => {
  let receiver: SpanReceiver;
  let processor: RunningProcessor;

  beforeAll(async () => {
    receiver = await SpanReceiver.start();
    processor = await stack().startProcessor({
      ...tracingTo(receiver),
      OTEL_RESOURCE_ATTRIBUTES: 'team=payments',
    });
  });
  afterAll(async () => {
    await stack().endProcessors();
    await receiver.close();
  });

  test('a command without a trace starts one with a single root; each step of a quote is a span', async () => {
    const command = { ...createQuoteOf('k-rootless'), immediatelyExecute: true };
    await stack().publisher.publish('create-quote', 'k-rootless', command);
    const { headers } = await stack().journal.result('k-rootless');
    expect(headers['traceparent']).toBeUndefined();
    const { admission, below } = await wholeTrace(
      receiver,
      ({ attributes }) => attributes['payments.key_hash'] === hashOf('k-rootless'),
    );
    expect(admission.parentSpanId).toBe('');
    expect(below.map(({ name }) => name)).toEqual([
      'POST /quotes',
      'POST /quotes/{quoteId}/execute',
      `send ${stack().topics.results}`,
    ]);
    expect(below.map(({ attributes }) => attributes['payments.attempt'])).toEqual([1, 2, undefined]);
    expect(new Set(below.map(({ traceId }) => traceId))).toEqual(new Set([admission.traceId]));
    expect(new Set(below.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([admission.spanId]));
  });

  test('a lost answer, its look-up and what follows are spans of one trace; an unsampled command has none', async () => {
    const { publisher, journal, service } = stack();
    const quote = await service.createQuote('InternalAccount:looked-up-x');
    await service.addFaults({ kind: 'drop-after', operation: 'execute-quote', count: 1 });
    const unsampled = publisherSpan('00');
    await publisher.publish('transfer-in', 'k-unsampled', transferInOf('k-unsampled'), {
      traceparent: unsampled.traceparent,
    });
    await journal.result('k-unsampled');
    const { traceId, traceparent } = publisherSpan();
    const command = { quoteId: quote.id, transactionId: quote.transactionId };
    await publisher.publish('execute-quote', 'k-doubt', command, { traceparent });
    expect((await journal.result('k-doubt')).value.settledBy).toBe('LOOKUP');
    const { below } = await wholeTrace(receiver, (span) => span.traceId === traceId);
    expect(below.map(({ isError, kind, name }) => ({ isError, kind, name }))).toEqual([
      { isError: true, kind: CLIENT, name: 'POST /quotes/{quoteId}/execute' },
      { isError: false, kind: INTERNAL, name: 'look up' },
      { isError: false, kind: PRODUCER, name: `send ${stack().topics.results}` },
    ]);
    expect(below[0]?.attributes).toMatchObject({ 'payments.answer': 'doubt', 'error.type': 'doubt' });
    expect(below[1]?.attributes).toMatchObject({ 'payments.look_up': 'found' });
    expect(receiver.ofTrace(unsampled.traceId)).toEqual([]);
  });

  test('a message without a usable key has a span that says so', async () => {
    const { spanId, traceId, traceparent } = publisherSpan();
    await stack().publishRaw('transfer-in', { key: 'not a key', value: '{}', headers: { traceparent } });
    const [span] = await receiver.received((received) => received.traceId === traceId, 1, 'of a dead letter');
    expect(span).toMatchObject({
      kind: CONSUMER,
      parentSpanId: spanId,
      isError: true,
      attributes: { 'payments.admission': 'dead-letter', 'error.type': 'INVALID_KEY' },
    });
    expect(receiver.bodies.join()).not.toContain('not a key');
  });

  test("the publisher's trace continues: admission under the publisher's span, call and result under the admission", async () => {
    const { topics, publisher, journal } = stack();
    const { spanId, traceId, traceparent } = publisherSpan();
    await publisher.publish('transfer-in', 'k-traced', transferInOf('k-traced'), {
      traceparent,
      tracestate: 'vendor=abc',
    });
    const result = await journal.result('k-traced');
    expect(result.headers).toMatchObject({ traceparent, tracestate: 'vendor=abc' });

    const { admission, below } = await wholeTrace(receiver, (span) => span.traceId === traceId);
    const topic = topics.commands['transfer-in'];
    expect(admission).toMatchObject({
      name: `process ${topic}`,
      parentSpanId: spanId,
      traceState: 'vendor=abc',
      isError: false,
      attributes: {
        'messaging.system': 'kafka',
        'messaging.operation.type': 'process',
        'messaging.destination.name': topic,
        'messaging.destination.partition.id': String(result.value.source.partition),
        'messaging.kafka.offset': Number(result.value.source.offset),
        'messaging.consumer.group.name': stack().environment['KAFKA_GROUP_ID'],
        'payments.command': 'transfer-in',
        'payments.key_hash': hashOf('k-traced'),
        'payments.admission': 'called',
      },
      service: { 'service.name': 'payment-processor', team: 'payments' },
    });
    expect(below.map(({ kind }) => kind)).toEqual([CLIENT, PRODUCER]);
    expect(below.map(({ parentSpanId }) => parentSpanId)).toEqual([admission.spanId, admission.spanId]);
    const api = new URL(stack().sandbox.baseUrl);
    expect(below[0]).toMatchObject({
      name: 'POST /transfer-in',
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'url.template': '/transfer-in',
        'server.address': api.hostname,
        'server.port': Number(api.port),
        'http.response.status_code': 201,
        'payments.attempt': 1,
        'payments.answer': 'accepted',
      },
    });
    expect(below[1]).toMatchObject({
      name: `send ${topics.results}`,
      attributes: {
        'messaging.operation.type': 'send',
        'messaging.destination.name': topics.results,
        'payments.outcome': 'ACCEPTED',
        'payments.settled_by': 'ANSWER',
        'payments.revision': 1,
      },
    });

    // A copy is admitted in its own trace, and makes no call.
    const copy = publisherSpan();
    await publisher.publish('transfer-in', 'k-traced', transferInOf('k-traced'), { traceparent: copy.traceparent });
    const [copied] = await receiver.received((span) => span.traceId === copy.traceId, 1, 'of the copy');
    expect(copied).toMatchObject({ parentSpanId: copy.spanId, attributes: { 'payments.admission': 'copy' } });
    await processor.stop();
    expect(receiver.ofTrace(copy.traceId)).toHaveLength(1);
  });
});

describe('of a processor for each test', () => {
  afterEach(async () => {
    await stack().endProcessors();
    await stack().service.clearFaults();
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  });

  test('a command whose process is killed during its call continues in the same trace, under the same admission', async () => {
    const receiver = await receiverOf();
    const { publisher, service } = stack();
    await service.addFaults({ kind: 'delay', operation: 'transfer-in', delayMs: 20_000, at: 'after', count: 1 });
    const first = await stack().startProcessor(tracingTo(receiver));
    const { traceId, traceparent } = publisherSpan();
    await publisher.publish('transfer-in', 'k-killed', transferInOf('k-killed'), { traceparent });
    await receiver.received((span) => span.traceId === traceId && span.kind === CONSUMER, 1, 'an admission');
    await eventually(
      () => service.effects(),
      ({ operations }) => operations['transfer-in']['k-killed']?.calls === 1,
      'the call',
    );
    await first.kill9();
    expect(receiver.ofTrace(traceId)).toHaveLength(1);

    await stack().startProcessor({ ...tracingTo(receiver), OTEL_SERVICE_NAME: 'payments-eu' });
    const { admission, below } = await wholeTrace(receiver, (span) => span.traceId === traceId);
    expect(below.map(({ name }) => name)).toEqual(['POST /transfer-in', `send ${stack().topics.results}`]);
    expect(below.map(({ parentSpanId }) => parentSpanId)).toEqual([admission.spanId, admission.spanId]);
    expect(below[0]?.attributes).toMatchObject({ 'payments.attempt': 2, 'http.request.resend_count': 1 });
    expect(below[0]?.service['service.name']).toBe('payments-eu');
    expect(new Set(receiver.ofTrace(traceId).map(({ service: of }) => of['service.instance.id'])).size).toBe(2);
  });

  test('the payment service gets no trace headers', async () => {
    const receiver = await receiverOf();
    const refusal = '{"status":400,"code":"INVALID_INPUT","message":"no"}';
    const service = await startHostileService(({ method }) =>
      method === 'GET' ? null : { httpStatus: 400, body: refusal },
    );
    try {
      await stack().startProcessor({ ...tracingTo(receiver), API_BASE_URL: service.baseUrl });
      const { traceId, traceparent } = publisherSpan();
      const traced = { traceparent, tracestate: 'vendor=abc' };
      await stack().publisher.publish('transfer-in', 'k-untold', transferInOf('k-untold'), traced);
      const { below } = await wholeTrace(receiver, (span) => span.traceId === traceId);
      expect(below[0]).toMatchObject({
        isError: true,
        attributes: { 'error.type': '400', 'payments.answer': 'refused' },
      });
      expect(below[1]).toMatchObject({ isError: false, attributes: { 'payments.outcome': 'REFUSED' } });
      const [call] = service.requests.filter(({ method }) => method === 'POST');
      expect(Object.keys(call?.headers ?? {})).toContain('idempotency-key');
      expect(JSON.stringify(service.requests)).not.toContain(traceId);
      expect(JSON.stringify(service.requests)).not.toContain('tracestate');
    } finally {
      await service.close();
    }
  });

  /** Loads test/ops/loaded-packages.ts first. */
  const TELLS_PACKAGES = { NODE_OPTIONS: `--import ${new URL('loaded-packages.ts', import.meta.url).href}` };

  test('without OTEL_* the SDK is not loaded, and with tracing switched off nothing connects', async () => {
    const receiver = await receiverOf();
    const packagesWith = async (settings: Record<string, string>): Promise<unknown[]> => {
      const processor = await stack().spawnProcessor({ ...TELLS_PACKAGES, ...settings });
      await processor.logged('listening');
      return linesOf(processor, 'package-loaded').map((line) => line['package']);
    };
    const [without, switchedOff] = await Promise.all([
      packagesWith({}),
      packagesWith({ ...tracingTo(receiver), OTEL_SDK_DISABLED: 'true' }),
    ]);
    // The metrics library loads this one itself.
    expect(without).toEqual(['@opentelemetry/api']);
    expect(switchedOff).toEqual(without);
    expect(receiver.connections).toBe(0);
    expect(await packagesWith(tracingTo(receiver))).toContain('@opentelemetry/sdk-trace');
  });

  test('a collector that never answers delays neither results nor shutdown, and the queue is bounded', async () => {
    const receiver = await receiverOf('hangs');
    const processor = await stack().startProcessor({
      ...tracingTo(receiver),
      // Longer than the test waits for an orderly shutdown.
      OTEL_EXPORTER_OTLP_TIMEOUT: '300000',
      OTEL_BSP_EXPORT_TIMEOUT: '120000',
      OTEL_BSP_MAX_QUEUE_SIZE: '10',
    });
    const keys = await publishTransfers(stack(), 'k-hanging', 20);
    const results = await stack().journal.resultsOfAll(keys);
    expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
    await receiver.until(() => receiver.held.length > 0, 'an export');
    expect(await processor.stop()).toEqual({ code: 0, signal: null });
    // Of 60 spans: the batch under way, and at shutdown the rest of the queue.
    expect(receiver.spans.length).toBeLessThanOrEqual(20);
  });

  test('failing exports are one log line without headers, and payments continue; protobuf by default', async () => {
    const receiver = await receiverOf('refuses');
    const processor = await stack().startProcessor({
      ...tracingTo(receiver),
      OTEL_EXPORTER_OTLP_PROTOCOL: '',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20planted-collector-token',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1',
      OTEL_TRACES_SAMPLER: 'nonsense',
    });
    const keys = await publishTransfers(stack(), 'k-failing', 5);
    const results = await stack().journal.resultsOfAll(keys);
    expect(results.map(({ value }) => value.outcome)).toEqual(keys.map(() => 'ACCEPTED'));
    await receiver.until(() => receiver.bodies.length >= 5, 'five exports');
    await processor.stop();
    expect(linesOf(processor, 'tracing-export-failed')).toHaveLength(1);
    expect(linesOf(processor, 'tracing-setting-ignored')).toMatchObject([
      { problem: expect.stringContaining('OTEL_TRACES_SAMPLER') as string },
    ]);
    expect(processor.lines.join('\n')).not.toContain('planted-collector-token');
    expect(new Set(receiver.contentTypes)).toEqual(new Set(['application/x-protobuf']));
  });
});
