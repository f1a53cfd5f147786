/** A member counts as confirmed by when its heartbeat was sent, whatever somebody does to the wall clock meanwhile. */
import kafkajs from 'kafkajs';
import { afterEach, expect, test, vi } from 'vitest';
import { GroupMember } from '../../src/consumers/group-member.ts';

const SESSION_MS = 6_000;

afterEach(() => void vi.restoreAllMocks());

/** @returns its listeners, by event */
function stubConsumer(): Map<string, (event: object) => void> {
  const listeners = new Map<string, (event: object) => void>();
  const nothing = async (): Promise<void> => {};
  const consumer = {
    events: { REQUEST: 'request', HEARTBEAT: 'heartbeat' },
    on: (name: string, listener: (event: object) => void) => listeners.set(name, listener),
    ...{ connect: nothing, subscribe: nothing, run: nothing },
  };
  vi.spyOn(kafkajs.Kafka.prototype, 'consumer').mockReturnValue(consumer as never);
  return listeners;
}

test.each([
  [1_000, 0, true],
  [20_000, 0, false],
  [20_000, -19_000, false],
  [20_000, -60_000, false],
  [1_000, 60_000, false],
])('an answer after %i ms, with the wall clock set by %i ms: %s', async (frozenMs, setByMs, isConfirmed) => {
  let monotonicMs = 1_000_000;
  let aheadMs = Date.parse('2026-01-31T12:00:00Z');
  const clock = { nowMs: () => aheadMs + monotonicMs, monotonicMs: () => monotonicMs };
  const standing = { shouldRejoin: () => false };
  const listeners = stubConsumer();
  const settings = { KAFKA_BROKERS: ['localhost:1'] };
  const options = { clock, standing, settings, topics: ['commands'], handlers: {}, log: () => undefined };
  const member = new GroupMember(options as unknown as ConstructorParameters<typeof GroupMember>[0]);
  await member.start();
  const sentAt = clock.nowMs();
  monotonicMs += frozenMs;
  aheadMs += setByMs;
  listeners.get('request')?.({ payload: { apiName: 'Heartbeat', sentAt, duration: frozenMs } });
  listeners.get('heartbeat')?.({ payload: {} });
  expect(member.isConfirmedWithinMs(SESSION_MS)).toBe(isConfirmed);
});
