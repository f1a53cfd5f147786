/** `lag`: what the processor has not admitted yet, by command topic and lane. */
import type { CliCommand } from '../cli-command.ts';
import type { LaneLag } from '../kafka/group-lag.ts';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_SETTING_NAMES, cliKafka, requireSettings } from '../context.ts';
import { isoOf } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import { heldText, readHeldBack } from '../held-back.ts';
import { readLagWithAge, type AgedLag } from '../lag-age.ts';
import { textTable } from '../output.ts';

export function addLagCommand(program: CliCommand): void {
  program
    .command('lag')
    .description('print how many commands the group has not admitted yet, by topic and lane; commits nothing')
    .details(
      `
Settings: KAFKA_BROKERS, KAFKA_GROUP_ID, TOPIC_PREFIX. Commands that are admitted and unfinished are not lag:
the processor's own page and metrics count them by state. The last column is the age of the oldest command that waits.
Lag counts up to the last committed record: what a publisher's open transaction hides is in no lag, and said apart.

Examples:
  $ npm run cli -- lag
  $ npm run --silent cli -- --output json lag | jq -s 'map(.lag) | add'`,
    )
    .runs(async (output) => {
      const settings = requireSettings([...CLI_SETTING_NAMES, 'KAFKA_GROUP_ID']);
      const topics = Object.values(topicNames(settings.TOPIC_PREFIX).commands);
      const kafka = cliKafka(settings);
      const [{ lanes, missing }, held] = await Promise.all([
        readLagWithAge(kafka, settings, topics),
        readHeldBack(kafka, topics),
      ]);
      if (lanes.length === 0) {
        throw new CliFailure(
          'notFound',
          `no command topic of TOPIC_PREFIX=${settings.TOPIC_PREFIX} exists: run \`npm run cli -- topics create\``,
        );
      }
      for (const topic of missing) output.note(`topic ${topic} does not exist`);
      for (const partition of held) output.note(heldText(partition));
      if (output.format === 'json') lanes.forEach((lane) => output.document(documentOf(lane, Date.now()), ''));
      else output.document({}, lagTable(lanes, Date.now()));
    });
}

function documentOf({ oldestTimestampMs, ...lane }: AgedLag, nowMs: number): object {
  if (oldestTimestampMs === null) return { ...lane, oldestTimestamp: null, oldestSeconds: null };
  return { ...lane, oldestTimestamp: isoOf(oldestTimestampMs), oldestSeconds: ageSeconds(oldestTimestampMs, nowMs) };
}

/** One row per topic, one column per lane. */
function lagTable(lanes: readonly AgedLag[], nowMs: number): string[] {
  const laneNumbers = [...new Set(lanes.map(({ lane }) => lane))].sort((left, right) => left - right);
  const topics = [...new Set(lanes.map(({ topic }) => topic))];
  const sum = (of: readonly LaneLag[]): string => of.reduce((total, { lag }) => total + lag, 0n).toString();
  const oldest = (of: readonly AgedLag[]): string => {
    const timestamps = of.map(({ oldestTimestampMs }) => oldestTimestampMs).filter((ms) => ms !== null);
    return timestamps.length === 0 ? '' : `${ageSeconds(Math.min(...timestamps), nowMs)} s`;
  };
  const row = (name: string, of: readonly AgedLag[]): string[] => [
    name,
    ...laneNumbers.map((number) => sum(of.filter(({ lane }) => lane === number))),
    sum(of),
    oldest(of),
  ];
  return textTable(
    ['topic', ...laneNumbers.map((lane) => `lane ${lane}`), 'all', 'oldest'],
    [
      ...topics.map((name) =>
        row(
          name,
          lanes.filter(({ topic }) => topic === name),
        ),
      ),
      row('all', lanes),
    ],
  );
}

/** Timestamps are the brokers'; one ahead of our clock is no negative age. */
function ageSeconds(timestampMs: number, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - timestampMs) / 1000));
}
