/** A subscription keeps its place in the group however long a handler takes, and gives it up when a handler fails for good. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { PaymentEvent } from '../src/events.ts';
import { subscribe, type SubscriptionOptions } from '../src/subscription.ts';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { laneOf } from 'payment-processor-contract/keys';
import { kafkaOf, LANES, resultOf, settingsOf, useResults } from './fixtures.ts';

const SESSION_TIMEOUT_MS = 6_000;
const { prefix, write } = useResults('holding');

/** Groups of their own: what one test leaves unread is none of another's. */
const freshGroup = (): string => `${prefix}-${randomUUID().slice(0, 8)}`;

function open(groupId: string, options: Partial<SubscriptionOptions> & Pick<SubscriptionOptions, 'onEvent'>) {
  return subscribe(settingsOf(prefix), {
    streams: ['results'],
    start: { from: 'group', groupId },
    sessionTimeoutMs: SESSION_TIMEOUT_MS,
    ...options,
  });
}

/** Handles events until `onEvent` says that it is done, and closes. */
async function handleIn(
  groupId: string,
  onEvent: (event: PaymentEvent, done: () => void) => Promise<void> | void,
  options: Partial<SubscriptionOptions> = {},
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const subscription = await open(groupId, {
    ...options,
    onEvent: (event) => onEvent(event, () => resolve(undefined)),
  });
  await Promise.race([promise, subscription.ended]);
  await subscription.close();
}

async function membersOf(groupId: string): Promise<number> {
  return withAdmin(kafkaOf(prefix), async (admin) => {
    const { groups } = await admin.describeGroups([groupId]);
    return groups[0]?.members.length ?? 0;
  });
}

/** What is left for the group's next member: its keys, up to a marker that is written to the end of every lane. */
async function readToEnd(groupId: string): Promise<string[]> {
  const markers = Array.from({ length: LANES }, (_, lane) => keyOfLane(lane, `marker-${randomUUID()}`));
  for (const marker of markers) await write(resultOf(marker));
  const keys: string[] = [];
  const missing = new Set(markers);
  await handleIn(groupId, ({ key }, done) => {
    if (!key.startsWith('marker-')) keys.push(key);
    missing.delete(key);
    if (missing.size === 0) done();
  });
  return keys;
}

function keyOfLane(lane: number, name: string): string {
  for (let index = 0; ; index += 1) if (laneOf(`${name}-${index}`, LANES) === lane) return `${name}-${index}`;
}

/** A group that begins behind all that was there before. */
async function groupAtEnd(): Promise<string> {
  const groupId = freshGroup();
  await readToEnd(groupId);
  return groupId;
}

describe('a handler that takes longer than the session', () => {
  test('is called once for each event, also while a second member joins', async () => {
    const keys = ['slow-0', 'slow-1'];
    const groupId = freshGroup();
    for (const key of keys) await write(resultOf(key));
    const calls: string[] = [];
    const done = Promise.withResolvers<undefined>();
    const handled = new Set<string>();
    const slow = (member: string) => async (event: PaymentEvent) => {
      if (!keys.includes(event.key)) return;
      calls.push(`${event.key} by ${member}`);
      await delay(SESSION_TIMEOUT_MS + 2_000);
      handled.add(event.key);
      if (handled.size === keys.length) done.resolve(undefined);
    };
    const first = await open(groupId, { onEvent: slow('first') });
    while (calls.length === 0) await delay(50);
    const second = await open(groupId, { onEvent: slow('second') });
    // It is let in once the event under way is handled, not only after all that was fetched.
    expect(handled.size).toBe(1);
    await Promise.race([done.promise, first.ended, second.ended]);
    expect(await membersOf(groupId)).toBe(2);
    await Promise.all([first.close(), second.close()]);
    expect(calls.map((call) => call.split(' ')[0]).sort()).toEqual(keys);
    // What was handled is committed: the next member gets nothing of it again.
    expect(await readToEnd(groupId)).toEqual([]);
  });
});

