/** What a scene tells, and as text. Pure. */
import type { Spread } from '../spread.ts';
import type { SceneName } from './scene-options.ts';

export interface SceneReport {
  readonly scene: SceneName;
  /** Broken promises, in words; empty: all held. */
  readonly wrong: readonly string[];
  readonly commands: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** From publishing to answer, ms: before, and of all that was published from its beginning on. */
  readonly answeredBeforeMs: Spread;
  readonly answeredSinceMs: Spread;
  /** Lanes whose next result is waited for: from the end of their process, or of the outage, ms. */
  readonly nextResultMs: Spread;
  /** Lanes that were taken by another process, once for each time. */
  readonly takeOvers: number;
  /** Of lanes whose process lived on. */
  readonly lanesLost: Readonly<Record<string, number>>;
  /** Most that were waiting, and how long after the scene's end until all that was published by then was answered. */
  readonly waitingMost: number;
  readonly drainedMs: number;
  /** Calls of the service in one second, at most: before, and from the scene's end on. */
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
