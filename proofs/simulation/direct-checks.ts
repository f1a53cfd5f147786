/**
 * Protections that no history reaches: an earlier protection holds, or a simulation lacks what they guard against. Each is
 * checked directly, with the unit's real code. They are kept because the earlier protection may change.
 *
 * An answer of an attempt that is not the present one: a lane hears of a call only while the call's intent is the entry's
 * phase (Attempts gives each call one owner, and an intent is left by the end of its call alone).
 *
 * Commits of another owner: the reader tells a lane of them only after a later OWNER record, and from then on nothing
 * that the lane knows can be committed.
 */
import { ENTRY_CHECKS } from './direct-entry-checks.ts';
import { HOLD_CHECKS } from './direct-hold-checks.ts';
import { INPUT_CHECKS } from './direct-input-checks.ts';
import { MEMBER_CHECKS } from './direct-member-checks.ts';
import { OWNERSHIP_CHECKS } from './direct-ownership-checks.ts';
import { PRODUCER_CHECKS } from './direct-producer-checks.ts';
import { STORE_CHECKS } from './direct-store-checks.ts';

export interface DirectCheck {
  /** What is so where it does not hold. */
  readonly wrong: string;
  readonly holds: () => boolean | Promise<boolean>;
}

/** Yields what does not hold, in words; the check that takes longest is the last one. */
export async function* directChecks(): AsyncGenerator<string> {
  const fast = [ENTRY_CHECKS, INPUT_CHECKS, HOLD_CHECKS, OWNERSHIP_CHECKS, STORE_CHECKS, PRODUCER_CHECKS];
  const checks = [...fast, MEMBER_CHECKS].flat();
  for (const check of checks) {
    try {
      if (!(await check.holds())) yield check.wrong;
    } catch (error) {
      yield `${check.wrong}: ${String(error)}`;
    }
  }
}
