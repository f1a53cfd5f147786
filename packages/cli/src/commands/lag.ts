/** `lag`: commands that the processor has not admitted yet, by topic and lane. */
import type { CliCommand } from '../cli-command.ts';
import { TopicsMissingError } from 'payment-processor-client/internal/kafka/topic-bounds';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_SETTING_NAMES, cliKafka, requireSettings } from '../context.ts';
import { ageSeconds } from '../age-text.ts';
import { isoOf } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import { textTable } from '../output.ts';
import { deletedText, heldText, readHeldBack, readLag, sumOf, type LaneLag } from '../lag.ts';

export function addLagCommand(program: CliCommand): void {
  program
    .command('lag')
    .description('print how many commands the processors have not admitted yet, by topic and lane')
    .details(
      `
Admitted commands without a result are not lag: the processor's page and metrics count them by state. The last column is
the age of the oldest waiting command. Messages behind a publisher's open transaction are not counted, but listed separately.
It changes nothing. Settings: KAFKA_BROKERS, KAFKA_GROUP_ID, TOPIC_PREFIX.

Examples:
  $ npm run cli -- lag
  $ npm run --silent cli -- --output json lag | jq -s 'map(.lag) | add'`,
    )
    .runs(async (output) => {
      const settings = requireSettings([...CLI_SETTING_NAMES, 'KAFKA_GROUP_ID']);
      const { commands } = topicNames(settings.TOPIC_PREFIX);
      const topics = Object.values(commands);
      const kafka = cliKafka(settings);
      const [{ lanes, missing }, held] = await Promise.all([
        readLag(kafka, settings, topics),
        readHeldBack(kafka, topics),
      ]);
      if (lanes.length === 0) {
        throw new CliFailure(
          'notFound',
          `no command topic of TOPIC_PREFIX=${settings.TOPIC_PREFIX} exists: run \`npm run cli -- topics create\``,
        );
      }
      for (const text of [...lanes.flatMap(deletedText), ...held.map(heldText)]) output.note(text);
      if (output.format === 'json') lanes.forEach((lane) => output.document(documentOf(lane, Date.now()), ''));
      else output.document({}, lagTable(lanes, Date.now()));
      const unseen = missing.filter((topic) => topic !== commands['simulate-uma-receive']);
      if (unseen.length > 0) throw new CliFailure('failed', `not counted: ${new TopicsMissingError(unseen).message}`);
    });
}

function documentOf({ oldestTimestampMs, ...lane }: LaneLag, nowMs: number): object {
  if (oldestTimestampMs === null) return { ...lane, oldestTimestamp: null, oldestSeconds: null };
  return { ...lane, oldestTimestamp: isoOf(oldestTimestampMs), oldestSeconds: ageSeconds(oldestTimestampMs, nowMs) };
}

/** One row per topic, one column per lane. */
function lagTable(lanes: readonly LaneLag[], nowMs: number): string[] {
  const laneNumbers = [...new Set(lanes.map(({ lane }) => lane))].sort((left, right) => left - right);
  const rows = [...Map.groupBy(lanes, ({ topic }) => topic), ['all', lanes] as const].map(([name, of]) => {
    const { oldestTimestampMs, total } = sumOf(of);
    return [
      name,
      ...laneNumbers.map((number) => String(sumOf(of.filter(({ lane }) => lane === number)).total)),
      String(total),
      oldestTimestampMs === null ? '' : `${ageSeconds(oldestTimestampMs, nowMs)} s`,
    ];
  });
  return textTable(['topic', ...laneNumbers.map((lane) => `lane ${lane}`), 'all', 'oldest'], rows);
}
