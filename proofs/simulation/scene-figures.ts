/** The figures of a scene, from what publishers and subscribers saw. Pure. */
import { spreadOf, type Spread } from '../spread.ts';
import type { TimedCommand } from './scene-load.ts';

/** An event that interrupted lanes: their process ended, or the service came back. */
export interface Moment {
  readonly atMs: number;
  readonly lanes: readonly number[];
}

/**
 * The time from each moment to the next result of each of its lanes. If no command was waiting, the time starts when the
 * next one is published. Lanes without a further answer are left out: the scene's judgement reports them.
 */
export function nextResults(moments: readonly Moment[], commands: readonly TimedCommand[]): Spread {
  const byLane = Map.groupBy(commands, ({ lane }) => lane);
  const waitsMs = moments.flatMap(({ atMs, lanes }) =>
    lanes.flatMap((lane) => {
      const after = (byLane.get(lane) ?? []).filter(({ answeredMs }) => answeredMs !== null && answeredMs > atMs);
      const next = after.reduce<TimedCommand | null>(
        (first, command) => (first === null || (command.answeredMs ?? 0) < (first.answeredMs ?? 0) ? command : first),
        null,
      );
      return next === null ? [] : [(next.answeredMs ?? 0) - Math.max(atMs, next.publishedMs)];
    }),
  );
  return spreadOf(waitsMs);
}

/** The time from publishing to answer, for commands published in this period. */
export function answerTimes(commands: readonly TimedCommand[], fromMs: number, untilMs: number): Spread {
  return spreadOf(
    commands.flatMap(({ answeredMs, publishedMs }) =>
      answeredMs === null || publishedMs < fromMs || publishedMs >= untilMs ? [] : [answeredMs - publishedMs],
    ),
  );
}

/** The highest number of instants within one second. */
export function mostPerSecond(instantsMs: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const instantMs of instantsMs) {
    const second = Math.floor(instantMs / 1_000);
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return [...counts.values()].reduce((most, count) => Math.max(most, count), 0);
}
