/** What a page or an answer showed. */
import type { Observation } from '../../src/status/observation.ts';

/** Polled, of nothing. */
export function anObservation(changes: Partial<Observation>): Observation {
  const shown = { transaction: null, quote: null, requestBeganMs: 1, requestEndedMs: 2 };
  return { ...shown, observedBy: 'POLL', observer: 'process-1', commandKey: null, carried: {}, ...changes };
}

/** By the answer to a command, which a lane got. */
export function answerOf(commandKey: string, changes: Partial<Observation>): Observation {
  return anObservation({ observedBy: 'COMMAND', observer: 'lanes', commandKey, ...changes });
}
