/** When a member stands aside for members that the payment service serves, and when it comes back; in virtual time. */
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createServiceCheck, WRONG_CREDENTIALS, type ServiceCheck } from '../../src/api/service-check.ts';
import type { ListReading } from '../../src/api/types.ts';
import { StandingAside } from '../../src/lanes/ownership/standing-aside.ts';
import { aFailure, aPage } from '../api/list-readings.ts';

const PAGE = aPage();
const REFUSED = aFailure('unauthorized');
const UNTRUSTED = aFailure('unreachable', { reason: 'SELF_SIGNED_CERT_IN_CHAIN' });
const MINUTE_MS = 60_000;
/** A check of the service at the latest, and a heartbeat. */
const CHECKED_MS = 16_000;
/** Brokers answer for so long before a member takes lanes again. */
const ANSWERED_MS = 30_000;

let answer: ListReading;
let events: unknown[];
let check: ServiceCheck;
let standing: StandingAside;
/** What brokers answered instead of what every member asks. */
let unanswered: string | null;

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  onTestFinished(() => void vi.useRealTimers());
  const clock = { nowMs: () => Date.now(), monotonicMs: () => Date.now() };
  answer = PAGE;
  events = [];
  unanswered = null;
  check = createServiceCheck({
    baseUrl: 'http://s',
    clock,
    random: () => 1,
    listOne: async () => answer,
    onChange: () => undefined,
  });
  onTestFinished(() => check.close());
  const log = (fields: object): void => void events.push(fields);
  standing = new StandingAside({
    api: check,
    unanswered: () => unanswered,
    sessionTimeoutMs: 6_000,
    clock,
    log: { error: log, info: log },
  });
});

/** A join of the group. @returns what the member announced */
function joins(lanes: readonly number[]): boolean {
  const isUnserved = standing.announce();
  standing.joined(lanes);
  return isUnserved;
}

/** Heartbeats, a second apart. @returns after how long one had news; null: none had */
async function newsWithinMs(limitMs: number): Promise<number | null> {
  const beganMs = Date.now();
  while (Date.now() - beganMs < limitMs) {
    await vi.advanceTimersByTimeAsync(1_000);
    if (standing.shouldRejoin()) return Date.now() - beganMs;
  }
  return null;
}

/** A member that is served, with lanes. */
async function served(): Promise<void> {
  await check.start();
  expect(joins([0, 1])).toBe(false);
}

describe('a process that was never served', () => {
  test.each([
    ['is refused', REFUSED],
    ['reaches nobody', aFailure('unreachable')],
    ['is asked to wait', aFailure('told-to-wait')],
    ['does not trust the certificate', UNTRUSTED],
  ])('says so when it joins, and comes back with its first check that succeeds: %s', async (_what, reading) => {
    answer = reading;
    await check.start();
    expect(joins([])).toBe(true);
    expect(standing.reason()).not.toBeNull();
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
    answer = PAGE;
    expect(await newsWithinMs(CHECKED_MS)).not.toBeNull();
    expect(joins([0, 1])).toBe(false);
    expect(standing.reason()).toBeNull();
    expect(events).toEqual([
      { event: 'stands-aside', reason: expect.any(String) as string, lanes: [] },
      { event: 'stands-aside-ended', lanes: [0, 1] },
    ]);
  });

  test('has its lanes where no other is served, and says a minute later that it is', async () => {
    answer = aFailure('unreachable');
    await check.start();
    expect(joins([0, 1, 2])).toBe(true);
    expect(standing.reason()).toBeNull();
    answer = PAGE;
    expect(await newsWithinMs(MINUTE_MS)).toBeNull();
    expect(await newsWithinMs(CHECKED_MS)).not.toBeNull();
    expect(joins([0, 1, 2])).toBe(false);
  });
});

describe('a member that was served', () => {
  test.each([
    ['API_TOKEN_ID', REFUSED],
    ['NODE_EXTRA_CA_CERTS', UNTRUSTED],
  ])(
    'and is refused joins anew after a minute, says why it has no lanes, and comes back: %s',
    async (setting, reading) => {
      await served();
      answer = reading;
      await check.check();
      expect(await newsWithinMs(2 * MINUTE_MS)).toBe(MINUTE_MS);
      expect(joins([])).toBe(true);
      const reason = expect.stringContaining(setting) as string;
      expect(standing.reason()).toEqual(reason);
      expect(check.state()).toMatchObject({ kind: 'held', reason, setting });
      expect(events).toEqual([{ event: 'stands-aside', reason, lanes: [0, 1] }]);
      answer = PAGE;
      expect(await newsWithinMs(CHECKED_MS)).not.toBeNull();
      expect(joins([0, 1])).toBe(false);
    },
  );

  test('keeps its lanes, and is quiet, where no other is served', async () => {
    await served();
    answer = REFUSED;
    await check.check();
    expect(await newsWithinMs(2 * MINUTE_MS)).toBe(MINUTE_MS);
    expect(joins([0, 1])).toBe(true);
    expect(standing.reason()).toBeNull();
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
    expect(events).toEqual([]);
  });

  test('says at a join of others at once that it is refused', async () => {
    await served();
    answer = REFUSED;
    await check.check();
    expect(joins([])).toBe(true);
  });

  test('is back within a minute: nothing happens', async () => {
    await served();
    answer = REFUSED;
    await check.check();
    expect(await newsWithinMs(MINUTE_MS - 20_000)).toBeNull();
    answer = PAGE;
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
  });

  test('brings no join about in an outage, and says after half a minute at joins of others that it is in one', async () => {
    await served();
    answer = aFailure('unreachable');
    await check.check();
    expect(await newsWithinMs(20_000)).toBeNull();
    expect(joins([0, 1])).toBe(false);
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
    expect(joins([0, 1])).toBe(true);
  });
});

