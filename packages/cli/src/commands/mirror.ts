/**
 * `mirror`: copies results and status events as JSON into topics of their own, for readers without a schema registry.
 *
 * It writes an event before it commits the offset: after a crash events may come again, with the same `ce_id` and after
 * later ones, but none is missing.
 */
import type { CliCommand } from '../cli-command.ts';
import { STREAMS, type PaymentEvent } from 'payment-processor-client/internal/events';
import { CLIENT_SETTING_NAMES } from 'payment-processor-client/internal/settings';
import { subscribe } from 'payment-processor-client/internal/subscription';
import { RecordPublisher, type KeyedRecord } from 'payment-processor-client/internal/kafka/record-publisher';
import { JSON_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { jsonCopyOf, topicNames, UNREADABLE_HEADER } from 'payment-processor-contract/topics';
import { CLI_RETRY, cliKafka, requireSettings, untilInterrupted } from '../context.ts';
import { outageNotes } from '../event-output.ts';

export function addMirrorCommand(program: CliCommand): void {
  program
    .command('mirror')
    .description('copy results and status events as JSON into separate topics, until stopped')
    .option('--group <id>', 'consumer group that keeps the position; default: <TOPIC_PREFIX>-json-mirror')
    .details(
      `
The topics end in .json.v1 instead of .v1. Create them with \`topics create --json-copies\`. Several mirrors may run in one group.

Examples:
  $ npm run cli -- topics create --json-copies
  $ npm run cli -- mirror`,
    )
    .runs(async (output, flags: { group?: string }) => {
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const topics = jsonTopics(settings.TOPIC_PREFIX);
      const records = await RecordPublisher.connect(cliKafka(settings), topics, CLI_RETRY);
      try {
        // Reports a missing topic now, not at its first event.
        for (const topic of topics) records.partitionCount(topic);
        const subscription = await subscribe(settings, {
          streams: STREAMS,
          start: { from: 'group', groupId: flags.group ?? `${settings.TOPIC_PREFIX}-json-mirror` },
          onNotice: outageNotes(output),
          onEvent: async (event) => {
            await records.publish(jsonRecordOf(event));
          },
        });
        try {
          const ended = untilInterrupted(subscription.ended);
          output.note('copying; Ctrl-C ends');
          await ended;
        } finally {
          await subscription.close();
        }
      } finally {
        await records.close();
      }
    });
}

function jsonTopics(prefix: string): string[] {
  const { results, transactionStatusChanged, quoteStatusChanged } = topicNames(prefix);
  return [results, transactionStatusChanged, quoteStatusChanged].map(jsonCopyOf);
}

/** Copies an unreadable event unchanged and marks it, so that none is missing. */
function jsonRecordOf(event: PaymentEvent): KeyedRecord {
  const record = { topic: jsonCopyOf(event.topic), key: Buffer.from(event.key) };
  if (event.kind === 'unreadable') {
    const headers = { ...event.headers, [UNREADABLE_HEADER]: event.problem };
    return { ...record, value: event.bytes ?? Buffer.alloc(0), headers };
  }
  const headers = { ...event.headers, 'content-type': JSON_CONTENT_TYPE };
  return { ...record, value: Buffer.from(stringifyLossless(event.value)), headers };
}
