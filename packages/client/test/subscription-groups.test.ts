/** Subscribers of one group that want different streams, as two parts of one service may. */
import { expect, test } from 'vitest';
import { subscribe, type Subscription, type SubscriptionOptions } from '../src/subscription.ts';
import { resultOf, settingsOf, useResults } from './fixtures.ts';

const { prefix, write } = useResults('groups');

function open(streams: SubscriptionOptions['streams'], onEvent: SubscriptionOptions['onEvent']): Promise<Subscription> {
  return subscribe(settingsOf(prefix), { streams, start: { from: 'group', groupId: `${prefix}-billing` }, onEvent });
}

test('every result is handled by one that wants results, whichever member leads the group', async () => {
  const seen = new Set<string>();
  const onResult: SubscriptionOptions['onEvent'] = ({ key }) => void seen.add(key);
  const areSeen = async (name: string): Promise<void> => {
    const keys = Array.from({ length: 12 }, (_, index) => `${name}-${index}`);
    for (const key of keys) await write(resultOf(key));
    await expect.poll(() => keys.filter((key) => !seen.has(key))).toEqual([]);
  };
  const first = await open(['results'], onResult);
  const changes = await open(['transaction-status', 'quote-status'], () => undefined);
  await areSeen('beside');
  // The member that stays leads the group from now on.
  await first.close();
  const second = await open(['results'], onResult);
  await areSeen('led');
  await Promise.all([changes.close(), second.close()]);
});
