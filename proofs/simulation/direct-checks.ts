/**
 * Protections that no history reaches: an earlier protection acts first, or the simulation lacks the danger. Each is
 * checked directly, with the unit's real code. They stay because the earlier protection may change.
 *
 * Answers to an attempt that is not the current one. A lane gets a call's answer only while the entry is in that call's
 * intent: Attempts gives each call one owner, and an entry leaves its intent only when the call ends.
 *
 * Commits of another owner. The reader reports them to a lane only after a later OWNER record, and from then on the lane
 * cannot commit anything.
 */
import { ENTRY_CHECKS } from './direct-entry-checks.ts';
import { HOLD_CHECKS } from './direct-hold-checks.ts';
import { INPUT_CHECKS } from './direct-input-checks.ts';
import { MEMBER_CHECKS } from './direct-member-checks.ts';
import { OWNERSHIP_CHECKS } from './direct-ownership-checks.ts';
import { PRODUCER_CHECKS } from './direct-producer-checks.ts';
import { STORE_CHECKS } from './direct-store-checks.ts';

export interface DirectCheck {
  /** What goes wrong without the protection. */
  readonly wrong: string;
  readonly holds: () => boolean | Promise<boolean>;
}

/** Yields what is wrong, in words; the slowest check is last. */
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
