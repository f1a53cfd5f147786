/** Messages that wait for the registry: asked for again, never lost, and nobody's once their lane is over (I1, I5, I6). */
import type { KafkaMessage } from 'kafkajs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Inbox, type Unavailable } from '../../src/consumers/inbox.ts';

type Answer = { readonly kind: 'item'; readonly of: string } | Unavailable;

const AWAY: Answer = { kind: 'unavailable', problem: 'away' };
const silence = (): void => undefined;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function inboxAt(
  offset: bigint,
  seek: () => void = silence,
): {
  inbox: Inbox<{ kind: 'item'; of: string }>;
  asked: PromiseWithResolvers<Answer>[];
  wakes: () => number;
  offer: (value: string) => void;
} {
  const asked: PromiseWithResolvers<Answer>[] = [];
  let wakes = 0;
  const inbox = new Inbox<{ kind: 'item'; of: string }>({
    ...{ topic: 'topic', lane: 0, seek, resume: silence, onRedelivered: silence },
    wake: () => (wakes += 1),
    read: () => {
      const answer = Promise.withResolvers<Answer>();
      asked.push(answer);
      return answer.promise;
    },
  });
  inbox.open(offset);
  const offer = (value: string): void => {
    const at = inbox.expected() ?? 0n;
    const message = { key: null, value: Buffer.from(value), offset: String(at), timestamp: '0', headers: {} };
    const range = { fetchedOffset: at, lastOffset: at, leaderEpoch: 0, highWatermark: at + 1n };
    inbox.offer({ topic: 'topic', lane: 0, messages: [message as unknown as KafkaMessage], ...range });
  };
  return { inbox, asked, offer, wakes: () => wakes };
}

test('an answer for an inbox that was closed is nobody\u2019s, and who opens it again asks anew', async () => {
  const { asked, inbox, offer, wakes } = inboxAt(5n);
  offer('before');
  expect(inbox.read()).toBeNull();
  inbox.open(6n);
  offer('after');
  asked[0]?.resolve({ kind: 'item', of: 'before' });
  await vi.advanceTimersByTimeAsync(0);
  expect([inbox.read(), asked.length, wakes()]).toEqual([null, 2, 2]);
  asked[1]?.resolve({ kind: 'item', of: 'after' });
  await vi.advanceTimersByTimeAsync(0);
  expect([inbox.read(), wakes()]).toMatchObject([{ item: { of: 'after' } }, 3]);
});

test('while the registry is away a message is asked for once a second, and each time the lane is woken', async () => {
  const { asked, inbox, offer, wakes } = inboxAt(5n);
  offer('one');
  for (let second = 1; second <= 3; second += 1) {
    for (let often = 0; often < 5; often += 1) expect(inbox.read()).toBeNull();
    expect(asked.length).toBe(second);
    asked.at(-1)?.resolve(AWAY);
    await vi.advanceTimersByTimeAsync(0);
    expect(inbox.status().problem).toBe('away');
    const before = wakes();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(wakes()).toBe(before + 1);
  }
  inbox.read();
  asked.at(-1)?.resolve({ kind: 'item', of: 'one' });
  await vi.advanceTimersByTimeAsync(0);
  expect(inbox.read()).toMatchObject({ item: { of: 'one' } });
  expect(inbox.status().problem).toBeNull();
});

test('a message that our code fails on wakes its lane, and what is left of it with its problem goes when it is taken', async () => {
  const { asked, inbox, offer, wakes } = inboxAt(5n);
  offer('one');
  inbox.read();
  asked[0]?.resolve(AWAY);
  await vi.advanceTimersByTimeAsync(1_000);
  inbox.read();
  const before = wakes();
  asked[1]?.reject(new TypeError('a bug'));
  await vi.advanceTimersByTimeAsync(0);
  expect(wakes()).toBe(before + 1);
  expect(() => inbox.read()).toThrow('a bug');
  inbox.take();
  expect([inbox.head(), inbox.position(), inbox.status().problem]).toEqual([undefined, 6n, null]);
});

test('a lane that gets nothing of what it asks for does not ask without a pause', () => {
  let seeks = 0;
  const { inbox } = inboxAt(5n, () => (seeks += 1));
  const range = { fetchedOffset: 50n, lastOffset: 60n, leaderEpoch: 0, highWatermark: 60n };
  for (let offers = 0; offers < 200; offers += 1) inbox.offer({ topic: 'topic', lane: 0, messages: [], ...range });
  expect(seeks).toBeLessThan(100);
});
