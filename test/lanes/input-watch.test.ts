/** Open lanes are held against the brokers' answers: what lasts stops them, what passes does not. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, inject, test, vi } from 'vitest';
import { systemClock } from 'payment-processor-contract/clock';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { MissingAnswerError } from '../../src/consumers/batched-questions.ts';
import { type BoundsWithEpoch, TopicOffsets } from '../../src/consumers/topic-offsets.ts';
import { InputWatch } from '../../src/lanes/inputs/input-watch.ts';
import { makeUsableTopics } from 'payment-processor-contract/kafka/usable-topics';
import { createKafka, PATIENT_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { plainKafkaSettings } from '../support/kafka-settings.ts';

const TOPIC = 'commands';
const LOOK_MS = 5_000;
const SOUND: BoundsWithEpoch = { lowOffset: 10n, highOffset: 60n, topicId: 'first', epochEnd: null };

let bounds: BoundsWithEpoch | Error | Promise<never>;
let offset: bigint;
let stopped: string[];
let warned: number;
let watch: InputWatch;
beforeEach(() => {
  vi.useFakeTimers();
  [bounds, offset, stopped, warned] = [SOUND, 50n, [], 0];
  watch = new InputWatch({
    topics: [TOPIC],
    readers: [
      {
        lane: 0,
        reading: () => ({ offset, boundId: 'first', span: { epoch: 7, end: 50n } }),
        stop: ({ reason }) => void stopped.push(reason),
      },
      { lane: 1, reading: () => null, stop: ({ reason }) => void stopped.push(reason) },
    ],
    boundsOf: async () => {
      if (bounds instanceof Error) throw bounds;
      if (bounds instanceof Promise) return bounds;
      return new Map([0, 1].map((lane) => [lane, bounds as BoundsWithEpoch]));
    },
    clock: { nowMs: () => Date.now(), monotonicMs: () => Date.now() },
    log: { warn: () => void (warned += 1) } as never,
  });
  watch.start();
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

const looks = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * LOOK_MS);

test('a lane whose inputs are as they should be goes on', async () => {
  await looks(20);
  expect(stopped).toEqual([]);
});

test.each([
  [
    'another topic under its name',
    { topicId: 'second' },
    /deleted and recreated \(its id was first, now it is second\)/,
  ],
  ['an end before the lane', { highOffset: 40n }, /read up to offset 50, but the topic ends at offset 40/],
  [
    'another leader before the lane',
    { epochEnd: 40n },
    /read up to offset 50, but the topic has records of leader epoch 7 only up to offset 40, and then records of another epoch/,
  ],
  ['a leader epoch that is unknown', { epochEnd: -1n }, /but the topic has no records of leader epoch 7/],
])('%s stops it once it has lasted, and not while it may pass', async (_what, change, reason) => {
  bounds = { ...SOUND, ...change };
  await looks(3);
  bounds = SOUND;
  await looks(1);
  bounds = { ...SOUND, ...change };
  await looks(3);
  expect(stopped).toEqual([]);
  await looks(1);
  expect(stopped).toHaveLength(1);
  expect(stopped[0]).toMatch(reason);
});

test('a beginning behind the lane stops it, but not for a batch that is on its way', async () => {
  bounds = { ...SOUND, lowOffset: 55n };
  await looks(1);
  offset = 56n;
  await looks(2);
  expect(stopped).toEqual([]);
  bounds = { ...SOUND, lowOffset: 58n };
  await looks(2);
  expect(stopped[0]).toContain('records at offsets 56 to 57 were deleted by retention before they were admitted');
});

test('brokers that do not answer for long are reported once a minute', async () => {
  bounds = new Error('connect ECONNREFUSED 127.0.0.1:9092');
  await looks(10);
  expect(warned).toBe(1);
  await looks(14);
  expect(warned).toBe(2);
});

test('brokers that do not answer, or know no ids, stop nothing', async () => {
  bounds = new Error('no broker answers');
  await looks(5);
  bounds = { ...SOUND, topicId: null };
  await looks(5);
  expect(stopped).toEqual([]);
});

test('what readers are held against is asked anew: an answer of a moment ago would look like a truncated topic', async () => {
  vi.useRealTimers();
  const settings = plainKafkaSettings(inject('kafkaBrokers'));
  const topic = `test-watch-${randomUUID()}`;
  const kafka = createKafka(settings, 'test', { retry: PATIENT_RETRY });
  await makeUsableTopics(kafka, [{ topic, numPartitions: 1 }]);
  const clock = { ...systemClock, monotonicMs: () => 0 };
  const offsets = new TopicOffsets(settings, { groupId: topic, clientId: topic, clock, log: () => undefined });
  const producer = kafka.producer();
  await producer.connect();
  expect((await offsets.ends(topic)).get(0)?.high).toBe(0n);
  await producer.send({ topic, messages: [{ value: 'x' }] });
  expect((await offsets.bounds(topic, new Map())).get(0)?.highOffset).toBe(1n);
  await Promise.all([producer.disconnect(), offsets.stop()]);
});

test('a transaction that is not ended yet hides no end: its writer may have committed it and stand behind it before it is marked', async () => {
  vi.useRealTimers();
  const settings = plainKafkaSettings(inject('kafkaBrokers'));
  const topic = `test-watch-${randomUUID()}`;
  const kafka = createKafka(settings, 'test', { retry: PATIENT_RETRY });
  await makeUsableTopics(kafka, [{ topic, numPartitions: 1 }]);
  const producer = kafka.producer({ transactionalId: topic, maxInFlightRequests: 1, idempotent: true });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ value: 'x' }] });
  const options = { groupId: topic, clientId: topic, clock: systemClock, log: () => undefined };
  const offsets = new TopicOffsets(settings, options);
  expect((await offsets.ends(topic)).get(0)?.high).toBe(0n);
  expect((await offsets.bounds(topic, new Map())).get(0)?.highOffset).toBe(1n);
  // Its group's coordinator may have to be made first.
  const start = async (): Promise<bigint> => (await offsets.startOf(topic, 0)).highOffset;
  await expect.poll(start, { timeout: 10_000 }).toBe(1n);
  await transaction.abort();
  await Promise.all([producer.disconnect(), offsets.stop()]);
});

test('a topic that is gone fails alone, and a stop ends all questions', async () => {
  vi.useRealTimers();
  const settings = plainKafkaSettings(inject('kafkaBrokers'));
  const [kept, gone] = [`test-watch-${randomUUID()}`, `test-watch-${randomUUID()}`];
  const topics = [kept, gone];
  const kafka = createKafka(settings, 'test', { retry: PATIENT_RETRY });
  await makeUsableTopics(
    kafka,
    topics.map((topic) => ({ topic, numPartitions: 1 })),
  );
  const options = { groupId: kept, clientId: kept, clock: systemClock, log: () => undefined };
  const offsets = new TopicOffsets(settings, options);
  const look = (): Promise<PromiseSettledResult<unknown>[]> =>
    Promise.allSettled(
      topics.flatMap((topic) => [offsets.bounds(topic, new Map([[0, 0]])), offsets.startOf(topic, 0)]),
    );
  const outcomes = async (): Promise<string> => (await look()).map(({ status }) => status).join(' ');
  // Their group's coordinator may have to be made first.
  await expect.poll(outcomes).toBe('fulfilled fulfilled fulfilled fulfilled');
  await withAdmin(kafka, (admin) => admin.deleteTopics({ topics: [gone] }));
  await expect.poll(outcomes).toBe('fulfilled fulfilled rejected rejected');
  for (let looks = 0; looks < 5; looks += 1) expect(await outcomes()).toBe('fulfilled fulfilled rejected rejected');
  const last = look();
  await offsets.stop();
  await last;
  await expect(offsets.bounds(kept, new Map())).rejects.toThrow('shutting down');
});

test('brokers that answer nothing, or not in time, show until a look succeeds, whichever lanes there are', async () => {
  await looks(2);
  expect(watch.unanswered()).toBeNull();
  bounds = new Error('connect ECONNREFUSED 127.0.0.1:9092');
  await looks(1);
  expect(watch.unanswered()).toBe('connect ECONNREFUSED 127.0.0.1:9092');
  bounds = SOUND;
  await looks(1);
  expect(watch.unanswered()).toBeNull();
  bounds = new MissingAnswerError("commands does not exist: the brokers' answer does not mention it");
  await looks(1);
  expect(watch.unanswered()).toBeNull();
  bounds = SOUND;
  await looks(1);
  const silence = Promise.withResolvers<never>();
  bounds = silence.promise;
  await looks(3);
  expect(watch.unanswered()).toBeNull();
  await looks(1);
  expect(watch.unanswered()).toBe('no answer yet');
  silence.reject(new Error('Connection timeout'));
  await vi.advanceTimersByTimeAsync(0);
  expect(watch.unanswered()).toBe('Connection timeout');
});
