/** How soon a change of an old transaction is seen once a command, or a change, has touched it; and what that costs others. */
import { expect, test } from 'vitest';
import { paymentOf, PLAIN_MANNER, SimulatedService, type Payment } from './simulated-service.ts';
import { answerOf } from './observations.ts';
import { PollerWorld, SETTINGS, type WorldOptions } from './poller-world.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const EXECUTED_MS = START_MS + 10 * MINUTE_MS;
const AGES_MS = [10 * MINUTE_MS, HOUR_MS, 20 * HOUR_MS];
/** What docs/events.md says: at every interval while young, then after a sixtieth of the time since the last touch. */
const delayBoundMs = (sinceTouchMs: number): number => 2 * SETTINGS.intervalMs + sinceTouchMs / 60;

function payment(id: string, createdMs: number, ...changes: [afterStartMs: number, status: string][]): Payment {
  const later = changes.map(([afterMs, status]): [number, string] => [START_MS + afterMs, status]);
  return paymentOf(`Transaction:${id}`, [createdMs, 'PENDING'], ...later);
}

/** Created so long before the start, executed ten minutes after it, and COMPLETED some time later. */
function executedPayment(id: string, ageMs: number, completesAfterMs: number, executedMs = EXECUTED_MS): Payment {
  const fromStartMs = executedMs - START_MS;
  return payment(id, START_MS - ageMs, [fromStartMs, 'PROCESSING'], [fromStartMs + completesAfterMs, 'COMPLETED']);
}

function worldOf(payments: readonly Payment[], options: Partial<WorldOptions> = {}) {
  const service = new SimulatedService(payments, PLAIN_MANNER);
  const list: WorldOptions['list'] = (filter, nowMs) => service.list(filter, nowMs);
  const world = new PollerWorld({ settings: SETTINGS, startMs: START_MS, list, ...options });
  /** The answer to a command that showed the transaction as it was created. */
  const known = (of: Payment): void => {
    const atMs = of.changes[0].atMs;
    const transaction = service.view(of, atMs);
    const times = { requestBeganMs: atMs, requestEndedMs: atMs + 20 };
    world.commit(answerOf(of.id, { ...times, transaction }));
  };
  /** The answer to the execution of its quote. */
  const executed = (of: Payment, atMs = EXECUTED_MS): void =>
    world.time.at(atMs + 50, () => {
      const times = { requestBeganMs: atMs, requestEndedMs: atMs + 20 };
      const quote = service.executedQuote(of);
      world.commit(answerOf(`${of.id}.execute`, { ...times, quote }));
    });
  return { world, known, executed };
}

/** From each change after the creation to its observation; Infinity for one that was not seen. */
function delaysOf(world: PollerWorld, payments: readonly Payment[], wanted?: string): number[] {
  return payments.flatMap(({ changes, id }) =>
    changes
      .filter(({ status }, index) => index > 0 && (wanted === undefined || status === wanted))
      .map(({ atMs, status }) => {
        const seen = world.transactionEvents.find((event) => event.transactionId === id && event.status === status);
        return seen === undefined ? Infinity : Number(seen.observedAt) - atMs;
      }),
  );
}

const LATER_MS = [10 * SECOND_MS, 4 * MINUTE_MS, 30 * MINUTE_MS];

test.each(LATER_MS)(
  'what an execution touched is young again: COMPLETED %d ms later is seen in time',
  async (laterMs) => {
    const payments = AGES_MS.map((ageMs) => executedPayment(`${ageMs}`, ageMs, laterMs));
    const { executed, known, world } = worldOf(payments);
    payments.forEach(known);
    for (const each of payments) executed(each);
    await world.pollUntil(EXECUTED_MS + laterMs + 5 * MINUTE_MS);
    for (const delayMs of delaysOf(world, payments)) expect(delayMs).toBeLessThan(delayBoundMs(laterMs));
  },
);

test('so is one from before the first start, of which nothing but the execution of its quote is known', async () => {
  const payments = AGES_MS.map((ageMs) => executedPayment(`${ageMs}`, ageMs, 10 * SECOND_MS));
  const { executed, world } = worldOf(payments);
  for (const each of payments) executed(each);
  await world.pollUntil(EXECUTED_MS + 5 * MINUTE_MS);
  expect(Math.max(...delaysOf(world, payments, 'COMPLETED'))).toBeLessThan(delayBoundMs(10 * SECOND_MS));
});

