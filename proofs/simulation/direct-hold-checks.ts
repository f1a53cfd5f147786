/** Direct checks of operators' holds: which calls a lane refuses, and since when. */
import type { HoldIntake } from '../../src/consumers/hold-intake.ts';
import { claimCall, type ClaimingLane } from '../../src/lanes/entry-claim.ts';
import { Holds } from '../../src/lanes/holds.ts';
import type { LaneTransaction } from '../../src/lanes/transaction.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { entryAt } from '../../test/ledger/entries.ts';
import type { DirectCheck } from './direct-checks.ts';

const ENTRY = entryAt('transfer-in');
const AT = '2036-01-01T00:00:00Z';
const HOLD: HoldIntake = {
  kind: 'order',
  offset: 0n,
  order: { action: 'HOLD', commandTypes: [], operator: 'an operator', reason: 'a reason', until: null, at: AT },
};

const SESSION_MS = 6_000;

/** The holds of a lane whose former owner was fenced this long ago. */
function holdsOf(isRead: boolean, fencedForMs = SESSION_MS): Holds {
  const fencedCallUntilMs = Date.parse(AT) + SESSION_MS - fencedForMs;
  const parts = {
    lane: 0,
    sessionTimeoutMs: SESSION_MS,
    topics: topicNames('test'),
    index: { value: () => undefined, owner: () => ({ fencedCallUntilMs }) },
    clock: { nowMs: () => Date.parse(AT), monotonicMs: () => 0 },
  };
  return new Holds(parts as unknown as ConstructorParameters<typeof Holds>[0], () => isRead);
}

/** @returns how many records the order writes */
function written(holds: Holds): number {
  let records = 0;
  const transaction = { add: () => void (records += 1), reports: [] };
  holds.handle(transaction as unknown as LaneTransaction, HOLD);
  return records;
}

export const HOLD_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'a lane calls before it has read what operators hold',
    holds: () => holdsOf(false).refusal(ENTRY) !== null && holdsOf(true).refusal(ENTRY) === null,
  },
  {
    wrong: 'calls begin while the hold that forbids them is being committed',
    holds: () => {
      const holds = holdsOf(true);
      written(holds);
      return holds.refusal(ENTRY) === 'operator-hold';
    },
  },
  {
    wrong:
      'an order is confirmed while an owner that was fenced may begin calls, or is not obeyed until then, or never confirmed',
    holds: () => {
      const young = holdsOf(true, SESSION_MS - 1);
      const isConfirmed = written(young) > 0;
      return !isConfirmed && young.refusal(ENTRY) === 'operator-hold' && written(holdsOf(true)) === 1;
    },
  },
  {
    wrong: 'intents are made for calls that an operator holds',
    holds: () => {
      const holds = { refusal: () => 'operator-hold' as const };
      const lane = { lane: 0, holds, calls: { claim: () => null }, memory: { quotesOpen: () => 0 } };
      const policy = { idempotentOperations: new Set() };
      const attempt = { attemptId: 'attempt', commit: 1 };
      return claimCall({ ...lane, policy } as unknown as ClaimingLane, attempt, ENTRY, false) === 'operator-hold';
    },
  },
];
