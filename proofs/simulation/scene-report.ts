/** The report of a scene as text. Pure. */
import type { Spread } from '../spread.ts';
import type { SceneReport } from './scene.ts';

const WRONGS_SHOWN_MAX = 20;

export function textOf(report: SceneReport): string {
  const { lanesLost, outcomes, wrong } = report;
  const rows: [string, string][] = [
    ['scene', report.scene],
    ['commands', `${report.commands}: ${listed(outcomes)}`],
    ['answered before', spreadText(report.answeredBeforeMs)],
    ['answered from then on', spreadText(report.answeredSinceMs)],
    [`next result, ${report.nextResultMs.count} lanes`, spreadText(report.nextResultMs)],
    ['lanes taken', String(report.takeOvers)],
    ['lanes lost', listed(lanesLost) || 'none'],
    ['waiting at most', String(report.waitingMost)],
    ['drained after', seconds(report.drainedMs)],
    ['calls a second', `${report.callsPerSecondBefore} before, at most ${report.callsPerSecondAfter} afterwards`],
    ['virtual time', `${seconds(report.virtualMs)}, ${report.events} events`],
  ];
  return [
    ...rows.map(([name, value]) => `${name.padEnd(26)}${value}`),
    wrong.length === 0 ? 'All promises held.' : `${wrong.length} broken:`,
    ...wrong.slice(0, WRONGS_SHOWN_MAX).map((line) => `  ${line}`),
  ].join('\n');
}

function spreadText({ max, p50, p99 }: Spread): string {
  return `median ${seconds(p50)}, 99 % ${seconds(p99)}, longest ${seconds(max)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}
