/** `publish TYPE`: publishes one command, and with `--await` waits for its result. */
import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { Argument, Option } from 'commander';
import type { CliCommand } from '../cli-command.ts';
import { PaymentClientError } from 'payment-processor-client/internal/client-error';
import {
  fingerprintOf,
  PaymentCommandPublisher,
  type PublishedCommand,
  type PublishOptions,
} from 'payment-processor-client/internal/publisher';
import { ResultAwaiter } from 'payment-processor-client/internal/result-awaiter';
import { CLIENT_SETTING_NAMES, type ClientSettings } from 'payment-processor-client/internal/settings';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { JsonMeaningError, parseUnambiguous, type JsonValue } from 'payment-processor-contract/lossless-json';
import { CLI_RETRY, cliKafka, requireSettings } from '../context.ts';
import { eventDocument, eventText, placeText } from '../event-output.ts';
import { CliFailure, unsent } from '../exit-codes.ts';
import { oncePublished } from '../failures.ts';
import { waitOption, instant } from '../option-values.ts';
import { hiddenAt } from '../lag.ts';

interface PublishFlags {
  key: string;
  value?: string;
  valueFile?: string;
  format: 'avro' | 'json';
  expiresAt?: Date;
  correlationId?: string;
  traceparent?: string;
  source: string;
  await: boolean;
  awaitFor: number;
}

const SOURCE = 'payment-cli';

export function addPublishCommand(program: CliCommand): void {
  program
    .command('publish')
    .description('check the fields of one payment command, and publish it')
    .addArgument(new Argument('<type>', 'type of the command').choices(COMMAND_TYPES))
    .requiredOption(
      '--key <key>',
      "the command's key: 1 to 200 characters from 0x21 to 0x7E; publishing it again with the same key is safe",
    )
    .addOption(new Option('--value <json>', 'the fields, as a JSON object').conflicts('valueFile'))
    .option('--value-file <file>', 'file with the fields; - reads standard input')
    .addOption(new Option('--format <format>', 'encoding of the value').choices(['avro', 'json']).default('avro'))
    .option('--expires-at <instant>', 'no call may start after this time, in ISO 8601', instant)
    .option('--correlation-id <text>', 'copied to the results and events')
    .option('--traceparent <text>', 'W3C trace context, copied to the results and events')
    .option('--source <uri>', 'ce_source: who publishes', SOURCE)
    .option('--await', 'wait for the result and print it', false)
    .addOption(waitOption('--await-for <duration>', 'longest wait for the result'))
    .details(
      `
With --await it exits with 0 when the command was ACCEPTED, 4 when it was not (after UNKNOWN the payment may have been made), 5 when no result came in time.
Only processors with SANDBOX_COMMANDS=true read simulate-uma-receive commands.

Examples:
  $ npm run cli -- publish transfer-in --key order-17 --await \\
      --value '{"source":{"accountId":"ExternalAccount:1"},"destination":{"accountId":"InternalAccount:1"},"amount":2500}'
  $ npm run cli -- publish execute-quote --key pay-9 --value '{"quoteId":"Quote:5","transactionId":"Transaction:5"}' --expires-at 2026-01-31T12:00:00Z
  $ npm run --silent cli -- --output json publish create-quote --key quote-3 --value-file quote.json --format json`,
    )
    .runs(async (output, type: CommandType, flags: PublishFlags) => {
      const settings = requireSettings(CLIENT_SETTING_NAMES);
      const fields = await readFields(flags);
      const fingerprint = fingerprintOf(type, flags.key, fields);
      const commandId = randomUUID();
      const publisher = await PaymentCommandPublisher.connect(settings, { retry: CLI_RETRY });
      const results = flags.await ? await ResultAwaiter.open(settings, { retry: CLI_RETRY }) : null;
      try {
        const awaited = results?.expect(flags.key, { commandId, type, fingerprint, timeoutMs: flags.awaitFor });
        const published = await publisher.publishUntyped(type, flags.key, fields, optionsOf(flags, commandId));
        if (awaited === undefined) {
          output.document({ type, ...published }, publishedText(type, published));
          return;
        }
        output.note(publishedText(type, published));
        const answered = awaited.catch(async (error: unknown) => {
          throw await withWhatHidesIt(settings, published, error);
        });
        const result = await oncePublished('the command was published', answered);
        output.document(eventDocument(result), eventText(result));
        const { outcome, error } = result.value;
        if (outcome !== 'ACCEPTED') {
          throw new CliFailure(
            'notAccepted',
            `${flags.key} ended ${outcome}${error === null ? '' : `: ${error.code}: ${error.message}`}`,
          );
        }
      } finally {
        await Promise.all([publisher.close(), results?.close()]);
      }
    });
}

/**
 * @returns the error that ended the wait; if no result came, with the open transaction that hides the command, if any
 */
async function withWhatHidesIt(
  settings: ClientSettings,
  published: PublishedCommand,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof PaymentClientError) || error.code !== 'NO_RESULT') return error;
  const hiding = await hiddenAt(cliKafka(settings), published).catch(() => []);
  return new CliFailure('noResult', [error.message, ...hiding.map((line) => `  ${line}`)]);
}

async function readFields({ value, valueFile }: PublishFlags): Promise<JsonValue> {
  const from = value === undefined ? (valueFile ?? '') : '--value';
  if (from === '') throw new CliFailure('usage', 'give the fields of the command with --value or --value-file');
  let text = value ?? '';
  if (value === undefined) {
    let bytes: Buffer;
    try {
      bytes = valueFile === '-' ? await buffer(process.stdin) : await readFile(from);
    } catch (error) {
      throw new CliFailure('usage', `the file given by --value-file cannot be read: ${(error as Error).message}`);
    }
    // Decoding would replace the invalid bytes: the payment would carry another text.
    if (!isUtf8(bytes)) throw unsent('usage', `${from} is not UTF-8`);
    text = bytes.toString('utf8');
  } else if (text.includes('\uFFFD')) {
    // Node has decoded the argument.
    throw unsent('usage', '--value has bytes that are not UTF-8, or U+FFFD: give it with --value-file');
  }
  try {
    return parseUnambiguous(text);
  } catch (error) {
    const what = error instanceof JsonMeaningError ? 'cannot be accepted' : 'is not JSON';
    throw unsent('usage', `${from} ${what}: ${(error as Error).message}`);
  }
}

function optionsOf(flags: PublishFlags, commandId: string): PublishOptions {
  return {
    commandId,
    contentType: flags.format,
    source: flags.source,
    ...(flags.expiresAt === undefined ? {} : { expiresAt: flags.expiresAt }),
    ...(flags.correlationId === undefined ? {} : { correlationId: flags.correlationId }),
    ...(flags.traceparent === undefined ? {} : { traceparent: flags.traceparent }),
  };
}

function publishedText(type: CommandType, published: PublishedCommand): string {
  return `published ${type} ${published.key} (${placeText(published)}, id ${published.commandId})`;
}
