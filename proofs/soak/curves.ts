/** The curves of a soak as one SVG picture: a panel for each quantity, a line for each process, a mark for each kill. Pure. */
import { livesOf } from './flatness.ts';
import type { ProcessSample } from './samples.ts';
import type { SoakEvidence } from './soak-scenario.ts';

const WIDTH = 900;
const PANEL_HEIGHT = 130;
const LEFT = 60;
const TOP = 24;
const BOTTOM = 18;
const COLORS = ['#1f6fb2', '#c2410c', '#15803d', '#7c3aed'];

type Point = readonly [atMs: number, value: number];

interface Line {
  name: string;
  color: number;
  points: readonly Point[];
}

export function curvesOf(evidence: SoakEvidence): string {
  const { disturbances, processes, shared } = evidence;
  const lastMs = Math.max(1, ...shared.map(({ atMs }) => atMs));
  const ofProcesses = (of: (sample: ProcessSample) => number | null): Line[] => linesOf(processes, of);
  const folders = [...new Set(shared.flatMap(({ storeMebibytes }) => Object.keys(storeMebibytes)))];
  const panels: [title: string, lines: Line[]][] = [
    ['memory without mapped files, MiB', ofProcesses(({ memory }) => memory.anonymous)],
    ['memory with mapped files, MiB', ofProcesses(({ memory }) => memory.resident)],
    ['heap, MiB', ofProcesses(({ heapUsedMebibytes }) => heapUsedMebibytes)],
    ['open handles', ofProcesses(({ handles }) => Object.values(handles).reduce((sum, count) => sum + count, 0))],
    ['connections to Kafka', ofProcesses(({ connections }) => connections.kafka)],
    ['connections to the service', ofProcesses(({ connections }) => connections.service)],
    ['keys remembered', ofProcesses(({ keysRemembered }) => keysRemembered)],
    [
      'store on disk, MiB',
      folders.map((folder, color) => ({
        name: folder,
        color,
        points: shared.flatMap(({ atMs, storeMebibytes }): Point[] => {
          const size = storeMebibytes[folder];
          return size === undefined ? [] : [[atMs, size]];
        }),
      })),
    ],
    [
      'Kafka on disk, MiB',
      [
        {
          name: 'broker',
          color: 0,
          points: shared.flatMap(({ atMs, kafkaMebibytes }): Point[] =>
            kafkaMebibytes === null ? [] : [[atMs, kafkaMebibytes]],
          ),
        },
      ],
    ],
    ['event loop, 99th percentile, ms', ofProcesses(({ eventLoopP99Ms }) => eventLoopP99Ms)],
    ['lag, messages', ofProcesses(({ lagMessages }) => lagMessages)],
  ];
  const height = PANEL_HEIGHT * panels.length;
  const body = panels.map(([title, lines], index) =>
    panel(
      title,
      lines,
      index * PANEL_HEIGHT,
      lastMs,
      disturbances.map(({ atMs }) => atMs),
    ),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="11">\n${body.join('\n')}\n</svg>\n`;
}

/** A line for each process; those of one slot in one color. */
function linesOf(samples: readonly ProcessSample[], of: (sample: ProcessSample) => number | null): Line[] {
  const slots = [...new Set(samples.map(({ slot }) => slot))].sort();
  return livesOf(samples).map((life) => ({
    name: life[0]?.slot ?? '',
    color: slots.indexOf(life[0]?.slot ?? ''),
    points: life.flatMap((sample): Point[] => {
      const value = of(sample);
      return value === null ? [] : [[sample.atMs, value]];
    }),
  }));
}

function panel(title: string, lines: readonly Line[], top: number, lastMs: number, marksMs: readonly number[]): string {
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const bottom = top + PANEL_HEIGHT - BOTTOM;
  const xOf = (atMs: number): string => (LEFT + (atMs / lastMs) * (WIDTH - LEFT - 10)).toFixed(1);
  const yOf = (value: number): string => (bottom - (value / most) * (PANEL_HEIGHT - TOP - BOTTOM)).toFixed(1);
  const names = [...new Map(lines.map(({ color, name }) => [name, color]))];
  return [
    `<text x="${LEFT}" y="${top + 14}" font-weight="bold">${title}</text>`,
    ...names.map(
      ([name, color], index) =>
        `<text x="${WIDTH - 60 - 50 * index}" y="${top + 14}" fill="${colorOf(color)}">${name}</text>`,
    ),
    ...marksMs.map(
      (atMs) => `<line x1="${xOf(atMs)}" x2="${xOf(atMs)}" y1="${top + TOP}" y2="${bottom}" stroke="#ddd"/>`,
    ),
    `<line x1="${LEFT}" x2="${WIDTH - 10}" y1="${bottom}" y2="${bottom}" stroke="#888"/>`,
    `<text x="${LEFT - 6}" y="${top + TOP + 8}" text-anchor="end">${most.toFixed(0)}</text>`,
    `<text x="${LEFT - 6}" y="${bottom}" text-anchor="end">0</text>`,
    `<text x="${WIDTH - 10}" y="${bottom + 12}" text-anchor="end">${(lastMs / 60_000).toFixed(0)} min</text>`,
    ...lines.map(
      ({ color, points }) =>
        `<polyline fill="none" stroke="${colorOf(color)}" points="${points.map(([atMs, value]) => `${xOf(atMs)},${yOf(value)}`).join(' ')}"/>`,
    ),
  ].join('\n');
}

function colorOf(index: number): string {
  return COLORS[index % COLORS.length] ?? '#000';
}
