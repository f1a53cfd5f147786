/** `topics create` and `topics check`. */
import type { CliCommand } from '../cli-command.ts';
import { KAFKA_SETTING_NAMES } from 'payment-processor-contract/kafka/kafka-client';
import { createTopics, type TopicCreation } from '../kafka/topic-creation.ts';
import { checkTopics } from '../../../../src/producers/topic-admin.ts';
import { TOPIC_SETTING_NAMES } from 'payment-processor-contract/topic-definitions';
import { cliKafka, requireSettings } from '../context.ts';
import { CliFailure } from '../exit-codes.ts';
import { wholeNumber } from '../option-values.ts';
import type { Output } from '../output.ts';

const REPLICATION_FACTOR_MAX = 10;

export function addTopicsCommand(program: CliCommand): void {
  const topics = program.command('topics').description('create and check the topics of the TOPIC_PREFIX');
  topics
    .command('create')
    .description('create the missing topics; check the existing ones without changing them')
    .option('--dry-run', 'show what it would create, with its configuration; create nothing', false)
    .option(
      '--replication-factor <number>',
      'replicas of each partition; default: 3, or the number of brokers if lower',
      wholeNumber(1, REPLICATION_FACTOR_MAX),
    )
    .option('--json-copies', 'also the topics that `mirror` writes', false)
    .details(
      `
Settings: KAFKA_BROKERS, TOPIC_PREFIX, LANES, LEDGER_RETENTION, COMMAND_MAX_AGE. LANES is fixed for the life of a prefix.

Examples:
  $ npm run cli -- topics create --dry-run
  $ LANES=24 npm run cli -- topics create --replication-factor 3`,
    )
    .runs(async (output, options: { dryRun: boolean; jsonCopies: boolean; replicationFactor?: number }) => {
      const settings = requireTopicSettings();
      const kafka = cliKafka(settings);
      const creations = await createTopics(kafka, settings, {
        replicationFactor: options.replicationFactor ?? null,
        dryRun: options.dryRun,
        jsonCopies: options.jsonCopies,
      });
      for (const creation of creations) output.document(creation, creationText(creation, options.dryRun));
      if (!settings.SANDBOX_COMMANDS) {
        output.note(
          'processors read the topic of simulate-uma-receive only with SANDBOX_COMMANDS=true; here SANDBOX_COMMANDS is off',
        );
      }
      if (!options.dryRun) await report(output, settings);
    });
  topics
    .command('check')
    .description('compare the topics with what the processor requires; changes nothing')
    .details(
      `
Prints one problem per line, and then exits with 6. With SANDBOX_COMMANDS=true the sandbox command's topic is required too.

Examples:
  $ npm run cli -- topics check
  $ npm run --silent cli -- --output json topics check | jq .message`,
    )
    .runs(async (output) => {
      await report(output, requireTopicSettings());
      output.note('all topics are as required');
    });
}

type AllTopicSettings = ReturnType<typeof requireTopicSettings>;

function requireTopicSettings() {
  const settings = requireSettings([...KAFKA_SETTING_NAMES, ...TOPIC_SETTING_NAMES, 'SANDBOX_COMMANDS']);
  const longestAgeMs = Math.max(...Object.values(settings.COMMAND_MAX_AGE));
  if (longestAgeMs >= settings.LEDGER_RETENTION) {
    throw new CliFailure('settings', 'LEDGER_RETENTION must be longer than the longest COMMAND_MAX_AGE');
  }
  return settings;
}

async function report(output: Output, settings: AllTopicSettings): Promise<void> {
  const problems = await checkTopics(cliKafka(settings), settings, { sandboxCommands: settings.SANDBOX_COMMANDS });
  for (const problem of problems) output.document(problem, problem.message);
  if (problems.length > 0) throw new CliFailure('problemsFound', `${problems.length} problems with the topics`);
}

function creationText(creation: TopicCreation, withConfiguration: boolean): string | string[] {
  if (creation.action === 'exists') return `exists    ${creation.topic}`;
  const made = creation.action === 'created' ? 'created ' : 'to create';
  const line = `${made.padEnd(9)} ${creation.topic} (${creation.partitions} partitions, replication factor ${creation.replicationFactor})`;
  if (!withConfiguration) return line;
  return [line, ...Object.entries(creation.configuration).map(([name, value]) => `            ${name}=${value}`)];
}
