/** `dead-letters list`, `show` and `redrive`: messages that could not be processed. */
import { Option, type Command } from 'commander';
import { firstRecordsFrom, type RawRecord } from '../../consumers/outside/record-at.ts';
import { openTopicReader } from '../../consumers/outside/topic-reader.ts';
import { partitionOffsets } from '../../consumers/partition-offsets.ts';
import { withAdmin } from '../../producers/admin-session.ts';
import type { DeadLetterReason } from '../../producers/dead-letters.ts';
import { KAFKA_SETTING_NAMES, type KafkaSettings } from '../../producers/kafka-client.ts';
import { topicNames } from '../../records/topics.ts';
import { confirm } from '../confirm.ts';
import { cliKafka, outputOf, requireSettings, untilInterrupted } from '../context.ts';
import { letterDocument, letterText, summaryOf, summaryText } from '../dead-letter.ts';
import { CliFailure } from '../exit-codes.ts';
import { readEntry } from '../ledger-entries.ts';
import { wholeLetter } from '../letter-original.ts';
import { systemUser } from '../operator-name.ts';
import { claimRedrive, letterName, noteOf, noteText, readNotes, type RedriveNote } from '../redrive-notes.ts';
import { foresight, republish, targetOf } from '../redrive.ts';

const REASONS: readonly DeadLetterReason[] = [
  'UNREADABLE',
  'UNKNOWN_SCHEMA',
  'NO_KEY',
  'INVALID_KEY',
  'TOO_LARGE',
  'SET_ASIDE',
  'REFUSED_DECISION',
];

const PLACE_HELP = 'partition/offset as `list` shows it, or topic/partition/offset';

export function addDeadLettersCommand(program: Command): void {
  const deadLetters = program
    .command('dead-letters')
    .description('look at messages that could not be processed, and publish them again');
  addList(deadLetters);
  addShow(deadLetters);
  addRedrive(deadLetters);
}

function addList(deadLetters: Command): void {
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
      const notes = await readNotes(settings);
      const reader = await openTopicReader(cliKafka(settings), {
        topics: [topicNames(settings.TOPIC_PREFIX).deadLetters],
        start: { from: 'beginning' },
        untilEnd: true,
        groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
        onRecord: (record) => {
          const letter = summaryOf(record);
          if (noteOf(record) !== null || (options.reason ?? letter.reason) !== letter.reason) return;
          const redriven = notes.get(letterName(record)) ?? [];
          output.document({ ...letter, redriven: redriven.map(noteDocument) }, summaryText(letter, redriven));
        },
      });
      try {
        await untilInterrupted(reader.ended);
      } finally {
        await reader.close();
      }
    });
}

function addShow(deadLetters: Command): void {
  deadLetters
    .command('show')
    .description('print one dead letter with its headers and its bytes, which may hold account data')
    .argument('<place>', PLACE_HELP)
    .addHelpText(
      'after',
      `
Settings: KAFKA_BROKERS, TOPIC_PREFIX. Exits with 3 when there is no dead letter at that place.

Examples:
  $ npm run cli -- dead-letters show 2/15
  $ npm run --silent cli -- --output json dead-letters show 2/15 | jq -r .valueHex | xxd -r -p`,
    )
    .action(async (place: string, _options: unknown, command: Command) => {
      const output = outputOf(command);
      const settings = requireSettings([...KAFKA_SETTING_NAMES, 'TOPIC_PREFIX']);
      const letter = await readLetter(settings, place);
      const redriven = (await readNotes(settings)).get(letterName(letter)) ?? [];
      output.document(
        { ...letterDocument(letter), redriven: redriven.map(noteDocument) },
        letterText(letter, redriven),
      );
    });
}

