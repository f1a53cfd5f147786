/** The results UNKNOWN that wait for an operator's decision, by the ledger. */
import type { Entry } from '../../../src/ledger/entry.ts';
import { mayBeUnknown } from '../../../src/ledger/ledger-value.ts';
import { scanLedger } from './ledger-scan.ts';
import type { CliSettings } from './context.ts';

export interface UnknownResult {
  readonly lane: number;
  readonly entry: Entry;
  /** When the result came, ms. */
  readonly completedMs: number;
  /** The result as it lies in the results topic. */
  readonly value: Buffer;
}

export interface UnknownResults {
  /** Oldest first. */
  readonly results: readonly UnknownResult[];
  /** What was not read, in sentences. */
  readonly cuts: readonly string[];
}

/**
 * @param readForMs longest time of the reading
 * @throws as scanLedger does
 */
export async function readUnknownResults(settings: CliSettings, readForMs: number): Promise<UnknownResults> {
  const { cuts, found } = await scanLedger(
    settings,
    readForMs,
    (_key, value) => mayBeUnknown(value),
    ({ phase }) => phase.state === 'DONE' && phase.outcome === 'UNKNOWN',
  );
  const results = found.flatMap(({ entry, lane }): UnknownResult[] =>
    entry.phase.state === 'DONE'
      ? [{ lane, entry, completedMs: entry.phase.completedMs, value: entry.phase.result.value }]
      : [],
  );
  return { results: results.sort((left, right) => left.completedMs - right.completedMs), cuts };
}
