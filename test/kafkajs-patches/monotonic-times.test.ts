/** Somebody sets the wall clock: heartbeats and timeouts of requests follow the time that has passed. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { loadPatched, logger, silence, type Constructor } from './patched-module.ts';

interface Group {
  memberId: string;
  coordinator: { heartbeat(): Promise<void> };
  heartbeat(options: { interval: number }): Promise<void>;
}

const SET_BY_MS = 10 * 60_000;

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-03-01T12:00:00Z') }));
afterEach(() => vi.useRealTimers());

/** Time passes; the wall clock is set on the way. */
function passWithClockSet(passedMs: number, byMs: number): void {
  vi.advanceTimersByTime(passedMs);
  vi.setSystemTime(Date.now() + byMs);
}

test.each([-SET_BY_MS, SET_BY_MS])('a member sends a heartbeat per interval, the clock set by %d ms', async (byMs) => {
  const ConsumerGroup = loadPatched('src/consumer/consumerGroup.js') as Constructor<Group>;
  const group = new ConsumerGroup({ logger, retry: {}, instrumentationEmitter: { emit: silence } });
  const heartbeat = vi.fn(async () => undefined);
  Object.assign(group, { memberId: 'member', coordinator: { heartbeat } });
  passWithClockSet(999, byMs);
  await group.heartbeat({ interval: 1_000 });
  expect(heartbeat).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(1);
  await group.heartbeat({ interval: 1_000 });
  expect(heartbeat).toHaveBeenCalledTimes(1);
});

test.each([-SET_BY_MS, SET_BY_MS])('a request times out in time, the clock set by %d ms', async (byMs) => {
  const RequestQueue = loadPatched('src/network/requestQueue/index.js') as Constructor<{ push(request: object): void }>;
  const queue = new RequestQueue({
    logger,
    requestTimeout: 1_000,
    enforceRequestTimeout: true,
    clientId: 'c',
    broker: 'b',
  });
  const reject = vi.fn();
  queue.push({
    entry: { correlationId: 1, reject, resolve: silence },
    expectResponse: true,
    sendRequest: silence,
  });
  passWithClockSet(999, byMs);
  vi.advanceTimersByTime(1);
  expect(reject).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(10);
  expect(reject).toHaveBeenCalledTimes(1);
});

test('the event of a request says when it was sent, by the wall clock: the last heartbeat is dated by it', () => {
  const SocketRequest = loadPatched('src/network/requestQueue/socketRequest.js') as Constructor<{
    send(): void;
    completed(answer: object): void;
  }>;
  const emit = vi.fn();
  const entry = { apiName: 'Heartbeat', resolve: silence };
  const request = new SocketRequest({ entry, instrumentationEmitter: { emit }, send: silence });
  passWithClockSet(1_000, -SET_BY_MS);
  const sentAt = Date.now();
  request.send();
  vi.advanceTimersByTime(50);
  request.completed({ size: 1, payload: {} });
  expect(emit).toHaveBeenCalledWith(expect.any(String), expect.objectContaining({ sentAt, duration: 50 }));
});
