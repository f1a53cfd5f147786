/**
 * The group counts a member out before its session timeout, for example because its client left after a failure. The member
 * does not know yet, its last heartbeat is recent, and calls wait for a slot. A hold that the next owner confirms must stop
 * those calls too.
 */
import { expect, test } from 'vitest';
import { decodeHolds, type HoldOrder } from '../../src/ledger/holds.ts';
import { HOLD_KEY } from '../../src/ledger/ledger-records.ts';
import { keysOfLane, transferInOf } from '../../test/support/commands.ts';
import { eventually } from '../../test/support/watch.ts';
import type { Disturber, Trouble } from './simulated-network.ts';
import { VirtualStack } from './virtual-stack.ts';

const LANES = 2;
const CALL_MS = 8_000;
/** Long enough that every waiting command would have been called. */
const LONG_MS = 30_000;
const SETTINGS = { API_MAX_CONCURRENCY: '1', API_TIMEOUT_MS: '9000', KAFKA_SESSION_TIMEOUT_MS: '20000' };
/** How long the former owner's request to rejoin is delayed. */
const JOINS_AFTER_MS = 25_000;
const QUIET: Trouble = { kind: 'none' };
const UNAVAILABLE = { httpStatus: 503, body: '{}' };

async function heldLanes(stack: VirtualStack): Promise<number> {
  const receipts = (await stack.readLedger()).filter(({ key }) => key?.toString() === HOLD_KEY);
  return receipts.filter(({ value }) => value !== null && 'transfer-in' in decodeHolds(value).holds).length;
}

/** Delays that request, once the former owner is counted out. */
class SlowJoin implements Disturber {
  isOn = false;
  troubleAt({ name }: { name: string }, point: string): Trouble {
    const isSlow = this.isOn && name === 'process-2' && point === 'JoinGroup';
    return isSlow ? { kind: 'slow', thereMs: JOINS_AFTER_MS, backMs: 0 } : QUIET;
  }
  kill(): void {}
  freeze(): void {}
}

test('a former owner whose heartbeat is fresh begins no call once its lanes say that they hold', () => {
  const join = new SlowJoin();
  return VirtualStack.run(
    { name: 'counted-out', lanes: LANES, settings: SETTINGS },
    async (stack) => {
      const service = await stack.hostileService(async ({ method }) => {
        if (method === 'GET') return null;
        await new Promise((resolve) => setTimeout(resolve, CALL_MS));
        return UNAVAILABLE;
      });
      const calls = (): number => service.requests.filter(({ method }) => method === 'POST').length;
      const members = (): { memberId: string }[] =>
        stack.broker.groups.members(stack.environment['KAFKA_GROUP_ID'] ?? '');
      const overrides = { API_BASE_URL: service.baseUrl };
      const taker = await stack.startProcessor(overrides);
      const [next] = members();
      const former = await stack.startProcessor(overrides);
      const [lane] = former.openedLanes();
      for (const key of keysOfLane('key', lane ?? 0, 10, LANES))
        await stack.publisher.publish('transfer-in', key, transferInOf(key));
      await eventually(
        async () => calls(),
        (count) => count === 1,
        'the first call',
      );
      join.isOn = true;
      for (const { memberId } of members())
        if (memberId !== next?.memberId) stack.broker.groups.leave(stack.environment['KAFKA_GROUP_ID'] ?? '', memberId);
      await eventually(
        async () => taker.log().filter((line) => line.event === 'lane-open' && line.lane === lane).length,
        (opened) => opened === 2,
        'the lane to be taken back',
      );
      const what: Omit<HoldOrder, 'at'> = {
        action: 'HOLD',
        commandTypes: [],
        operator: 'ada',
        reason: 'why',
        until: null,
      };
      await stack.publishHold({ ...what, at: new Date().toISOString() });
      await eventually(
        () => heldLanes(stack),
        (lanes) => lanes === LANES,
        'every lane to hold',
        LONG_MS,
      );
      const before = calls();
      await new Promise((resolve) => setTimeout(resolve, LONG_MS));
      expect(calls()).toBe(before);
    },
    join,
  );
});
