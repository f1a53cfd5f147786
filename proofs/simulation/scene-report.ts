/** The figures of a scene, from what publishers and subscribers saw; its report, and that as a text. Pure. */
import type { TopicNames } from 'payment-processor-contract/topics';
import { spreadOf, type Spread } from '../spread.ts';
import type { SceneName } from './scene-options.ts';
import type { SimulatedBroker } from './simulated-broker.ts';
import { headerText } from './simulated-log.ts';

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

/** A command of the scene, as publisher and subscriber saw it. */
interface TimedCommand {
  readonly lane: number;
  readonly publishedMs: number;
  /** Null: not answered. */
  readonly answeredMs: number | null;
}

/** All that was published. */
export function timedCommands(broker: SimulatedBroker, topics: TopicNames): TimedCommand[] {
  const answers = broker.logs(topics.results).flatMap((log) => log.committed());
  const answeredMs = new Map(answers.map((record) => [headerText(record, 'in-reply-to'), record.writtenMs]));
  return Object.values(topics.commands).flatMap((topic) =>
    broker.logs(topic).flatMap((log, lane) =>
      log.all.map((record) => ({
        lane,
        publishedMs: record.writtenMs,
        answeredMs: answeredMs.get(headerText(record, 'ce_id')) ?? null,
      })),
    ),
  );
}

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
