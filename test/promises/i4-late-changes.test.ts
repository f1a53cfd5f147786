/**
 * I4, in time: what a command has just touched is looked at like something new, however long ago its transaction was
 * created, and whether or not the poller had ever seen it. The service's clock was behind while the quotes were made.
 */
import { beforeAll, expect, test } from 'vitest';
import { systemClock, type Clock } from 'payment-processor-sandbox/clock';
import { useStack } from '../support/test-stack.ts';

const MINUTE_MS = 60_000;
const INTERVAL_MS = 1_000;
const SETTLE_MS = 6_000;
/** Two intervals, as docs/settings.md says, and the calls themselves on a machine with other work. */
const BOUND_MS = 2 * INTERVAL_MS + 8_000;
/** By its creation each of them would be looked at after forty seconds and more. */
const KNOWN_AGES_MS = [80 * MINUTE_MS, 40 * MINUTE_MS];
/** From before POLL_START: nothing but the execution of its quote tells of it. */
const UNKNOWN_AGE_MS = 120 * MINUTE_MS;
const POLLED_FROM_MS = 90 * MINUTE_MS;

/** The system's clock, behind by what is set; it must not get further behind. */
class BehindClock implements Clock {
  behindMs = UNKNOWN_AGE_MS;
  readonly #clock = systemClock();

  nowMs(): number {
    return this.#clock.nowMs() - this.behindMs;
  }

  wakeAt(instantMs: number, wake: () => void): () => void {
    return this.#clock.wakeAt(instantMs + this.behindMs, wake);
  }
}

const clock = new BehindClock();
const stack = useStack({
  name: 'late',
  sandbox: { clock, settleMs: SETTLE_MS, quoteLifetimeMs: 2 * UNKNOWN_AGE_MS },
  settings: {
    POLL_INTERVAL_MS: String(INTERVAL_MS),
    POLL_MAX_CALLS_PER_MINUTE: '600',
    POLL_START: new Date(Date.now() - POLLED_FROM_MS).toISOString(),
  },
});

const made: { key: string; ageMs: number; quoteId: string; transactionId: string }[] = [];

beforeAll(async () => {
  const { journal, service } = stack();
  for (const ageMs of [UNKNOWN_AGE_MS, ...KNOWN_AGES_MS]) {
    clock.behindMs = ageMs;
    const { id, transactionId } = await service.createQuote('InternalAccount:late-x');
    made.push({ key: `execute-${ageMs / MINUTE_MS}`, ageMs, quoteId: id, transactionId });
  }
  clock.behindMs = 0;
  await stack().startProcessor();
  const isSeen = ({ transactionId }: { transactionId: string }): boolean =>
    journal.transactionEvents(transactionId).length > 0;
  await journal.until(() => made.filter(isSeen).length === KNOWN_AGES_MS.length, 'what was created since POLL_START');
  expect(made.map(isSeen)).toEqual([false, true, true]);
});

test('COMPLETED of quotes whose transactions were created long ago is published two intervals after it', async () => {
  const { journal, publisher, service } = stack();
  await Promise.all(
    made.map(({ key, quoteId, transactionId }) => publisher.publish('execute-quote', key, { quoteId, transactionId })),
  );
  const results = await journal.resultsOfAll(made.map(({ key }) => key));
  expect(results.map(({ value }) => value.outcome)).toEqual(made.map(() => 'ACCEPTED'));
  const completed = (transactionId: string) =>
    journal.transactionEvents(transactionId).find(({ value }) => value.status === 'COMPLETED');
  await journal.until(
    () => made.every(({ transactionId }) => completed(transactionId) !== undefined),
    'COMPLETED of all',
  );
  const histories = await service.histories();
  const delays = made.map(({ ageMs, transactionId }) => {
    const history = histories.find(({ id }) => id === transactionId)?.history ?? [];
    const atMs = history.find(({ status }) => status === 'COMPLETED')?.atMs ?? NaN;
    return { ageMs, delayMs: Number(completed(transactionId)?.value.observedAt) - atMs };
  });
  expect(delays.filter(({ delayMs }) => !(delayMs <= BOUND_MS))).toEqual([]);
});
