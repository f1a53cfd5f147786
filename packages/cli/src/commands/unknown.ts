/** `unknown list`: the results that wait for an operator's decision, with the commands that come next. Reads alone. */
import type { CliCommand } from '../cli-command.ts';
import { CLIENT_SETTING_NAMES, createRegistry } from 'payment-processor-client/internal/settings';
import type { RecordRegistry } from 'payment-processor-contract/registry';
import { topicNames } from 'payment-processor-contract/topics';
import type { CommandError, CommandResult } from 'payment-processor-contract/types';
import { requireSettings } from '../context.ts';
import { durationOption, wholeNumber } from '../option-values.ts';
import { unknownDocument, unknownText } from '../unknown-output.ts';
import { readUnknownResults } from '../unknown-results.ts';
import { requireAllRead } from '../whole-topics.ts';

const READ_FOR_DEFAULT = '2m';
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 10_000;

export function addUnknownCommand(program: CliCommand): void {
  const unknown = program.command('unknown').description('look at results that are UNKNOWN and want a decision');
  unknown
    .command('list')
    .description('list them, oldest first: key, transaction, first call, age, why, and the commands that come next')
    .option('--limit <number>', 'how many are shown, the oldest', wholeNumber(1, LIMIT_MAX), LIMIT_DEFAULT)
    .addOption(durationOption('--read-for <duration>', 'longest time of the reading', READ_FOR_DEFAULT))
    .details(
      `
Read from the ledger topic, all lanes, whoever owns them. Account numbers and personal data in messages are masked.
The \`resolve\` line decides nothing as it stands: put in the decision and the reason (docs/runbooks/unknown-results.md).
Exits with 0 when there are none, with 1 when not all could be read. Settings: KAFKA_BROKERS, SCHEMA_REGISTRY_URL, TOPIC_PREFIX.

Examples:
  $ npm run cli -- unknown list
  $ npm run --silent cli -- --output json unknown list | jq -r '[.ageSeconds, .key, .transactionId] | @tsv'`,
    )
    .runs(async (output, { limit, readFor }: { limit: number; readFor: number }) => {
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const { cuts, results } = await readUnknownResults(settings, readFor);
      const registry = createRegistry(settings);
      const { results: topic } = topicNames(settings.TOPIC_PREFIX);
      const nowMs = Date.now();
      let unread = 0;
      for (const result of results.slice(0, limit)) {
        const error = await errorOf(registry, topic, result.value);
        if (error === null) unread += 1;
        output.document(unknownDocument(result, error, nowMs), unknownText(result, error, nowMs));
      }
      if (results.length > limit) output.note(`${results.length - limit} more are not shown (--limit)`);
      if (unread > 0) output.note(`why they are UNKNOWN could not be read of ${unread}: see the schema registry`);
      requireAllRead(cuts);
      if (results.length === 0) output.note('no result is UNKNOWN');
    });
}

/** Null where the registry does not answer, or the result is not one of this release. */
async function errorOf(registry: RecordRegistry, topic: string, value: Buffer): Promise<CommandError | null> {
  const decoded = await registry.decode(topic, value);
  return decoded.kind === 'record' ? (decoded.value as CommandResult).error : null;
}
