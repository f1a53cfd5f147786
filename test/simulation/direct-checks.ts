/**
 * Protections that no history reaches, for what stands before them holds; each is told of directly. They are kept because
 * they cost nothing where they are, and what stands before them may change.
 *
 * An answer of an attempt that is not the present one: a lane hears of a call only while the call's intent is the entry's
 * phase (LaneCalls gives each call one owner, and an intent is left by the end of its call alone).
 *
 * Commits of another owner: the reader tells a lane of them only after a later OWNER record, and from then on nothing
 * that the lane knows can be committed.
 */
import { LaneMemory } from '../../src/lanes/memory.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { aPolicy, entryAt } from '../ledger/entries.ts';
import { MemoryIndex } from './memory-index.ts';

/** @returns what does not hold, in words */
export function directChecks(): string[] {
  const wrong: string[] = [];
  const reading = { kind: 'never-sent' as const, reason: 'refused' };
  const answered = { kind: 'answered' as const, attemptId: 'an earlier one', reading, nowMs: 2_000 };
  if (decide(entryAt('transfer-in'), answered, aPolicy()).kind !== 'unchanged')
    wrong.push('an answer to an earlier attempt changes an entry');
  const memory = new LaneMemory(new MemoryIndex(1), 0, 'own');
  const result = { value: Buffer.alloc(0), headers: {} };
  const phase = { state: 'DONE' as const, outcome: 'ACCEPTED' as const, completedMs: 0, result };
  const entry: Entry = { ...entryAt('transfer-in'), phase };
  memory.putEntry(entry, 1);
  memory.applied('of another owner', 1);
  if (memory.entry(entry.key) === undefined) wrong.push('a commit of another owner makes a lane forget its own');
  return wrong;
}