describe('a handler that fails', () => {
  test('is tried again, with pauses, until it does not', async () => {
    const groupId = await groupAtEnd();
    await write(resultOf('flaky'));
    const attempts: number[] = [];
    const onNotice: SubscriptionOptions['onNotice'] = (notice) => {
      if (notice.kind === 'handler-failed') attempts.push(notice.attempt);
    };
    let calls = 0;
    const flaky = ({ key }: PaymentEvent, done: () => void): void => {
      if (key !== 'flaky') return;
      calls += 1;
      if (calls < 3) throw new Error('not yet');
      done();
    };
    await handleIn(groupId, flaky, { handlerRetry: { attempts: 4, firstDelayMs: 20 }, onNotice });
    expect(attempts).toEqual([1, 2]);
  });

  test('for good ends the subscription and leaves the group, and the next subscriber gets the same event', async () => {
    const groupId = await groupAtEnd();
    await write(resultOf('poison'));
    let calls = 0;
    const givenUp: string[] = [];
    const subscription = await open(groupId, {
      handlerRetry: { attempts: 3, firstDelayMs: 10 },
      onGiveUp: ({ event }) => {
        givenUp.push(event.key);
        return 'end';
      },
      onEvent: ({ key }) => {
        if (key !== 'poison') return;
        calls += 1;
        throw new TypeError('the subscriber cannot handle this');
      },
    });
    await expect(subscription.ended).rejects.toThrow('the subscriber cannot handle this');
    expect({ calls, givenUp, members: await membersOf(groupId) }).toEqual({
      calls: 3,
      givenUp: ['poison'],
      members: 0,
    });
    expect(await readToEnd(groupId)).toEqual(['poison']);
    // It did not go on by itself.
    expect(calls).toBe(3);
  });

  test('for good is passed over where onGiveUp says so', async () => {
    const groupId = await groupAtEnd();
    const [skipped, behind] = [keyOfLane(0, 'skipped'), keyOfLane(0, 'behind')];
    await write(resultOf(skipped));
    await write(resultOf(behind));
    const failing = ({ key }: PaymentEvent, done: () => void): void => {
      if (key === skipped) throw new Error('never');
      if (key === behind) done();
    };
    await handleIn(groupId, failing, { handlerRetry: { attempts: 1 }, onGiveUp: () => 'skip' });
    expect(await readToEnd(groupId)).toEqual([]);
  });

  test('by never being done is given up after its time', async () => {
    const groupId = await groupAtEnd();
    await write(resultOf('stuck'));
    const subscription = await open(groupId, {
      handlingTimeoutMs: 500,
      closeTimeoutMs: 0,
      onEvent: ({ key }) => (key === 'stuck' ? new Promise(() => undefined) : undefined),
    });
    await expect(subscription.ended).rejects.toMatchObject({ code: 'HANDLER_TIMEOUT' });
    expect(await membersOf(groupId)).toBe(0);
  });

  test('is not tried again once the subscription closes', async () => {
    const groupId = await groupAtEnd();
    await write(resultOf('closing'));
    const failed = Promise.withResolvers<undefined>();
    let calls = 0;
    const subscription = await open(groupId, {
      handlerRetry: { firstDelayMs: 60_000, delayMsMax: 60_000 },
      onEvent: ({ key }) => {
        if (key !== 'closing') return;
        calls += 1;
        failed.resolve(undefined);
        throw new Error('down');
      },
    });
    await failed.promise;
    await subscription.close();
    await subscription.ended;
    expect(calls).toBe(1);
    expect(await readToEnd(groupId)).toEqual(['closing']);
  });
});

describe('close', () => {
  async function openAndBegin(key: string, handlerMs: number, closeTimeoutMs: number) {
    const groupId = await groupAtEnd();
    await write(resultOf(key));
    const begun = Promise.withResolvers<undefined>();
    let done = false;
    const subscription = await open(groupId, {
      closeTimeoutMs,
      onEvent: async (event) => {
        if (event.key !== key) return;
        begun.resolve(undefined);
        await (handlerMs === Infinity ? new Promise(() => undefined) : delay(handlerMs));
        done = true;
      },
    });
    await begun.promise;
    return { groupId, subscription, isDone: () => done };
  }

  test('waits for the handler that is under way, and what it handled does not come again', async () => {
    const { groupId, subscription, isDone } = await openAndBegin('under-way', 7_000, 30_000);
    await subscription.close();
    expect(isDone()).toBe(true);
    expect(await membersOf(groupId)).toBe(0);
    expect(await readToEnd(groupId)).toEqual([]);
  });

  test('does not wait longer than its limit', async () => {
    const { subscription, isDone } = await openAndBegin('endless', Infinity, 300);
    await subscription.close();
    expect(isDone()).toBe(false);
  });
});

describe('a subscription that is paused', () => {
  test('is handed nothing, keeps its place for longer than its session, and goes on where it was', async () => {
    const groupId = await groupAtEnd();
    const keys = ['before', 'during', 'after'].map((name) => keyOfLane(1, `paused-${name}`));
    const [before = '', during = '', after = ''] = keys;
    const handled: string[] = [];
    const subscription = await open(groupId, {
      onEvent: ({ key }) => {
        if (keys.includes(key)) handled.push(key);
        if (key === before) subscription.pause();
      },
    });
    for (const key of [before, during]) await write(resultOf(key));
    while (handled.length === 0) await delay(50);
    await delay(SESSION_TIMEOUT_MS + 2_000);
    expect(handled).toEqual([before]);
    expect(await membersOf(groupId)).toBe(1);
    subscription.resume();
    await write(resultOf(after));
    while (handled.length < 3) await delay(50);
    await subscription.close();
    expect(handled).toEqual([before, during, after]);
    // As while Kafka is away: the consumer is not in the group.
    subscription.pause();
    subscription.resume();
  });
});

describe('with concurrency', () => {
  test('events of several keys of a partition are handled at once, those of one key in order', async () => {
    const groupId = await groupAtEnd();
    const [one, two] = [keyOfLane(2, 'at-once-one'), keyOfLane(2, 'at-once-two')];
    for (const key of [one, two]) await write(resultOf(key));
    await write(resultOf(one, { revision: 2 }));
    const log: string[] = [];
    const bothBegan = Promise.withResolvers<undefined>();
    const handle = async (event: PaymentEvent, done: () => void): Promise<void> => {
      if (event.kind !== 'result' || !event.key.startsWith('at-once-')) return;
      const name = `${event.key === one ? 'one' : 'two'} ${event.value.revision}`;
      log.push(`${name} begins`);
      if (log.length === 2) bothBegan.resolve(undefined);
      await bothBegan.promise;
      log.push(`${name} ends`);
      if (name === 'one 2') done();
    };
    await handleIn(groupId, handle, { concurrency: 4 });
    expect(log.slice(0, 2)).toEqual(['one 1 begins', 'two 1 begins']);
    expect(log.indexOf('one 2 begins')).toBeGreaterThan(log.indexOf('one 1 ends'));
    expect(await readToEnd(groupId)).toEqual([]);
  });
});
