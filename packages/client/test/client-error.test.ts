/** Whatever is wrong, the client throws its one error, with a code that the docs list. */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  CLIENT_ERROR_CODES,
  clientSettings,
  fingerprintOf,
  PaymentClient,
  PaymentClientError,
  PaymentCommandPublisher,
  readClientSettings,
  subscribe,
  type ClientNotice,
  type PublisherSettings,
} from '../src/index.ts';
import { COMMAND_HEADER_BYTES_MAX } from 'payment-processor-contract/commands';
import { clientError } from '../src/client-error.ts';
import { LiveEvents } from '../src/live-events.ts';
import { RecordPublisher } from '../src/kafka/record-publisher.ts';
import { createQuoteOf, transferInOf } from '../../../test/support/commands.ts';

const SETTINGS = { TOPIC_PREFIX: 'none', KAFKA_BROKERS: ['127.0.0.1:1'] } as unknown as PublisherSettings;
const WAIT = { timeoutMs: 1_000 };
let client: PaymentClient;
let publisher: PaymentCommandPublisher;

beforeEach(async () => {
  const publish = async (): Promise<never> => Promise.reject(new Error('nothing may be sent'));
  const records = { publish, close: async () => undefined } as unknown as RecordPublisher;
  vi.spyOn(RecordPublisher, 'connect').mockResolvedValue(records);
  const live = { refusal: () => null, isOpen: true, listen: () => () => undefined, close: async () => undefined };
  vi.spyOn(LiveEvents, 'open').mockResolvedValue(live as unknown as LiveEvents);
  client = await PaymentClient.connect(SETTINGS);
  publisher = await PaymentCommandPublisher.connect(SETTINGS);
});
afterEach(() => vi.restoreAllMocks());

