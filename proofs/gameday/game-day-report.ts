/** A game day as a table. Pure. */
import { textTable } from 'payment-processor-cli/output';
import type { Row } from './run-faults.ts';

export interface GameDay {
  readonly timeScale: number;
  readonly seconds: number;
  readonly rows: readonly Row[];
  /** Commands of the steady load, each with its result. */
  readonly commands: number;
  /** Problems outside the rows. */
  readonly wrong: readonly string[];
}

/** Everything that is wrong, in words; empty: the day is passed. */
export function problemsOf({ rows, wrong }: GameDay): string[] {
  const ofRows = rows.flatMap(({ alert, fault, problem }) =>
    problem === null ? [] : [`${fault}${alert === null ? '' : `, ${alert}`}: ${problem}`],
  );
  return [...ofRows, ...wrong];
}

export function textOf(day: GameDay): string {
  const cells = day.rows.map(({ action, alert, fault, ...row }) => {
    const times = [row.secondsToFiring, row.secondsToClear].map((seconds) =>
      alert === null ? '-' : (seconds?.toFixed(1) ?? 'never'),
    );
    return [fault, alert ?? '(none: heals by itself)', ...times, action];
  });
  const byFault = [...new Map(day.rows.map((row) => [row.fault, row])).values()];
  const problems = problemsOf(day);
  return [
    `durations divided by ${day.timeScale}; firing in seconds from the fault, clear from the action\n`,
    ...textTable(['fault', 'alert', 'firing', 'clear', 'action'], cells),
    '',
    ...byFault.flatMap(({ alsoFired, fault }) =>
      alsoFired.length === 0 ? [] : [`${fault}: also fired ${alsoFired.join(', ')}`],
    ),
    '\ncopied out of the runbooks:',
    ...byFault.flatMap(({ fault, pasted }) => [...new Set(pasted)].map((command) => `  ${fault}: ${command}`)),
    `\n${day.commands} commands of the ordinary load, ${Math.round(day.seconds)} s in all`,
    ...(problems.length === 0
      ? ['every alert fired and cleared']
      : ['wrong:', ...problems.map((problem) => `  ${problem}`)]),
  ].join('\n');
}
