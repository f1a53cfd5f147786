/** A ledger entry in words. Pure. */
import type { Entry } from '../../../src/ledger/entry.ts';
import { isoOf } from './event-output.ts';

/** What an entry is doing, or what it came to. */
export function phaseText({ phase, waits }: Entry): string {
  switch (phase.state) {
    case 'INTENT':
      return `attempt ${phase.attemptId} since ${isoOf(phase.atMs)}, deadline ${phase.timeoutMs} ms`;
    case 'PARKED':
      return `until ${isoOf(phase.untilMs)}, wait ${waits}: ${phase.reason}`;
    case 'DOUBTFUL':
      return `to be settled from ${isoOf(phase.settleAtMs)}: ${phase.reason}`;
    case 'QUOTED':
      return 'the quote is recorded, its execution follows';
    case 'DONE':
      return phase.outcome;
  }
}
