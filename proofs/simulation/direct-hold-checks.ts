/** Direct checks of operators' holds: what a lane refuses, and from when on. */
import type { HoldIntake } from '../../src/consumers/hold-intake.ts';
import { claimCall, type ClaimingLane } from '../../src/lanes/entry-claim.ts';
import { Holds } from '../../src/lanes/holds.ts';
import type { LaneTransaction } from '../../src/lanes/transaction.ts';
import { topicNames } from '../../src/records/topics.ts';
import { entryAt } from '../../test/ledger/entries.ts';
import type { DirectCheck } from './direct-checks.ts';

const ENTRY = entryAt('transfer-in');
const AT = '2036-01-01T00:00:00Z';
const HOLD: HoldIntake = {
  kind: 'order',
  offset: 0n,
  order: { action: 'HOLD', commandTypes: [], operator: 'an operator', reason: 'a reason', until: null, at: AT },
};

function holdsOf(isRead: boolean): Holds {
  const parts = {
    lane: 0,
    topics: topicNames('test'),
    index: { value: () => undefined },
    clock: { nowMs: () => Date.parse(AT) },
  };
  return new Holds(parts as unknown as ConstructorParameters<typeof Holds>[0], () => isRead);
}

export const HOLD_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'a lane calls before it has read what operators hold',
    holds: () => holdsOf(false).refusal(ENTRY) !== null && holdsOf(true).refusal(ENTRY) === null,
  },
  {
    wrong: 'calls begin while the hold that forbids them is being committed',
    holds: async () => {
      const holds = holdsOf(true);
      await holds.handle({ add: () => undefined, reports: [] } as unknown as LaneTransaction, HOLD);
      return holds.refusal(ENTRY) === 'operator-hold';
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