test('a change makes young again, too: the next one is seen in time', async () => {
  const payments = AGES_MS.map((ageMs) =>
    payment(`${ageMs}`, START_MS - ageMs, [20 * MINUTE_MS, 'PROCESSING'], [50 * MINUTE_MS, 'COMPLETED']),
  );
  const { known, world } = worldOf(payments);
  payments.forEach(known);
  await world.pollUntil(START_MS + HOUR_MS);
  for (const delayMs of delaysOf(world, payments, 'COMPLETED'))
    expect(delayMs).toBeLessThan(delayBoundMs(30 * MINUTE_MS));
});

test('a successor of a session that died knows the touched payments', async () => {
  const laterMs = 3 * MINUTE_MS;
  const payments = AGES_MS.map((ageMs) => executedPayment(`${ageMs}`, ageMs, laterMs));
  const { executed, known, world } = worldOf(payments, {
    fate: () => (world.deaths === 0 && world.time.nowMs() > EXECUTED_MS + MINUTE_MS ? 'dies-before' : 'commits'),
  });
  payments.forEach(known);
  for (const each of payments) executed(each);
  await world.pollUntil(EXECUTED_MS + laterMs + 5 * MINUTE_MS);
  expect(world.deaths).toBe(1);
  for (const delayMs of delaysOf(world, payments, 'COMPLETED')) expect(delayMs).toBeLessThan(delayBoundMs(laterMs));
});

test('first sight is no touch: old ones that are caught up with are looked at as seldom as their age says', async () => {
  // Each too far from the next to share a call, and looked at every 15 minutes.
  const old = Array.from({ length: 300 }, (_, index) =>
    payment(`${index}`, START_MS - 20 * HOUR_MS - index * 11 * MINUTE_MS),
  );
  const { world } = worldOf(old, { settings: { ...SETTINGS, startMs: START_MS - 80 * HOUR_MS } });
  world.start();
  await world.time.runUntil(START_MS + 5 * MINUTE_MS);
  expect(world.transactionEvents.length).toBe(old.length);
  const before = world.callKinds.get('revisit') ?? 0;
  await world.time.runUntil(START_MS + 20 * MINUTE_MS);
  world.end();
  expect((world.callKinds.get('revisit') ?? 0) - before).toBeLessThan(1.5 * old.length);
});

test('a flood of executions of old quotes keeps neither the young nor the old waiting', async () => {
  const endMs = START_MS + 20 * MINUTE_MS;
  // One a second, for ten minutes: more looks than the budget has.
  const flood = Array.from({ length: 600 }, (_, index) =>
    executedPayment(`flood-${index}`, 2 * HOUR_MS + index * MINUTE_MS, 10 * SECOND_MS, EXECUTED_MS + index * SECOND_MS),
  );
  const young = Array.from({ length: 300 }, (_, index) =>
    payment(`young-${index}`, EXECUTED_MS + MINUTE_MS + index * 100, [
      12 * MINUTE_MS + index * SECOND_MS,
      'PROCESSING',
    ]),
  );
  const old = Array.from({ length: 10 }, (_, index) =>
    payment(`old-${index}`, START_MS - 30 * MINUTE_MS - index * MINUTE_MS, [14 * MINUTE_MS, 'PROCESSING']),
  );
  const { executed, known, world } = worldOf([...flood, ...young, ...old]);
  [...flood, ...old].forEach(known);
  flood.forEach((each, index) => executed(each, EXECUTED_MS + index * SECOND_MS));
  await world.pollUntil(endMs + 10 * MINUTE_MS);
  expect(Math.max(...delaysOf(world, young))).toBeLessThan(40 * SECOND_MS);
  expect(Math.max(...delaysOf(world, old))).toBeLessThan(4 * MINUTE_MS);
  const floodDelays = delaysOf(world, flood, 'COMPLETED').sort((left, right) => left - right);
  expect(floodDelays[flood.length / 2]).toBeLessThan(45 * SECOND_MS);
});

test('the end of a payment is seen though the answer to its command has a later updatedAt: lists have whole seconds', async () => {
  const ended = payment('ended', START_MS + 789, [950, 'COMPLETED']);
  const { known, world } = worldOf([ended], {
    list: (filter, nowMs) =>
      new SimulatedService([ended], { ...PLAIN_MANNER, updatedAt: 'seconds' }).list(filter, nowMs),
  });
  known(ended);
  await world.pollUntil(START_MS + 10 * MINUTE_MS);
  expect(world.transactionEvents.map(({ status }) => status)).toEqual(['PENDING', 'COMPLETED']);
});
