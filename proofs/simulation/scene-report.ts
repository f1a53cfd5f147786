/** The report of a scene, and its text. Pure. */
import type { Spread } from '../spread.ts';
import type { SceneName } from './scene-options.ts';

export interface SceneReport {
  readonly scene: SceneName;
  /** Broken promises, in words; empty: all held. */
  readonly wrong: readonly string[];
  readonly commands: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** From publishing to answer, ms: for commands published before the scene's event, and since it began. */
  readonly answeredBeforeMs: Spread;
  readonly answeredSinceMs: Spread;
  /** From the end of a lane's process, or of the outage, to the lane's next result, ms. */
  readonly nextResultMs: Spread;
  /** How often a lane was taken by another process. */
  readonly takeOvers: number;
  /** Losses of lanes whose process lived on. */
  readonly lanesLost: Readonly<Record<string, number>>;
  /** The most waiting commands, and how long after the event's end until all commands published by then were answered. */
  readonly waitingMost: number;
  readonly drainedMs: number;
  /** The most calls to the service in one second: before the event, and after its end. */
  readonly callsPerSecondBefore: number;
  readonly callsPerSecondAfter: number;
  readonly virtualMs: number;
  readonly events: number;
}

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
