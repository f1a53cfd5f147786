/** `lag`: what the processor has not admitted yet, by command topic and lane. */
import type { Command } from 'commander';
import { readGroupLag, type LaneLag } from '../../consumers/group-lag.ts';
import { KAFKA_SETTING_NAMES } from '../../producers/kafka-client.ts';
import { topicNames } from '../../records/topics.ts';
import { cliKafka, outputOf, requireSettings } from '../context.ts';
import { CliFailure } from '../exit-codes.ts';
import { textTable } from '../output.ts';

export function addLagCommand(program: Command): void {
  program
    .command('lag')
    .description('print how many commands the group has not admitted yet, by topic and lane; commits nothing')
    .addHelpText(
      'after',
      `
Settings: KAFKA_BROKERS, KAFKA_GROUP_ID, TOPIC_PREFIX. Commands that are admitted and unfinished are not lag:
the processor's own page and metrics count them by state.

Examples:
  $ npm run cli -- lag
  $ npm run --silent cli -- --output json lag | jq -s 'map(.lag) | add'`,
    )
    .action(async (_options: unknown, command: Command) => {
      const output = outputOf(command);
      const settings = requireSettings([...KAFKA_SETTING_NAMES, 'KAFKA_GROUP_ID', 'TOPIC_PREFIX']);
      const topics = Object.values(topicNames(settings.TOPIC_PREFIX).commands);
      const { lanes, missing } = await readGroupLag(cliKafka(settings), settings.KAFKA_GROUP_ID, topics);
      if (lanes.length === 0) {
        throw new CliFailure(
          'notFound',
          `no command topic of TOPIC_PREFIX=${settings.TOPIC_PREFIX} exists: run \`npm run cli -- topics create\``,
        );
      }
      for (const topic of missing) output.note(`topic ${topic} does not exist`);
      if (output.format === 'json') lanes.forEach((lane) => output.document(lane, ''));
      else output.document({}, lagTable(lanes));
    });
}

/** One row per topic, one column per lane. */
function lagTable(lanes: readonly LaneLag[]): string {
  const laneNumbers = [...new Set(lanes.map(({ lane }) => lane))].sort((left, right) => left - right);
  const topics = [...new Set(lanes.map(({ topic }) => topic))];
  const sum = (of: readonly LaneLag[]): string => of.reduce((total, { lag }) => total + lag, 0n).toString();
  const row = (name: string, of: readonly LaneLag[]): string[] => [
    name,
    ...laneNumbers.map((number) => sum(of.filter(({ lane }) => lane === number))),
    sum(of),
  ];
  return textTable(
    ['topic', ...laneNumbers.map((lane) => `lane ${lane}`), 'all'],
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
