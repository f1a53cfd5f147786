/** Runs histories one after the other in this process, and sums up their findings. */
import { setImmediate } from 'node:timers/promises';
import type { DisturbanceChoice } from './disturbances.ts';

export interface RunOptions {
  /** A seed to run before all others. */
  readonly seedFirst?: number;
  readonly firstSeed: number;
  /** The distance from one seed to the next. */
  readonly step: number;
  readonly histories: number;
  /** No history is begun after this many seconds; null: no such limit. */
  readonly secondsMax: number | null;
  /** Stops at the first history that breaks a promise. */
  readonly untilBroken: boolean;
  readonly choice: DisturbanceChoice;
  readonly trace?: (line: string) => void;
  readonly onHistory?: (summary: Summary) => void;
}

export interface Summary {
  histories: number;
  commands: number;
  calls: number;
  events: number;
  outcomes: Record<string, number>;
  disturbances: Record<string, number>;
  failed: { seed: number; wrong: readonly string[] }[];
}

export function emptySummary(): Summary {
  return { histories: 0, commands: 0, calls: 0, events: 0, outcomes: {}, disturbances: {}, failed: [] };
}

export async function runHistories(options: RunOptions): Promise<Summary> {
  const { choice, firstSeed, histories, onHistory, secondsMax, seedFirst, step, trace, untilBroken } = options;
  const seeds = seedFirst === undefined ? [] : [seedFirst];
  const summary = emptySummary();
  // Imported only now, after a mutation is applied, because it loads the mutated code.
  const { runHistory } = await import('./history.ts');
  const unhandled: string[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(`a promise was left to itself: ${String(error)}`);
  process.on('unhandledRejection', onUnhandled);
  const beganMs = performance.now();
  const isLate = (): boolean => secondsMax !== null && performance.now() - beganMs > secondsMax * 1_000;
  for (let count = 0; count < histories && !isLate(); count += 1) {
    const seed = seeds[count] ?? firstSeed + (count - seeds.length) * step;
    const wrong: string[] = [];
    try {
      const report = await runHistory({ seed, choice, ...(trace === undefined ? {} : { trace }) });
      wrong.push(...report.wrong);
      addUp(summary, { ...report, histories: 0, failed: [] });
    } catch (error) {
      wrong.push(`the history broke off: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
    wrong.push(...unhandled.splice(0));
    summary.histories += 1;
    if (wrong.length > 0) summary.failed.push({ seed, wrong });
    onHistory?.(summary);
    if (untilBroken && wrong.length > 0) break;
  }
  // What a broken history left behind is not put down to the next one.
  await setImmediate();
  process.off('unhandledRejection', onUnhandled);
  return summary;
}

/** Adds one summary to another. */
export function addUp(
  sum: Summary,
  { calls, commands, disturbances, events, failed, histories, outcomes }: Summary,
): void {
  sum.histories += histories;
  sum.commands += commands;
  sum.calls += calls;
  sum.events += events;
  addAll(sum.outcomes, outcomes);
  addAll(sum.disturbances, disturbances);
  sum.failed = [...sum.failed, ...failed].sort((left, right) => left.seed - right.seed);
}

function addAll(sums: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
}