function addRedrive(deadLetters: Command): void {
  deadLetters
    .command('redrive')
    .description("publish one dead letter's message to its topic again: the same bytes, key and headers")
    .argument('<place>', PLACE_HELP)
    .option('--key <key>', 'publish it under this key, which must not be known yet')
    .option('--operator <name>', 'who redrives it; the name of the operating system user if not given')
    .option('--again-may-pay-twice', 'publish it although it was redriven before: its payment may be made twice', false)
    .option('--yes', 'do not ask; required where there is no terminal to ask at', false)
    .addHelpText(
      'after',
      `
What will happen is said first. A key that has its INVALID result already keeps it: such a message needs a new key.
A command that was set aside (FAILED) is run again by \`resolve KEY --decision RETRY\`.
Without a terminal and without --yes nothing is sent, and the exit code is 8. The dead letter itself stays, with a note
of who redrove it and as which key; a second time is refused with 7, unless --again-may-pay-twice is given.
Settings: KAFKA_BROKERS, TOPIC_PREFIX.

Examples:
  $ npm run cli -- dead-letters redrive 2/15
  $ npm run cli -- dead-letters redrive 2/15 --key order-17-again --yes
  $ npm run --silent cli -- --output json dead-letters redrive 2/15 --key order-17-again --yes | jq .offset`,
    )
    .action(async (place: string, options: RedriveFlags, command: Command) => {
      const output = outputOf(command);
      const operator = options.operator ?? systemUser();
      const settings = requireSettings([...KAFKA_SETTING_NAMES, 'TOPIC_PREFIX']);
      const buried = await readLetter(settings, place);
      const knownNotes = (await readNotes(settings)).get(letterName(buried)) ?? [];
      for (const note of knownNotes) output.note(`it was ${noteText(note)}`);
      const lastNote = knownNotes.at(-1);
      if (lastNote !== undefined && !options.againMayPayTwice) {
        throw new CliFailure(
          'refused',
          `the dead letter was ${noteText(lastNote)}: look with \`results --key ${lastNote.key}\`. Published again it may be paid twice; ` +
            'only with --again-may-pay-twice; nothing was sent',
        );
      }
      const letter = await wholeLetter(cliKafka(settings), `${settings.TOPIC_PREFIX}-cli`, buried);
      const target = targetOf(letter, topicNames(settings.TOPIC_PREFIX), options.key ?? null);
      const entry = await readEntry(settings, target.key);
      output.note(`to ${target.topic}, key ${target.key}, ${letter.value?.length ?? 0} bytes:`);
      for (const note of foresight(letter, target, entry, options.key !== undefined, Date.now()))
        output.note(`  ${note}`);
      await confirm('Publish this message again?', { yes: options.yes, withoutTerminal: 'decline' });
      await claimRedrive(settings, buried, { key: target.key, operator, knownNotes });
      const at = await republish(cliKafka(settings), letter, target);
      const { topic, key } = target;
      output.document(
        { topic, ...at, key, from: { topic: letter.topic, partition: letter.partition, offset: letter.offset } },
        `published ${key} (${topic}, partition ${at.partition}, offset ${at.offset})`,
      );
      output.note(`look with \`results --key ${key}\``);
    });
}

interface RedriveFlags {
  key?: string;
  operator?: string;
  againMayPayTwice: boolean;
  yes: boolean;
}

function noteDocument({ key, operator, timestamp }: RedriveNote): object {
  return { key, operator, timestamp };
}

async function readLetter(
  settings: KafkaSettings & { readonly TOPIC_PREFIX: string },
  place: string,
): Promise<RawRecord> {
  const topic = topicNames(settings.TOPIC_PREFIX).deadLetters;
  const match = /^(?:(.+)\/)?(\d{1,4})\/(\d{1,18})$/.exec(place);
  if (match === null) throw new CliFailure('usage', `${place} is no place: give ${PLACE_HELP}`);
  if (match[1] !== undefined && match[1] !== topic) {
    throw new CliFailure('usage', `${match[1]} is not the topic of the dead letters, ${topic}: see TOPIC_PREFIX`);
  }
  const partition = Number(match[2]);
  const offset = BigInt(match[3] ?? '');
  const kafka = cliKafka(settings);
  const bounds = await withAdmin(kafka, async (admin) => {
    if (!(await admin.listTopics()).includes(topic)) {
      throw new CliFailure('notFound', `topic ${topic} does not exist: run \`npm run cli -- topics create\``);
    }
    return (await partitionOffsets(admin, topic)).get(partition);
  });
  const endOffset = bounds?.high ?? 0n;
  const isThere = offset >= (bounds?.low ?? 0n);
  const places = isThere ? [{ topic, partition, offset, endOffset }] : [];
  const [record] = (await firstRecordsFrom(kafka, `${settings.TOPIC_PREFIX}-cli`, places)).values();
  if (record?.offset !== offset) {
    throw new CliFailure(
      'notFound',
      `there is no dead letter at ${topic}, partition ${partition}, offset ${offset}: see \`dead-letters list\``,
    );
  }
  const headers = Object.fromEntries(
    Object.entries(record.headers).map(([name, [first]]) => [name, first?.toString() ?? '']),
  );
  const note = noteOf({ ...record, headers });
  if (note !== null) {
    throw new CliFailure(
      'notFound',
      `there is no dead letter at ${place}, but a note on ${letterName({ partition: note.partition, offset: note.letterOffset })}: it was ${noteText(note)}`,
    );
  }
  return record;
}
