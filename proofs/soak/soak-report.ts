/** A soak as a table. Pure. */
import type { Trend } from './flatness.ts';
import type { SoakJudgement } from './soak-judgement.ts';
import type { SoakEvidence } from './soak-scenario.ts';

const HEADINGS = ['of', 'what', 'minutes', 'mean', 'most', 'rise', 'allowed'];
const GAP = '  ';

export function textOf(evidence: SoakEvidence, { copies, outcomes, trends, wrong }: SoakJudgement): string {
  const counts = Object.entries(outcomes).map(
    ([kind, found]) =>
      `${kind}: ${Object.entries(found)
        .map(([outcome, count]) => `${outcome} ${count}`)
        .join(', ')}`,
  );
  const kills = evidence.disturbances.filter(({ how }) => how === 'kill -9').length;
  return [
    `${evidence.minutes} min at ${evidence.commandsPerSecond} commands per second: ${evidence.commands.size} commands, ${copies} copies; ` +
      `${kills} kill -9, ${evidence.disturbances.length - kills} SIGTERM`,
    ...counts,
    '',
    ...tableOf([HEADINGS, ...trends.map(cellsOf)]),
    '',
    ...(wrong.length === 0 ? ['every promise held, and nothing grew'] : ['wrong:', ...wrong.map((text) => GAP + text)]),
  ].join('\n');
}

function cellsOf({ max, mean, minutes, mostMax, rise, riseMax, what, whose }: Trend): string[] {
  const figures = [mean, max, rise].map((figure) => figure.toFixed(1));
  return [
    whose,
    what,
    minutes.toFixed(0),
    ...figures,
    riseMax?.toFixed(1) ?? (mostMax === null ? '-' : `${mostMax} at most`),
  ];
}

function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}
