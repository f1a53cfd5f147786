/** `dead-letters list`: messages that could not be read or were set aside. Values are left out: they may hold account data. */
import { Option, type Command } from 'commander';
import { openTopicReader, type TopicRecord } from '../../consumers/topic-reader.ts';
import { KAFKA_SETTING_NAMES } from '../../producers/kafka-client.ts';
import { topicNames } from '../../records/topics.ts';
import { cliKafka, outputOf, requireSettings, untilInterrupted } from '../context.ts';
import { isoOf } from '../event-output.ts';

const REASONS = ['UNREADABLE', 'UNKNOWN_SCHEMA', 'NO_KEY', 'INVALID_KEY', 'TOO_LARGE', 'SET_ASIDE'];

export function addDeadLettersCommand(program: Command): void {
  const deadLetters = program.command('dead-letters').description('look at messages that could not be processed');
  deadLetters
    .command('list')
    .description('list the dead letters, oldest first by lane; their values are not printed')
    .addOption(new Option('--reason <reason>', 'those with this reason alone').choices(REASONS))
    .addHelpText(
      'after',
      `
Settings: KAFKA_BROKERS, TOPIC_PREFIX.

Examples:
  $ npm run cli -- dead-letters list
  $ npm run --silent cli -- --output json dead-letters list --reason UNREADABLE | jq -r .key`,
    )
    .action(async (options: { reason?: string }, command: Command) => {
      const output = outputOf(command);
      const settings = requireSettings([...KAFKA_SETTING_NAMES, 'TOPIC_PREFIX']);
      const reader = await openTopicReader(cliKafka(settings), {
        topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
        start: { from: 'beginning' },
        untilEnd: true,
        groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
        onRecord: (record) => {
          const letter = deadLetterOf(record);
          if (options.reason === undefined || options.reason === letter.reason)
            output.document(letter, letterText(letter));
        },
      });
      try {
        await untilInterrupted(reader.ended);
      } finally {
        await reader.close();
      }
    });
}

type Letter = ReturnType<typeof deadLetterOf>;

function deadLetterOf(record: TopicRecord) {
  const { headers } = record;
  return {
    partition: record.partition,
    offset: record.offset,
    timestamp: isoOf(record.timestampMs),
    reason: headers['dlq-reason'] ?? null,
    message: headers['dlq-message'] ?? null,
    /** Null: the message had no key, or one that is not text. */
    key: record.key === null ? null : textOf(record.key),
    keyBase64: record.key?.toString('base64') ?? null,
    valueBytes: record.value?.length ?? null,
    source: {
      topic: headers['dlq-topic'] ?? null,
      partition: headers['dlq-partition'] ?? null,
      offset: headers['dlq-offset'] ?? null,
      timestamp: headers['dlq-timestamp'] ?? null,
    },
  };
}

/** The bytes as text if a terminal can show them, else null. */
function textOf(bytes: Buffer): string | null {
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) && !/\p{Cc}/u.test(text) ? text : null;
}

function letterText(letter: Letter): string {
  const { source } = letter;
  const key = letter.keyBase64 === null ? '(no key)' : (letter.key ?? `base64:${letter.keyBase64}`);
  const place = `${source.topic ?? '?'}, partition ${source.partition ?? '?'}, offset ${source.offset ?? '?'}`;
  return `${letter.timestamp}  ${(letter.reason ?? '?').padEnd(14)}  ${key}  from ${place}  (dead letter ${letter.partition}/${letter.offset})  ${letter.message ?? ''}`;
}
