/** `ledger show KEY`: what the ledger holds of one command, as far back as compaction left it. */
import type { Command } from 'commander';
import { openTopicReader, type TopicRecord } from '../../consumers/topic-reader.ts';
import type { Entry } from '../../ledger/entry.ts';
import { decodeEntry, ENTRY_PREFIX, LedgerFormatError } from '../../ledger/ledger-records.ts';
import { KAFKA_SETTING_NAMES } from '../../producers/kafka-client.ts';
import { keyProblem } from '../../records/keys.ts';
import { topicNames } from '../../records/topics.ts';
import { cliKafka, outputOf, requireSettings, untilInterrupted } from '../context.ts';
import { isoOf } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';

export function addLedgerCommand(program: Command): void {
  const ledger = program.command('ledger').description('look into the ledger of commands');
  ledger
    .command('show')
    .description("print the states of one command's ledger entry, oldest first; the last line is the current one")
    .argument('<key>', "the command's key")
    .addHelpText(
      'after',
      `
Settings: KAFKA_BROKERS, TOPIC_PREFIX. The topic is compacted: earlier states may be gone.
The whole lane is read, so this takes a while where many keys are remembered. Exits with 3 when the key is not known.

Examples:
  $ npm run cli -- ledger show order-17
  $ npm run --silent cli -- --output json ledger show order-17 | tail -1 | jq .entry.phase.state`,
    )
    .action(async (key: string, _options: unknown, command: Command) => {
      const output = outputOf(command);
      const problem = keyProblem(key);
      if (problem !== null) throw new CliFailure('usage', problem);
      const settings = requireSettings([...KAFKA_SETTING_NAMES, 'TOPIC_PREFIX']);
      const ledgerTopic = topicNames(settings.TOPIC_PREFIX).ledger;
      let found = 0;
      const reader = await openTopicReader(cliKafka(settings), {
        topics: [ledgerTopic],
        start: { from: 'beginning' },
        untilEnd: true,
        laneOfKey: key,
        groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
        onRecord: (record) => {
          if (record.key?.toString() !== `${ENTRY_PREFIX}${key}`) return;
          found += 1;
          const state = stateOf(record);
          output.document(
            { key, lane: record.partition, ...state, entry: entryDocument(state.entry) },
            stateText(state),
          );
        },
      });
      try {
        await untilInterrupted(reader.ended);
      } finally {
        await reader.close();
      }
      if (found === 0) {
        throw new CliFailure(
          'notFound',
          `the ledger has no entry of ${key} (${ledgerTopic}): it was not admitted yet (see \`lag\`), or is forgotten since LEDGER_RETENTION`,
        );
      }
    });
}

interface EntryState {
  offset: bigint;
  timestamp: string;
  /** Null: forgotten from here on. */
  entry: Entry | null;
}

function stateOf(record: TopicRecord): EntryState {
  const place = { offset: record.offset, timestamp: isoOf(record.timestampMs) };
  if (record.value === null) return { ...place, entry: null };
  try {
    return { ...place, entry: decodeEntry(record.value) };
  } catch (error) {
    if (!(error instanceof LedgerFormatError)) throw error;
    throw new CliFailure(
      'failed',
      `${error.message} (offset ${record.offset}): use the tool of the processor's release`,
    );
  }
}

/** The entry as JSON; the bytes of its result as base64. */
function entryDocument(entry: Entry | null): object | null {
  if (entry?.phase.state !== 'DONE') return entry;
  const { value, headers } = entry.phase.result;
  return { ...entry, phase: { ...entry.phase, result: { headers, valueBase64: value.toString('base64') } } };
}

function stateText({ offset, timestamp, entry }: EntryState): string {
  if (entry === null) return `${timestamp}  offset ${offset}  (forgotten)`;
  return `${timestamp}  offset ${offset}  ${entry.phase.state.padEnd(8)}  ${entry.commandType}  ${phaseText(entry)}`.trimEnd();
}

function phaseText({ phase, waits }: Entry): string {
  switch (phase.state) {
    case 'INTENT':
      return `attempt ${phase.attemptId} since ${isoOf(phase.atMs)}, deadline ${phase.timeoutMs} ms`;
    case 'PARKED':
      return `until ${isoOf(phase.untilMs)}, wait ${waits}: ${phase.reason}`;
    case 'DOUBTFUL':
      return `to be settled from ${isoOf(phase.settleAtMs)}: ${phase.reason}`;
    case 'QUOTED':
      return 'the quote is recorded, its execution follows';
    case 'DONE':
      return phase.outcome;
  }
}
