/** Messages that wait for the registry: asked for again, never lost, and nobody's once their lane is over (I1, I5, I6). */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Inbox, type Unavailable } from '../../src/consumers/inbox.ts';
import { batchOf } from '../lanes/lane-in-memory.ts';

type Answer = { readonly kind: 'item'; readonly of: string } | Unavailable;

const AWAY: Answer = { kind: 'unavailable', problem: 'away' };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function inboxAt(offset: bigint) {
  const asked: PromiseWithResolvers<Answer>[] = [];
  const sought: bigint[] = [];
  const redelivered: number[] = [];
  let wakes = 0;
  const inbox = new Inbox<{ kind: 'item'; of: string }>({
    ...{ topic: 'topic', lane: 0, resume: () => undefined },
    seek: (to) => sought.push(to),
    onRedelivered: (messages) => redelivered.push(messages),
    wake: () => (wakes += 1),
    read: () => {
      const answer = Promise.withResolvers<Answer>();
      asked.push(answer);
      return answer.promise;
    },
  });
  inbox.open(offset);
  const offer = (first = Number(inbox.expected()), count = 1) => inbox.offer(batchOf('topic', first, count));
  return { inbox, asked, offer, sought, redelivered, wakes: () => wakes };
}

test('an answer for an inbox that was closed is nobody\u2019s, and who opens it again asks anew', async () => {
  const { asked, inbox, offer, wakes } = inboxAt(5n);
  offer();
  expect(inbox.read()).toBeNull();
  inbox.open(6n);
  offer();
  asked[0]?.resolve({ kind: 'item', of: 'before' });
  await vi.advanceTimersByTimeAsync(0);
  expect([inbox.read(), asked.length, wakes()]).toEqual([null, 2, 2]);
  asked[1]?.resolve({ kind: 'item', of: 'after' });
  await vi.advanceTimersByTimeAsync(0);
  expect([inbox.read(), wakes()]).toMatchObject([{ item: { of: 'after' } }, 3]);
});

test('while the registry is away a message is asked for once a second, and each time the lane is woken', async () => {
  const { asked, inbox, offer, wakes } = inboxAt(5n);
  offer();
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
  offer();
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

test('of a fetch that begins too early, the lane takes the part from its position; after one that ends too early it seeks again', () => {
  const { inbox, offer, redelivered, sought } = inboxAt(10n);
  expect([offer(10, 10), redelivered]).toEqual(['taken', []]);
  expect([offer(15, 10), redelivered]).toEqual(['taken', [5]]);
  expect(inbox.status().buffered).toBe(15);
  expect([offer(0, 10), redelivered]).toEqual(['seeking', [5, 10]]);
  // A gap is not a redelivery.
  expect([offer(30, 10), redelivered]).toEqual(['seeking', [5, 10]]);
  expect(sought).toEqual([10n, 25n, 25n]);
});

test('a lane that gets nothing of what it asks for does not ask without a pause', () => {
  const { offer, sought } = inboxAt(5n);
  for (let offers = 0; offers < 200; offers += 1) offer(50, 10);
  expect(sought.length).toBeLessThan(100);
});
