import { beforeAll, describe, expect, test } from 'vitest';
import { PaymentClientError } from '../src/client-error.ts';
import type { PaymentEvent } from '../src/events.ts';
import { PaymentCommandPublisher } from '../src/publisher.ts';
import { ResultAwaiter } from '../src/result-awaiter.ts';
import { SqliteSeenEvents } from '../src/sqlite-seen-events.ts';
import { subscribe, type SubscriptionOptions } from '../src/subscription.ts';
import { startHostileService } from '../../../test/support/hostile-service.ts';
import { freshPrefix, resultOf, ResultWriter, settingsOf, startAnswering, useResults } from './fixtures.ts';

const transferIn = { source: { accountId: 'ExternalAccount:1' }, destination: { accountId: 'InternalAccount:1' } };

const { prefix, write } = useResults('subscription');

/** Reads until the number of events is there, or with null until the end of what is there. */
async function collect(
  count: number | null,
  options: Partial<SubscriptionOptions> = {},
  onOpen: () => Promise<void> = async () => undefined,
  registry = settingsOf(prefix).SCHEMA_REGISTRY_URL,
): Promise<PaymentEvent[]> {
  const events: PaymentEvent[] = [];
  const enough = Promise.withResolvers<undefined>();
  const subscription = await subscribe(
    { ...settingsOf(prefix), SCHEMA_REGISTRY_URL: registry },
    {
      streams: ['results'],
      start: { from: 'beginning' },
      untilEnd: count === null,
      ...options,
      onEvent: (event) => {
        events.push(event);
        if (events.length === count) enough.resolve(undefined);
      },
    },
  );
  await onOpen();
  await Promise.race([subscription.ended, enough.promise]);
  await subscription.close();
  return events;
}

const keysOf = (events: PaymentEvent[]): string[] => events.map(({ key }) => key).sort();

describe('a subscription', () => {
  beforeAll(async () => {
    await write(resultOf('first'), { ce_id: 'one' });
    await write(resultOf('first'), { ce_id: 'one', replayed: 'true' });
    await write(resultOf('second'), { ce_id: 'two' });
    await write(resultOf('aborted'), {}, 'abort');
  });

  test('ends after what was there, though the last record of each partition is a marker', async () => {
    const events = await collect(null);
    expect(keysOf(events)).toEqual(['first', 'first', 'second']);
    expect(events.find(({ key }) => key === 'second')).toMatchObject({
      kind: 'result',
      id: 'two',
      value: { outcome: 'ACCEPTED', source: { offset: 9_007_199_254_740_993n } },
    });
  });

  test('shows nothing of a transaction that is open, and still ends', async () => {
    const open = await ResultWriter.open(prefix);
    const end = await open.begin(resultOf('open'));
    expect(keysOf(await collect(null))).toEqual(['first', 'first', 'second']);
    await end('abort');
    await open.close();
  });

  test('goes on where its group left off', async () => {
    const group = { start: { from: 'group' as const, groupId: `${prefix}-group` } };
    expect(keysOf(await collect(3, group))).toEqual(['first', 'first', 'second']);
    await write(resultOf('third'));
    expect(keysOf(await collect(1, group))).toEqual(['third']);
  });

  test('from now on, sees what is published right after it was opened and nothing before', async () => {
    const events = await collect(1, { start: { from: 'now' } }, () => write(resultOf('later')));
    expect(keysOf(events)).toEqual(['later']);
  });

  test.each<[string, Partial<SubscriptionOptions>]>([
    ['a client in its handler', { onEvent: () => Promise.reject(new PaymentClientError('NOT_CONFIRMED', 'away')) }],
    ['its memory', { deduplicate: { has: () => Promise.reject(new Error('away')), remember: () => undefined } }],
  ])('ends with HANDLER_FAILED where %s fails: it is no error of the subscription', async (_what, failing) => {
    const subscription = await subscribe(settingsOf(prefix), {
      streams: ['results'],
      start: { from: 'beginning' },
      onEvent: () => undefined,
      handlerRetry: { attempts: 1 },
      ...failing,
    });
    const failed = { code: 'HANDLER_FAILED', retryable: false, mayBeWritten: false, cause: { message: 'away' } };
    await expect(subscription.ended).rejects.toMatchObject(failed);
    await subscription.close();
  });

  test('waits while the registry is out, and then goes on with the same record', async () => {
    let outage = true;
    const registry = await startHostileService(async ({ body, headers, method, path }) => {
      if (outage) return { httpStatus: 503, body: '' };
      const answer = await fetch(`${settingsOf(prefix).SCHEMA_REGISTRY_URL}${path.slice(path.indexOf('/', 1))}`, {
        method,
        headers: { 'content-type': headers['content-type'] ?? 'application/json' },
        ...(method === 'GET' ? {} : { body }),
      });
      return { httpStatus: answer.status, body: await answer.text() };
    });
    const outages: string[] = [];
    const onNotice: SubscriptionOptions['onNotice'] = (notice) => {
      if (notice.kind !== 'registry-outage') return;
      outages.push(notice.problem);
      outage = false;
    };
    const events = await collect(null, { onNotice }, undefined, registry.baseUrl);
    await registry.close();
    expect(outages).not.toEqual([]);
    expect(keysOf(events)).toEqual(expect.arrayContaining(['first', 'second']));
    expect(events.every(({ kind }) => kind === 'result')).toBe(true);
  });

  test('does not take the result of a key that was forgotten and used again for a copy', async () => {
    const [first, eightDaysLater] = ['2026-01-01T00:00:00.000Z', '2026-01-09T00:00:00.000Z'];
    await write(resultOf('rent'), { ce_id: 'rent', ce_time: first });
    await write(resultOf('rent'), { ce_id: 'rent', ce_time: first, replayed: 'true' });
    await write(resultOf('rent', { outcome: 'REFUSED' }), { ce_id: 'rent', ce_time: eightDaysLater });
    const seen = await SqliteSeenEvents.open(':memory:');
    const paid: string[] = [];
    for (const event of await collect(null, { key: 'rent' }))
      seen.once(event, () => event.kind === 'result' && paid.push(event.value.outcome));
    expect(paid).toEqual(['ACCEPTED', 'REFUSED']);
    expect(await collect(null, { key: 'rent', deduplicate: seen })).toEqual([]);
    expect(await collect(null, { key: 'rent', deduplicate: true })).toHaveLength(2);
    seen.close();
  });

  test('says what to do when the topics are missing', async () => {
    const none = subscribe(settingsOf(freshPrefix('none')), {
      streams: ['results'],
      start: { from: 'now' },
      onEvent: () => undefined,
    });
    await expect(none).rejects.toThrow(/results\.v1 missing: run `npm run cli -- topics create`/);
  });
});

test('an awaited result that comes and cannot be read is an error that says so', async () => {
  const processor = await startAnswering(prefix, transferIn);
  const publisher = await PaymentCommandPublisher.connect(settingsOf(prefix));
  const results = await ResultAwaiter.open(settingsOf(prefix));
  const awaited = results.expect('postponed-1', { commandId: 'id-5', timeoutMs: 20_000 });
  await publisher.publish('transfer-in', 'postponed-1', transferIn, { commandId: 'id-5' });
  await expect(awaited).rejects.toThrow(
    /postponed-1 arrived, but cannot be read.*outcome POSTPONED.*update the client/,
  );
  await Promise.all([processor.close(), publisher.close(), results.close()]);
});
