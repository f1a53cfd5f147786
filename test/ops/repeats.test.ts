/** A lasting problem is logged at once and then once a minute, with a count, for a bounded number of kinds. */
import { expect, test } from 'vitest';
import { withoutRepeats, type KafkaLog } from 'payment-processor-contract/kafka/kafka-log';
import { Repeats } from 'payment-processor-contract/repeats';

const HOUR_S = 3_600;
const BROKERS = 3;
const CLIENTS = 6;

type Event = Parameters<KafkaLog>[0];

function logged(): { events: Event[]; log: KafkaLog; wait: (ms: number) => void } {
  let nowMs = 0;
  const events: Event[] = [];
  const log = withoutRepeats(
    (event) => void events.push(event),
    () => nowMs,
  );
  return { events, log, wait: (ms) => void (nowMs += ms) };
}

test('an hour without any broker is one line a minute, whichever client reports whichever broker', () => {
  const { events, log, wait } = logged();
  for (let second = 0; second < HOUR_S; second += 1) {
    for (let client = 0; client < CLIENTS; client += 1) {
      const problem = `connect ECONNREFUSED 10.0.0.${second % BROKERS}:9092`;
      log({ level: 'warn', message: 'Connection error', fields: { namespace: 'Connection', client, problem } });
    }
    wait(1_000);
  }
  expect(events).toHaveLength(60);
  expect(events[0]?.fields).not.toHaveProperty('repeated');
  expect(events[1]?.fields).toMatchObject({ repeated: 60 * CLIENTS - 1 });
});

test('a different problem is logged at once, and debug lines always are', () => {
  const { events, log } = logged();
  for (const problem of ['one', 'another', 'one']) log({ level: 'warn', message: 'x', fields: { problem } });
  for (const problem of ['one', 'one']) log({ level: 'debug', message: 'x', fields: { problem } });
  expect(events.map(({ fields, level }) => [level, fields['problem']])).toEqual([
    ['warn', 'one'],
    ['warn', 'another'],
    ['debug', 'one'],
    ['debug', 'one'],
  ]);
});

test('once there is no room for more kinds, new ones share one line a minute; kinds that have ended make room', () => {
  let nowMs = 0;
  const repeats = new Repeats(() => nowMs);
  const said = (prefix: string): number =>
    Array.from({ length: 26 * 26 }, (_, index) =>
      repeats.unlogged(`${prefix} ${String.fromCharCode(97 + (index % 26), 97 + Math.floor(index / 26))}`),
    ).filter((unlogged) => unlogged !== null).length;
  expect(said('first')).toBe(51);
  expect(said('second')).toBe(0);
  nowMs += 60_000;
  expect(said('third')).toBeGreaterThan(45);
});
