/**
 * I4, by the poller, in virtual time: random histories of payments, any of the nine statuses after any other, reported by
 * a service in its own manner, with commands that observe as well, and with sessions that die in their commits.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  paymentOf,
  PLAIN_MANNER,
  SimulatedService,
  type Change,
  type Payment,
  type ServiceManner,
} from '../status/simulated-service.ts';
import { PollerWorld, SETTINGS } from '../status/poller-world.ts';

const START_MS = Date.parse('2026-03-01T12:00:00Z');
const MINUTE_MS = 60_000;
/** When the last change has happened. */
const ACTIVE_MS = 8 * MINUTE_MS;
/** The sweep, which finds what nothing else expects, comes every five minutes. */
const QUIET_MS = 12 * MINUTE_MS;

const STATUSES = ['CREATED', 'PENDING', 'PROCESSING', 'SENT', 'COMPLETED', 'REJECTED', 'FAILED', 'REFUNDED', 'EXPIRED'];
const REASONS = [
  'LNURLP_FAILED',
  'PAY_REQUEST_FAILED',
  'PAYMENT_APPROVAL_WEBHOOK_ERROR',
  'PAYMENT_APPROVAL_TIMED_OUT',
  'OFFRAMP_FAILED',
  'MISSING_MANDATORY_PAYEE_DATA',
  'QUOTE_EXPIRED',
  'QUOTE_EXECUTION_FAILED',
];
/** Changes of one payment are apart by at least this: a service's updatedAt tells them apart. */
const APART_MS = 5;

const change = fc.record({
  // Changes come in bursts and after long pauses.
  afterMs: fc.oneof(fc.integer({ min: APART_MS, max: 3_000 }), fc.integer({ min: 3_000, max: 3 * MINUTE_MS })),
  status: fc.constantFrom(...STATUSES),
  reason: fc.constantFrom(...REASONS),
});

/** A call whose answer shows the payment, and is committed some time after. */
const command = fc.record({
  payment: fc.nat(),
  atMs: fc.integer({ min: 0, max: ACTIVE_MS }),
  beforeMs: fc.integer({ min: 1, max: 3_000 }),
  afterMs: fc.integer({ min: 1, max: 3_000 }),
  commitMs: fc.integer({ min: 0, max: 20_000 }),
});

const history = fc.record({
  createdMs: fc.integer({ min: 1_000, max: 5 * MINUTE_MS }),
  changes: fc.array(change, { maxLength: 7 }),
});

const story = fc.record({
  histories: fc.array(history, { minLength: 1, maxLength: 8 }),
  commands: fc.array(command, { maxLength: 12 }),
  deaths: fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 4 }),
  lags: fc.array(fc.integer({ min: 1, max: 4_000 }), { minLength: 1, maxLength: 5 }),
  manner: fc.record({
    order: fc.constantFrom<ServiceManner['order']>('asc', 'desc', 'shuffled'),
    clockAheadMs: fc.integer({ min: -2 * MINUTE_MS, max: 2 * MINUTE_MS }),
  }),
});
type Story = typeof story extends fc.Arbitrary<infer Value> ? Value : never;

function paymentsOf({ histories }: Story, neverAgain: boolean): Payment[] {
  return histories.map(({ createdMs, changes }, index) => {
    let atMs = START_MS + createdMs;
    const told: [Change, ...Change[]] = [{ atMs, status: 'CREATED', failureReason: null }];
    for (const { afterMs, reason, status } of changes) {
      atMs += afterMs;
      const isKnown = neverAgain ? told.some((before) => before.status === status) : told.at(-1)?.status === status;
      if (isKnown || atMs > START_MS + ACTIVE_MS) continue;
      told.push({ atMs, status, failureReason: status === 'FAILED' ? reason : null });
    }
    return { id: `Transaction:${index}`, changes: told };
  });
}

