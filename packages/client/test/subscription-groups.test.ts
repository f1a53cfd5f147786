/** Subscribers of one group that want different streams, as two parts of one service may. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { subscribe, type Subscription, type SubscriptionOptions } from '../src/subscription.ts';
import { freshPrefix, prepare, resultOf, ResultWriter, settingsOf } from './fixtures.ts';

const prefix = freshPrefix('groups');
let writer: ResultWriter;

beforeAll(async () => {
  await prepare(prefix);
  writer = await ResultWriter.open(prefix);
});
afterAll(async () => writer.close());

function open(streams: SubscriptionOptions['streams'], onEvent: SubscriptionOptions['onEvent']): Promise<Subscription> {
  return subscribe(settingsOf(prefix), { streams, start: { from: 'group', groupId: `${prefix}-billing` }, onEvent });
}

test('every result is handled by one that wants results, whichever member leads the group', async () => {
  const seen = new Set<string>();
  const onResult: SubscriptionOptions['onEvent'] = ({ key }) => void seen.add(key);
  const write = async (name: string): Promise<string[]> => {
    const keys = Array.from({ length: 12 }, (_, index) => `${name}-${index}`);
    for (const key of keys) await writer.write(resultOf(key));
    return keys;
  };
  const first = await open(['results'], onResult);
  const changes = await open(['transaction-status', 'quote-status'], () => undefined);
  const beside = await write('beside');
  await expect.poll(() => beside.filter((key) => !seen.has(key))).toEqual([]);
  // The member that stays leads the group from now on.
  await first.close();
  const second = await open(['results'], onResult);
  const led = await write('led');
  await expect.poll(() => led.filter((key) => !seen.has(key))).toEqual([]);
  await Promise.all([changes.close(), second.close()]);
});