async function thrownBy(call: () => unknown): Promise<PaymentClientError> {
  const thrown = await (async () => call())().then(
    (value: unknown) => value,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(PaymentClientError);
  return thrown as PaymentClientError;
}

/** What no type of ours allows, and JavaScript does. */
const any = (value: unknown): never => value as never;

describe('a command is refused by the path of what is wrong', () => {
  const fields = transferInOf('k');
  const cyclic: Record<string, unknown> = {};
  cyclic['source'] = cyclic;
  test.each<[string, string, () => unknown]>([
    ['type', 'an unknown type', () => client.request(any('refund'), 'k', any(fields), WAIT)],
    ['type', 'an unknown type', () => publisher.publishUntyped(any('toString'), 'k', fields)],
    ['type', 'an unknown type', () => fingerprintOf(any(undefined), 'k', fields)],
    ['key', 'no text', () => client.request('transfer-in', any(7), fields, WAIT)],
    ['key', 'a blank', () => publisher.publish('transfer-in', 'a key', fields)],
    ['amount', 'beyond int64', () => publisher.publish('transfer-in', 'k', { ...fields, amount: 2n ** 63n })],
    [
      'amount',
      'beyond int64',
      () => client.request('transfer-in', 'k', { ...fields, amount: -(2n ** 63n) - 1n }, WAIT),
    ],
    ['amount', 'not exact', () => client.request('transfer-in', 'k', { ...fields, amount: 2 ** 60 }, WAIT)],
    ['amount', 'not a number', () => client.request('transfer-in', 'k', { ...fields, amount: NaN }, WAIT)],
    ['', 'no object', () => publisher.publishUntyped('transfer-in', 'k', null)],
    ['source.accountId', 'a ring', () => publisher.publishUntyped('transfer-in', 'k', cyclic)],
    ['destination', 'missing', () => publisher.publishUntyped('transfer-in', 'k', { source: fields.source })],
  ])('%s: %s', async (field, _what, call) => {
    expect(await thrownBy(call)).toMatchObject({
      code: 'INVALID_COMMAND',
      field,
      retryable: false,
      mayBeWritten: false,
    });
  });
});

describe('an option is refused by its name', () => {
  const fields = transferInOf('k');
  const listen = (options: object) => () =>
    subscribe(SETTINGS, {
      streams: ['results'],
      start: { from: 'now' },
      onEvent: () => undefined,
      ...options,
    });
  const request = (options: object) => () => client.request('transfer-in', 'k', fields, { ...WAIT, ...options });
  test.each<[string, () => unknown]>([
    ...[0, -1, NaN, Infinity, 2 ** 31, '5'].map((timeoutMs): [string, () => unknown] => [
      'timeoutMs',
      request({ timeoutMs }),
    ]),
    ['timeoutMs', () => client.readResult('k', { timeoutMs: 0 })],
    ['timeoutMs', () => client.awaitSettled('k', { timeoutMs: -1 })],
    ['timeoutMs', () => client.createAndExecute('k', createQuoteOf('k'), { timeoutMs: 0 })],
    ...['', 'order 1', 'order-1\n', any(1)].flatMap((key): [string, () => unknown][] => [
      ['key', () => client.awaitSettled(key, WAIT)],
      ['key', () => client.readResult(key, WAIT)],
    ]),
    ['fingerprint', () => client.awaitSettled('k', { ...WAIT, fingerprint: '' })],
    ['since', () => client.awaitSettled('k', { ...WAIT, since: new Date('yesterday') })],
    ['signal', () => client.awaitSettled('k', { ...WAIT, signal: any({}) })],
    ['expiresAt', request({ expiresAt: new Date(NaN) })],
    ['expiresAt', () => publisher.publish('transfer-in', 'k', fields, { expiresAt: any('2030-01-01T00:00:00Z') })],
    ...[8.64e15, -8.64e15].map((ms): [string, () => unknown] => ['expiresAt', request({ expiresAt: new Date(ms) })]),
    ['contentType', request({ contentType: 'xml' })],
    ['correlationId', request({ correlationId: 7 })],
    ['correlationId', request({ correlationId: 'c'.repeat(COMMAND_HEADER_BYTES_MAX), source: '/shop' })],
    ['tracestate', request({ tracestate: 'é'.repeat(COMMAND_HEADER_BYTES_MAX / 2) })],
    ['commandId', () => publisher.publish('transfer-in', 'k', fields, { commandId: '' })],
    ['streams', listen({ streams: [] })],
    ['streams', listen({ streams: ['results', 'payments'] })],
    ['start.from', listen({ start: { from: 'yesterday' } })],
    ['start.from', listen({ start: undefined })],
    ['start.ms', listen({ start: { from: 'time', ms: NaN } })],
    ['start.groupId', listen({ start: { from: 'group', groupId: '' } })],
    ['key', listen({ start: { from: 'group', groupId: 'g' }, key: 'k' })],
    ['untilEnd', listen({ start: { from: 'group', groupId: 'g' }, untilEnd: true })],
    ['format', listen({ format: 'xml' })],
    ['onEvent', listen({ onEvent: undefined })],
    ['onGiveUp', listen({ onGiveUp: 'skip' })],
    ['handlerRetry.attempts', listen({ handlerRetry: { attempts: 0 } })],
    ['sessionTimeoutMs', listen({ sessionTimeoutMs: 1 })],
    ['closeTimeoutMs', listen({ closeTimeoutMs: 0.5 })],
  ])('%s', async (field, call) => {
    const thrown = await thrownBy(call);
    expect(thrown).toMatchObject({ code: 'INVALID_OPTION', field, retryable: false, mayBeWritten: false });
  });
});

test('settings as plain options are those of the environment, and a wrong one is named', async () => {
  const plain = {
    brokers: ['a:9092', 'b:9092'],
    topicPrefix: 'acme',
    sasl: { mechanism: 'scram-sha-512', username: 'u', password: 'p' },
    schemaRegistry: { url: 'http://registry:8081' },
  } as const;
  const read = readClientSettings({
    KAFKA_BROKERS: 'a:9092,b:9092',
    TOPIC_PREFIX: 'acme',
    KAFKA_SASL_MECHANISM: 'scram-sha-512',
    KAFKA_SASL_USERNAME: 'u',
    KAFKA_SASL_PASSWORD: 'p',
    SCHEMA_REGISTRY_URL: 'http://registry:8081',
  });
  expect(read).toEqual({ ok: true, config: clientSettings(plain) });
  const wrong = await thrownBy(() => clientSettings({ ...plain, topicPrefix: 'a b' }));
  expect(wrong).toMatchObject({ code: 'INVALID_OPTION', field: 'TOPIC_PREFIX' });
});

describe('a notice', () => {
  test('tells of a publication that failed and of a request that got its answer', async () => {
    const notices: ClientNotice[] = [];
    const noticing = await PaymentClient.connect(SETTINGS, { onNotice: (notice) => void notices.push(notice) });
    await thrownBy(() => noticing.request('transfer-in', 'k', transferInOf('k'), WAIT));
    vi.spyOn(RecordPublisher, 'connect').mockResolvedValue({
      publish: async () => ({ partition: 0, offset: 7n }),
      close: async () => undefined,
    } as unknown as RecordPublisher);
    const other = await PaymentClient.connect(SETTINGS, {
      onNotice: (notice) => {
        notices.push(notice);
        throw new Error('a log that fails');
      },
    });
    expect(await other.request('transfer-in', 'k', transferInOf('k'), { timeoutMs: 20 })).toMatchObject({
      kind: 'unanswered',
    });
    expect(notices).toMatchObject([
      { kind: 'publish-failed', type: 'transfer-in', key: 'k', error: { code: 'UNEXPECTED' } },
      { kind: 'published', topic: 'none.commands.transfer-in.v1', partition: 0, offset: 7n },
      { kind: 'answered', outcome: 'unanswered' },
    ]);
  });
});

describe('what was not thought of', () => {
  test.each<[string, () => unknown]>([
    ['a request without options', () => client.request('transfer-in', 'k', transferInOf('k'), any(undefined))],
    ['a quote without options', () => client.createAndExecute('k', any({}), any(undefined))],
    ['a subscription without options', () => subscribe(SETTINGS, any(undefined))],
    ['a publisher without settings', () => PaymentCommandPublisher.connect(any(undefined))],
  ])('%s is the client error, too', async (_what, call) => {
    expect(await thrownBy(call)).toMatchObject({ code: 'UNEXPECTED', cause: expect.any(TypeError) as TypeError });
  });

  test('the cause is kept, and an error of the client is none of another', () => {
    const cause = new RangeError('far');
    const error = clientError(cause);
    expect(error).toMatchObject({ code: 'UNEXPECTED', message: 'far', cause });
    expect(clientError(error)).toBe(error);
  });
});

test('no registry, and one that does not answer, have different codes', async () => {
  const start = { from: 'now' } as const;
  const options = { streams: ['results'], start, onEvent: () => undefined } as const;
  const message = expect.stringMatching(/SCHEMA_REGISTRY_URL: set it, or use format 'json'/) as string;
  const none = await thrownBy(() => subscribe(SETTINGS, options));
  expect(none).toMatchObject({ code: 'NO_REGISTRY', retryable: false, message });
  const settings = { ...SETTINGS, SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1' };
  const other = await PaymentCommandPublisher.connect(settings);
  const thrown = await thrownBy(() => other.publish('transfer-in', 'k', transferInOf('k')));
  expect(thrown).toMatchObject({ code: 'REGISTRY_UNAVAILABLE', retryable: true, mayBeWritten: false });
});

test('the docs list every code, and whether it may be tried again', () => {
  const text = readFileSync('docs/client.md', 'utf8');
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` +\| (yes|no) +\|/gm)].map(([, code = '', again]) => [
    code,
    again === 'yes',
  ]);
  const codes = CLIENT_ERROR_CODES.map((code) => [code, new PaymentClientError(code, '').retryable]);
  expect(rows.sort()).toEqual(codes.sort());
});