describe('where changes are refused though checks succeed', () => {
  /** It is called with its lanes until it is refused again. */
  const refuses = async (): Promise<void> => {
    check.hold(WRONG_CREDENTIALS);
    await vi.advanceTimersByTimeAsync(0);
  };

  test('a member gives its lanes up all the same, and tries again ever less often', async () => {
    await served();
    await refuses();
    const isCalling = setInterval(() => check.state().kind === 'serving' && check.hold(WRONG_CREDENTIALS), 500);
    expect(await newsWithinMs(2 * MINUTE_MS)).toBe(MINUTE_MS);
    clearInterval(isCalling);
    expect(joins([])).toBe(true);
    const pauses: (number | null)[] = [];
    for (let tries = 0; tries < 3; tries += 1) {
      pauses.push(await newsWithinMs(60 * MINUTE_MS));
      expect(joins([0, 1])).toBe(false);
      expect(await newsWithinMs(5_000)).toBeNull();
      await refuses();
      // It is known by now.
      expect(await newsWithinMs(5_000)).toBe(1_000);
      expect(joins([])).toBe(true);
    }
    expect(pauses).toEqual([MINUTE_MS, 2 * MINUTE_MS, 4 * MINUTE_MS]);
  });

  test('a change that is answered keeps it there', async () => {
    await served();
    await refuses();
    answer = PAGE;
    expect(await newsWithinMs(2 * MINUTE_MS)).not.toBeNull();
    expect(joins([])).toBe(true);
    expect(await newsWithinMs(2 * MINUTE_MS)).not.toBeNull();
    expect(joins([0, 1])).toBe(false);
    check.changeAnswered();
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
    expect(check.unserved()).toBeNull();
  });
});

describe('a member that a broker does not answer', () => {
  const SILENCE = 'connect ETIMEDOUT 10.0.0.2:9092';

  test('joins anew after a minute, says why it has no lanes, and comes back once all brokers answer', async () => {
    await served();
    unanswered = SILENCE;
    expect(await newsWithinMs(2 * MINUTE_MS)).toBeLessThanOrEqual(MINUTE_MS);
    expect(joins([])).toBe(true);
    const reason = `brokers do not answer this process, but they answer others: ${SILENCE}`;
    expect(standing.reason()).toBe(reason);
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
    unanswered = null;
    expect(await newsWithinMs(2 * MINUTE_MS)).toBe(ANSWERED_MS);
    expect(joins([0, 1])).toBe(false);
    expect(events).toEqual([
      { event: 'stands-aside', reason, lanes: [0, 1] },
      { event: 'stands-aside-ended', lanes: [0, 1] },
    ]);
  });

  test('keeps its lanes where no other is answered, and says a minute after that it is', async () => {
    await served();
    unanswered = SILENCE;
    expect(await newsWithinMs(40_000)).toBeNull();
    // Another member was quicker.
    expect(joins([0, 1])).toBe(true);
    expect(standing.reason()).toBeNull();
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
    unanswered = null;
    expect(await newsWithinMs(MINUTE_MS + 15_000)).toBeNull();
    expect(await newsWithinMs(ANSWERED_MS)).not.toBeNull();
    expect(joins([0, 1])).toBe(false);
  });

  test('says nothing of a broker that restarts, at joins of others neither', async () => {
    await served();
    unanswered = SILENCE;
    expect(await newsWithinMs(20_000)).toBeNull();
    expect(joins([0, 1])).toBe(false);
    unanswered = null;
    expect(await newsWithinMs(10 * MINUTE_MS)).toBeNull();
  });

  test('counts at most a session of a standstill, or of the time without the group', async () => {
    await served();
    unanswered = SILENCE;
    await newsWithinMs(7_000);
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    expect(await newsWithinMs(7_000)).toBeNull();
    expect(joins([0, 1])).toBe(false);
  });

  test('comes back only once the service serves it, too', async () => {
    await served();
    unanswered = SILENCE;
    answer = REFUSED;
    await check.check();
    expect(await newsWithinMs(2 * MINUTE_MS)).not.toBeNull();
    expect(joins([])).toBe(true);
    answer = PAGE;
    expect(await newsWithinMs(2 * MINUTE_MS)).toBeNull();
    answer = REFUSED;
    await check.check();
    unanswered = null;
    expect(await newsWithinMs(2 * MINUTE_MS)).toBeNull();
    answer = PAGE;
    expect(await newsWithinMs(CHECKED_MS)).not.toBeNull();
    expect(joins([0, 1])).toBe(false);
  });

  test('with a link that comes and goes stands aside until brokers answer for half a minute', async () => {
    await served();
    const flap = async (): Promise<number | null> => {
      unanswered = SILENCE;
      const away = await newsWithinMs(70_000);
      if (away !== null) return away;
      unanswered = null;
      return newsWithinMs(10_000);
    };
    expect(await flap()).not.toBeNull();
    expect(joins([])).toBe(true);
    for (let times = 0; times < 5; times += 1) expect(await flap()).toBeNull();
    unanswered = null;
    expect(await newsWithinMs(MINUTE_MS)).not.toBeNull();
  });

  test('keeps its lanes through outages that are short, however many', async () => {
    await served();
    for (let times = 0; times < 5; times += 1) {
      unanswered = SILENCE;
      expect(await newsWithinMs(25_000)).toBeNull();
      unanswered = null;
      expect(await newsWithinMs(5_000)).toBeNull();
    }
  });

  test('announces nothing at joins of others once it is answered again', async () => {
    await served();
    unanswered = SILENCE;
    await newsWithinMs(50_000);
    unanswered = null;
    expect(joins([0, 1])).toBe(false);
  });
});
