/** `results` and `status`: what was published about commands, transactions and quotes. */
import type { CliCommand } from '../cli-command.ts';
import { topicOf, type Stream } from 'payment-processor-client/internal/events';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { topicNames } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, requireSettings, untilInterrupted } from '../context.ts';
import { eventDocument, eventText, outageNotes } from '../event-output.ts';
import { CliFailure } from '../exit-codes.ts';
import { heldText, readHeldBack } from '../held-back.ts';
import { endWithReader } from '../output.ts';
import { requireAllRead } from '../whole-topics.ts';

interface ReadFlags {
  follow: boolean;
  fromBeginning: boolean;
  key?: string;
}

export function addResultsCommand(program: CliCommand): void {
  addReader(program, ['results'], {
    name: 'results',
    description: 'print the results of commands',
    keyHelp: 'results of this command alone',
    examples: `
  $ npm run cli -- results
  $ npm run cli -- results --follow
  $ npm run --silent cli -- --output json results --key order-17 | jq .value.outcome`,
  });
  addReader(program, ['transaction-status', 'quote-status'], {
    name: 'status',
    description: 'print the status changes of transactions and quotes',
    keyHelp: 'changes of this transaction or quote id alone',
    examples: `
  $ npm run cli -- status
  $ npm run cli -- status --follow
  $ npm run --silent cli -- --output json status --key Transaction:5 | jq .value.status`,
  });
}

function addReader(
  program: CliCommand,
  streams: readonly Stream[],
  texts: { name: string; description: string; keyHelp: string; examples: string },
): void {
  program
    .command(texts.name)
    .description(texts.description)
    .option('--follow', 'stay, and print what comes from now on', false)
    .option('--from-beginning', 'with --follow: begin with what is there already', false)
    .option('--key <key>', texts.keyHelp)
    .details(
      `
Without --follow everything that the topic still holds is printed. Only committed records are shown; nothing is committed.
With --key and without --follow it exits with 3 when there is nothing of the key.

Examples:${texts.examples}`,
    )
    .runs(async (output, flags: ReadFlags) => {
      endWithReader();
      let found = 0;
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const names = topicNames(settings.TOPIC_PREFIX);
      const topics = streams.map((stream) => topicOf(stream, names));
      const held = flags.follow ? [] : await readHeldBack(cliKafka(settings), topics, flags.key);
      const subscription = await subscribe(settings, {
        streams,
        start: { from: flags.follow && !flags.fromBeginning ? 'now' : 'beginning' },
        untilEnd: !flags.follow,
        retry: CLI_RETRY,
        onNotice: outageNotes(output),
        ...(flags.key === undefined ? {} : { key: flags.key }),
        onEvent: (event) => {
          found += 1;
          output.document(eventDocument(event), eventText(event));
        },
      });
      if (flags.follow) output.note('following; Ctrl-C ends');
      try {
        // A signal that ended the reading early would let a part pass for the whole.
        await (flags.follow ? untilInterrupted(subscription.ended) : subscription.ended);
      } finally {
        await subscription.close();
      }
      requireAllRead(held.map(heldText));
      if (flags.key !== undefined && !flags.follow && found === 0) {
        throw new CliFailure(
          'notFound',
          `nothing about ${flags.key} is there, or is kept any more: see \`show ${flags.key}\``,
        );
      }
    });
}