async function play(told: Story, payments: readonly Payment[], manner: ServiceManner): Promise<PollerWorld> {
  const service = new SimulatedService(payments, manner);
  const deaths = new Set(told.deaths);
  let commits = 0;
  let lags = 0;
  const world = new PollerWorld({
    settings: SETTINGS,
    startMs: START_MS,
    list: (filter, nowMs) => service.list(filter, nowMs),
    fate: () => (deaths.has((commits += 1)) ? (commits % 2 === 0 ? 'dies-before' : 'dies-after') : 'commits'),
    indexLagMs: () => told.lags[(lags += 1) % told.lags.length] ?? 0,
  });
  for (const { afterMs, atMs, beforeMs, commitMs, payment: number } of told.commands) {
    const payment = payments[number % payments.length]!;
    const readMs = Math.max(START_MS + atMs, payment.changes[0].atMs);
    world.time.at(readMs + afterMs + commitMs, () => {
      world.commit({
        transaction: service.view(payment, readMs),
        quote: null,
        requestBeganMs: readMs - beforeMs,
        requestEndedMs: readMs + afterMs,
        observedBy: 'COMMAND',
        observer: 'another-process',
        commandKey: 'key',
        carried: {},
      });
    });
  }
  return world.pollUntil(START_MS + ACTIVE_MS + QUIET_MS);
}

const eventsOf = (world: PollerWorld, { id }: Payment) =>
  world.transactionEvents.filter(({ transactionId }) => transactionId === id);

test('with updatedAt: exactly what was observed, each change once, in the order of the service, to the last status', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const payments = paymentsOf(told, false);
      const world = await play(told, payments, { ...PLAIN_MANNER, ...told.manner });
      for (const payment of payments) {
        const indexOf = (updatedAt: string | null): number =>
          payment.changes.findIndex(({ atMs }) => atMs + told.manner.clockAheadMs === Date.parse(updatedAt ?? ''));
        // What was committed, without what is older than something committed before.
        let newest = -1;
        const expected: Change[] = [];
        for (const { transaction } of world.committed) {
          if (transaction?.id !== payment.id) continue;
          const index = indexOf(transaction.updatedAt);
          const change = payment.changes[index]!;
          if (index > newest && change.status !== expected.at(-1)?.status) expected.push(change);
          newest = Math.max(newest, index);
        }
        const events = eventsOf(world, payment);
        const statuses = expected.map(({ status }) => status);
        expect(events.map(({ status }) => status)).toEqual(statuses);
        expect(events.map(({ previousStatus }) => previousStatus)).toEqual([null, ...statuses].slice(0, -1));
        expect(events.map(({ failureReason }) => failureReason)).toEqual(
          expected.map((change) => change.failureReason),
        );
        expect(statuses.at(-1)).toBe(payment.changes.at(-1)!.status);
      }
    }),
    { numRuns: 60 },
  );
});

test.each(['seconds', 'none'] as const)(
  'with updatedAt of %s: no status twice, none out of order, to the last status',
  async (updatedAt) => {
    await fc.assert(
      fc.asyncProperty(story, async (told) => {
        const payments = paymentsOf(told, true);
        const world = await play(told, payments, { ...PLAIN_MANNER, ...told.manner, updatedAt });
        for (const payment of payments) {
          const statuses = eventsOf(world, payment).map(({ status }) => status);
          const order = payment.changes.map(({ status }) => status).filter((status) => statuses.includes(status));
          expect(statuses).toEqual(order);
          expect(statuses.at(-1)).toBe(payment.changes.at(-1)!.status);
        }
      }),
      { numRuns: 30 },
    );
  },
);

test('without createdAt, too, every payment is found and followed to its last status', async () => {
  await fc.assert(
    fc.asyncProperty(story, async (told) => {
      const payments = paymentsOf(told, false);
      const manner = { ...PLAIN_MANNER, order: told.manner.order, hasCreatedAt: false };
      const world = await play(told, payments, manner);
      for (const payment of payments) {
        expect(eventsOf(world, payment).at(-1)?.status).toBe(payment.changes.at(-1)!.status);
      }
    }),
    { numRuns: 20 },
  );
});

test('a published observation shows something new: nothing is published while nothing changes', async () => {
  const payments = Array.from({ length: 250 }, (_, index) =>
    paymentOf(`Transaction:${index}`, [START_MS + 10_000 + index, 'PENDING']),
  );
  const world = await PollerWorld.over(payments, START_MS).pollUntil(START_MS + 10 * MINUTE_MS);
  expect(world.committed.length).toBe(250);
  expect(world.callTimes.length).toBeGreaterThan(400);
});
