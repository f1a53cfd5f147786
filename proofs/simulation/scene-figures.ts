/** The figures of a scene, from what publishers and subscribers saw. Pure. */
import { spreadOf, type Spread } from '../spread.ts';
import type { TimedCommand } from './scene-load.ts';

/** Something that happened to lanes: a process of theirs ended, or the service came back. */
export interface Moment {
  readonly atMs: number;
  readonly lanes: readonly number[];
}

/**
 * From each moment to the next result of each of its lanes; where nothing waited then, from the publishing of what came
 * next. Lanes in which nothing more is answered are left out: the judgement of the scene reports them.
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

/** From publishing to answer, of commands published in the time. */
export function answerTimes(commands: readonly TimedCommand[], fromMs: number, untilMs: number): Spread {
  return spreadOf(
    commands.flatMap(({ answeredMs, publishedMs }) =>
      answeredMs === null || publishedMs < fromMs || publishedMs >= untilMs ? [] : [answeredMs - publishedMs],
    ),
  );
}

/** The most of the instants that lie in one second. */
export function mostPerSecond(instantsMs: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const instantMs of instantsMs) {
    const second = Math.floor(instantMs / 1_000);
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  return [...counts.values()].reduce((most, count) => Math.max(most, count), 0);
}
