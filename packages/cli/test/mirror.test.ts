/** `mirror`: results and status events as JSON, read by a client that has no schema registry. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  PaymentClient,
  readPublisherSettings,
  subscribe,
  type PaymentEvent,
  type PublisherSettings,
  type Stream,
} from 'payment-processor-client';
import { createQuoteOf, transferInOf } from '../../../test/support/commands.ts';
import { useStack } from '../../../test/support/test-stack.ts';
import { environmentOf, freshPrefix, prepare, sendTo, settingsOf } from '../../client/test/fixtures.ts';
import { runCli, startCli, type RunningCli } from './run-cli.ts';

const STREAMS: readonly Stream[] = ['results', 'transaction-status', 'quote-status'];
const stack = useStack({ name: 'mirror', isRead: false });
let mirror: RunningCli;

beforeAll(async () => {
  await stack().startProcessor();
  const made = await runCli(stack().environment, 'topics', 'create', '--json-copies');
  expect(made).toMatchObject({ code: 0 });
  mirror = startCli({ ...stack().environment }, 'mirror');
  await mirror.seen('copying');
});
afterAll(async () => {
  mirror.interrupt();
  expect(await mirror.ended).toMatchObject({ code: 0 });
});

function withoutRegistry(): PublisherSettings {
  const { KAFKA_BROKERS = '', TOPIC_PREFIX = '' } = stack().environment;
  const read = readPublisherSettings({ KAFKA_BROKERS, TOPIC_PREFIX });
  if (!read.ok) throw new Error(read.problems.join());
  return read.config;
}

async function eventsIn(format: 'avro' | 'json', settings: PublisherSettings): Promise<PaymentEvent[]> {
  const events: PaymentEvent[] = [];
  const start = { from: 'beginning' } as const;
  const onEvent = (event: PaymentEvent): void => void events.push(event);
  const subscription = await subscribe(settings, { streams: STREAMS, start, format, untilEnd: true, onEvent });
  await subscription.ended;
  return events;
}

/** What is said, wherever it lies, in the order of each key. */
function saidBy(events: readonly PaymentEvent[]): unknown[] {
  const said = events.map((event) => {
    const headers = Object.entries(event.headers).filter(([name]) => !['content-type', 'unreadable'].includes(name));
    const what = event.kind === 'unreadable' ? { bytes: event.bytes } : { value: event.value };
    return { kind: event.kind, key: event.key, id: event.id, headers, ...what };
  });
  return said.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0));
}

test('a client without a registry requests and hears the same as one that has it', async () => {
  const client = await PaymentClient.connect(withoutRegistry(), { format: 'json' });
  const wait = { timeoutMs: 30_000 };
  const large = transferInOf('large', 9_007_199_254_740_993n);
  const answer = await client.request('transfer-in', 'large', large, wait);
  expect(answer).toMatchObject({
    result: { value: { outcome: 'ACCEPTED', transaction: { receivedAmount: { amount: 9_007_199_254_740_993n } } } },
  });
  expect(await client.request('transfer-in', 'large', large, wait)).toMatchObject({ isReplayed: true });
  expect(await client.createAndExecute('pay', createQuoteOf('pay'), wait)).toMatchObject({ stage: 'execute' });
  const noise = { key: 'noise', value: 'not Avro', headers: { ce_id: randomUUID() } };
  await sendTo(stack().kafka, stack().topics.results, [noise]);

  // A copy comes after its original: read in this order, as many of both are the same ones, whatever is still published.
  // Status changes are published after the result.
  const kinds = [...STREAMS, 'unreadable'].map(kindOf);
  let copies: PaymentEvent[];
  let originals: PaymentEvent[];
  do {
    copies = await eventsIn('json', withoutRegistry());
    originals = await eventsIn('avro', stack().settings);
  } while (copies.length < originals.length || !kinds.every((kind) => originals.some((event) => event.kind === kind)));
  expect(saidBy(copies)).toEqual(saidBy(originals));
  await client.close();
});

const kindOf = (stream: string): string => (stream === 'results' ? 'result' : stream);

test('without the topics of the copies both ends say at once how to make them', async () => {
  const prefix = freshPrefix('no-copies');
  await prepare(prefix);
  const making = /topics create --json-copies`/;
  const run = await runCli(environmentOf(prefix), 'mirror');
  expect(run).toMatchObject({ code: 1 });
  expect(run.stderr).toMatch(making);
  const options = { streams: STREAMS, start: { from: 'now' }, onEvent: () => undefined } as const;
  await expect(subscribe(settingsOf(prefix), { ...options, format: 'json' })).rejects.toThrow(making);
  expect(await runCli(environmentOf(prefix), 'topics', 'create', '--json-copies')).toMatchObject({ code: 0 });
  const subscription = await subscribe(settingsOf(prefix), { ...options, format: 'json' });
  await subscription.close();
});
