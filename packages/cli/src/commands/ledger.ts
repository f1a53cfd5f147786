/** `ledger show KEY`: the ledger records of one command that compaction has not removed. */
import type { CliCommand } from '../cli-command.ts';
import type { Entry } from '../../../../src/ledger/entry.ts';
import { CLI_SETTING_NAMES, requireKey, requireSettings } from '../context.ts';
import { isoOf } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import { noEntryText, phaseText, readEntryRecords, type EntryRecord } from '../ledger.ts';
import { exitOnClosedOutput } from '../output.ts';
import { requireAllRead } from '../topic-reading.ts';

export function addLedgerCommand(program: CliCommand): void {
  const ledger = program.command('ledger').description('inspect the ledger of commands');
  ledger
    .command('show')
    .description("print the states of one command's ledger entry, oldest first; the last line is the current one")
    .argument('<key>', "the command's key")
    .details(
      `
The topic is compacted, so earlier states may be gone. It reads the whole lane, which takes a while if the ledger has many
keys. Exits with 3 when the key is not known. Settings: KAFKA_BROKERS, TOPIC_PREFIX.

Examples:
  $ npm run cli -- ledger show order-17
  $ npm run --silent cli -- --output json ledger show order-17 | tail -1 | jq .entry.phase.state`,
    )
    .runs(async (output, key: string) => {
      exitOnClosedOutput();
      requireKey(key);
      const settings = requireSettings(CLI_SETTING_NAMES);
      let found = 0;
      const hidden = await readEntryRecords(settings, key, (record) => {
        found += 1;
        const { lane, offset, timestampMs, entry } = record;
        const document = { key, lane, offset, timestamp: isoOf(timestampMs), entry: entryDocument(entry) };
        output.document(document, recordText(record));
      });
      requireAllRead(hidden);
      if (found === 0) {
        throw new CliFailure('notFound', noEntryText(settings, key));
      }
    });
}

/** The entry as JSON; the bytes of its result as base64. */
function entryDocument(entry: Entry | null): object | null {
  if (entry?.phase.state !== 'DONE') return entry;
  const { value, headers } = entry.phase.result;
  return { ...entry, phase: { ...entry.phase, result: { headers, valueBase64: value.toString('base64') } } };
}

function recordText({ offset, timestampMs, entry }: EntryRecord): string {
  const timestamp = isoOf(timestampMs);
  if (entry === null) return `${timestamp}  offset ${offset}  (forgotten)`;
  return `${timestamp}  offset ${offset}  ${entry.phase.state.padEnd(8)}  ${entry.commandType}  ${phaseText(entry)}`.trimEnd();
}
