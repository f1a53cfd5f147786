/** The calls of a command, as far as the ledger tells of each, and what it does not keep. Pure. */
import type { Entry } from '../../../../src/ledger/entry.ts';
import type { Story } from './story.ts';

export interface ShownCall {
  readonly attemptId: string;
  /** Of this entry, from 1 on. */
  readonly attempt: number;
  readonly step: Entry['step'];
  readonly processId: string;
  readonly beganMs: number;
  readonly timeoutMs: number;
}

/** @returns calls whose intent the ledger still has, oldest first, each once */
export function callsOf({ entries }: Story): ShownCall[] {
  const calls = new Map<string, ShownCall>();
  for (const { entry } of entries) {
    if (entry?.phase.state !== 'INTENT') continue;
    const { atMs, attemptId, processId, timeoutMs } = entry.phase;
    const { attempts, step } = entry;
    calls.set(attemptId, { attemptId, attempt: attempts + 1, step, processId, beganMs: atMs, timeoutMs });
  }
  return [...calls.values()];
}

/** What a reader may miss, and why it is not there: in sentences. */
export function notKept(story: Story): string[] {
  const entry = story.entries.findLast((record) => record.entry !== null)?.entry ?? null;
  if (entry === null) return [];
  const calls = callsOf(story);
  // An intent that is the present state has not been counted yet.
  const made = Math.max(entry.attempts, ...calls.map(({ attempt }) => attempt));
  const missing = made - new Set(calls.map(({ attempt }) => attempt)).size;
  return [
    ...(made === 0
      ? []
      : [
          "each call's own answer: the ledger keeps the state that it led to, and the result has the answer that settled it",
        ]),
    ...(missing <= 0
      ? []
      : [`${missing} of ${made} calls one by one: compaction left the later states of the entry alone`]),
    ...(entry.firstSentMs === null && entry.unexecuted === null
      ? []
      : ['each single look-up: the ledger keeps what look-ups came to']),
  ];
}
