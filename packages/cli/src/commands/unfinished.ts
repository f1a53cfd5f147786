/** `unfinished list`: admitted commands without a result, with the next step and its reason. Read-only. */
import { Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { isInDoubt, shownStateOf, type Entry } from '../../../../src/ledger/entry.ts';
import { mayBeUnfinished } from '../../../../src/ledger/ledger-value.ts';
import { ageSeconds, ageText } from '../age-text.ts';
import { CLI_SETTING_NAMES, cliKafka, requireSettings, type CliSettings } from '../context.ts';
import { CliFailure } from '../exit-codes.ts';
import { readBounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { topicNames } from 'payment-processor-contract/topics';
import { isoOf } from '../event-output.ts';
import { scanLedger, type ScannedEntry } from '../ledger.ts';
import { maskedText } from '../masking.ts';
import { limitOption, readForOption, wholeNumber } from '../option-values.ts';
import { requireAllRead } from '../topic-reading.ts';

const LANE_MAX = 999;

interface Flags {
  readonly lane?: number;
  readonly phase?: string;
  readonly limit?: number;
  readonly readFor: number;
}

export function addUnfinishedCommand(program: CliCommand): void {
  program
    .command('unfinished')
    .description('look at admitted commands that have no result yet')
    .command('list')
    .description('list them by lane, oldest first: key, age, phase, next step and reason')
    .option('--lane <number>', 'only this lane', wholeNumber(0, LANE_MAX))
    .addOption(new Option('--phase <phase>', 'only in this phase').choices(['INTENT', 'PARKED', 'DOUBTFUL', 'QUOTED']))
    .addOption(limitOption('how many to show; default: all of them'))
    .addOption(readForOption('time limit for reading the ledger'))
    .details(
      `
It reads all lanes of the ledger topic. At the end it counts the commands by phase and reason.
Exits with 1 when it could not read everything, otherwise with 0. Settings: KAFKA_BROKERS, TOPIC_PREFIX.

Examples:
  $ npm run cli -- unfinished list --phase DOUBTFUL
  $ npm run --silent cli -- --output json unfinished list --lane 3 | jq -r .key`,
    )
    .runs(async (output, { lane, limit = Infinity, phase, readFor }: Flags) => {
      const settings = requireSettings(CLI_SETTING_NAMES);
      if (lane !== undefined) await requireLane(settings, lane);
      const { cuts, found } = await scanLedger(
        settings,
        readFor,
        (_key, value) => mayBeUnfinished(value),
        (entry, of): entry is Entry =>
          entry.phase.state !== 'DONE' &&
          (phase === undefined || entry.phase.state === phase || shownStateOf(entry) === phase) &&
          (lane === undefined || of === lane),
      );
      const listed = found
        .sort((left, right) => left.lane - right.lane || publishedMs(left) - publishedMs(right))
        .map(documentOf);
      const nowMs = Date.now();
      for (const document of listed.slice(0, limit)) output.document(document, textOf(document, nowMs));
      if (listed.length > limit) output.note(`${listed.length - limit} more are not shown (--limit)`);
      const causes = Map.groupBy(listed, (document) => `${document.phase}, ${document.why}`);
      for (const [cause, group] of causes) output.note(`${group.length} ${cause}`);
      requireAllRead(cuts);
      if (listed.length > 0) return;
      const isOfAll = lane === undefined && phase === undefined;
      output.note(isOfAll ? 'every admitted command has its result' : 'none in this lane and phase');
    });
}

/** Otherwise a lane that does not exist would look like one with nothing unfinished. */
async function requireLane(settings: CliSettings, lane: number): Promise<void> {
  const { length } = await readBounds(cliKafka(settings), [topicNames(settings.TOPIC_PREFIX).ledger]);
  if (lane >= length)
    throw new CliFailure('usage', `there is no lane ${lane}: the ledger has the lanes 0 to ${length - 1}`);
}

function documentOf({ entry, lane }: ScannedEntry) {
  return {
    key: entry.key,
    command: entry.commandType,
    lane,
    phase: entry.phase.state,
    published: isoOf(entry.origin.timestampMs),
    calls: entry.attempts,
    firstCall: entry.firstSentMs === null ? null : isoOf(entry.firstSentMs),
    ...nextOf(entry),
  };
}

function textOf(
  { command, key, lane, next, phase, published, why }: ReturnType<typeof documentOf>,
  nowMs: number,
): string {
  const age = ageText(ageSeconds(Date.parse(published), nowMs));
  return [key, command, `lane ${lane}`, `published ${age} ago`, phase, next, why].join('  ');
}

/** @returns the next step, and why it has not happened yet */
function nextOf(entry: Entry): { next: string; why: string } {
  const { phase } = entry;
  switch (phase.state) {
    case 'INTENT': {
      const next = `an answer is due by ${isoOf(phase.atMs + phase.timeoutMs)}`;
      return { next, why: isInDoubt(entry) ? 'in doubt, and called again' : 'called, or about to be' };
    }
    case 'PARKED':
      return { next: `next try at ${isoOf(phase.untilMs)} or later`, why: maskedText(phase.reason) };
    case 'DOUBTFUL':
      return { next: `to be settled at ${isoOf(phase.settleAtMs)} or later`, why: maskedText(phase.reason) };
    case 'QUOTED':
      return { next: 'its quote will be executed', why: 'waits for a call slot' };
    case 'DONE':
      return { next: 'nothing', why: 'it has its result' };
  }
}

function publishedMs({ entry }: ScannedEntry): number {
  return entry.origin.timestampMs;
}
