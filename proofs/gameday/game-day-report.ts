/** A game day as a table. Pure. */
import type { Row } from './run-faults.ts';

const HEADINGS = ['fault', 'alert', 'pending', 'firing', 'clear', 'action'];
const GAP = '  ';

export interface GameDay {
  readonly timeScale: number;
  readonly seconds: number;
  readonly rows: readonly Row[];
  /** Commands of the steady load, each with its result. */
  readonly commands: number;
  /** Problems outside the rows. */
  readonly wrong: readonly string[];
}

export function isPassed({ rows, wrong }: GameDay): boolean {
  return wrong.length === 0 && rows.every(({ problem }) => problem === null);
}

export function textOf(day: GameDay): string {
  const cells = day.rows.map((row) => [
    row.fault,
    row.alert ?? '(none: heals by itself)',
    timeText(row.alert, row.secondsToPending),
    timeText(row.alert, row.secondsToFiring),
    timeText(row.alert, row.secondsToClear),
    row.action,
  ]);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...cells.map((cell) => cell[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]): string =>
    texts
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd();
  const also = new Map(day.rows.map(({ alsoFired, fault }) => [fault, alsoFired]));
  const problems = day.rows.flatMap(({ alert, fault, problem }) =>
    problem === null ? [] : [`${fault}${alert === null ? '' : `, ${alert}`}: ${problem}`],
  );
  return [
    `durations divided by ${day.timeScale}; pending and firing in seconds from the fault, clear from the action`,
    '',
    line(HEADINGS),
    ...cells.map(line),
    '',
    ...[...also]
      .filter(([, names]) => names.length > 0)
      .map(([fault, names]) => `${fault}: also fired ${names.join(', ')}`),
    '',
    'copied out of the runbooks:',
    ...[...new Map(day.rows.map(({ fault, pasted }) => [fault, pasted]))].flatMap(([fault, pasted]) =>
      [...new Set(pasted)].map((command) => `${GAP}${fault}: ${command}`),
    ),
    '',
    `${day.commands} commands of the ordinary load, ${Math.round(day.seconds)} s in all`,
    ...(isPassed(day)
      ? ['every alert fired and cleared']
      : ['wrong:', ...[...problems, ...day.wrong].map((text) => GAP + text)]),
  ].join('\n');
}

function timeText(alert: string | null, seconds: number | null): string {
  return alert === null ? '-' : (seconds?.toFixed(1) ?? 'never');
}
