/** Events of which a mirror makes copies, at other places and of other readability. Pure. */
import { expect, test } from 'vitest';
import { FirstPlaces, KeyResults } from '../src/payment-state.ts';
import type { PaymentEvent } from '../src/events.ts';
import type { Outcome } from 'payment-processor-contract/commands';
import { resultOf } from './result-of.ts';

function result(outcome: Outcome, revision: number, offset: bigint): PaymentEvent {
  const value = resultOf('order-1', { outcome, revision });
  return { key: 'order-1', uniqueId: `revision-${revision}`, offset, kind: 'result', value } as PaymentEvent;
}

function unread(revision: number, offset: bigint): PaymentEvent {
  const event = { key: 'order-1', uniqueId: `revision-${revision}`, offset, kind: 'unreadable' };
  return { ...event, problem: 'no schema yet', bytes: null } as PaymentEvent;
}

test.each([
  ['what could not be read at first is known by a copy', [unread(1, 1n), result('EXPIRED', 1, 3n)], 'EXPIRED'],
  [
    'a copy of an earlier revision, which could not be read at first, does not hide the later one',
    [unread(1, 1n), result('ACCEPTED', 2, 2n), result('EXPIRED', 1, 3n)],
    'ACCEPTED',
  ],
  ['nor one that cannot be read', [unread(1, 1n), unread(2, 2n), result('EXPIRED', 1, 3n)], undefined],
])('%s, in any order', (_, events, outcome) => {
  for (const seen of [events, events.toReversed()]) {
    const results = new KeyResults();
    for (const event of seen) results.take(event);
    expect(results.latest?.value?.outcome).toBe(outcome);
  }
});

test('an event stands at its first place, and can be read where any of its copies can', () => {
  const places = new FirstPlaces<PaymentEvent>();
  for (const event of [result('EXPIRED', 1, 3n), unread(1, 1n), result('EXPIRED', 1, 2n)]) places.take(event);
  expect(places.all()).toMatchObject([{ offset: 1n, kind: 'result' }]);
});
