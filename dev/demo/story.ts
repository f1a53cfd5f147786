/**
 * The story of the demo: publishes the commands one by one, each after the previous one's answer has arrived, so
 * that the table reads like a story. Every wait has a limit; a command whose prerequisite failed is not published.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwaitedResult, CommandType } from 'payment-processor-client';
import type { CommandInput } from 'payment-processor-client/internal/command-input';
import { AVRO_CONTENT_TYPE } from 'payment-processor-contract/cloud-events';
import { messageOf } from 'payment-processor-contract/registry-http';
import { topicNames } from 'payment-processor-contract/topics';
import { check, type Check } from './checks.ts';
import * as fields from './commands.ts';
import type { Stage } from './set-up.ts';

/** Results arrive within a tenth of a second, or within about ten seconds if doubt must be settled. */
const RESULT_MS_MAX = 30_000;
/** Status changes and dead letters are written with the result, or in the next transaction. */
const EVENT_MS_MAX = 10_000;

/** Long enough for its result to arrive first, and short to wait for. */
const SHORT_QUOTE_LIFETIME_MS = 1_000;
/** Beyond the quote's lifetime, so that the two clocks' rounding does not matter. */
const EXPIRY_MARGIN_MS = 100;

interface Answer {
  readonly result: AwaitedResult | null;
  /** The outcome, or why there is no result. */
  readonly seen: string;
}

/** @returns a check of each answer; whatever the processor does or fails to do, it does not throw */
export async function tellStory(stage: Stage): Promise<Check[]> {
  return [...(await tellQuotes(stage)), ...(await tellTransfers(stage)), ...(await tellFailures(stage))];
}

async function tellQuotes(stage: Stage): Promise<Check[]> {
  const quote = await ask(stage, 'create-quote', 'quote-1', 'a quote', fields.QUOTE);
  const execution = await ask(stage, 'execute-quote', 'execution-1', 'its execution', executionOf(quote));
  await changed(stage, 'quote-status', quote.result?.value.quote?.id);
  const immediate = await ask(stage, 'create-quote', 'immediate-1', 'an immediate quote', fields.IMMEDIATE_QUOTE);
  return [
    check('the quote', 'ACCEPTED', quote.seen),
    check('its execution', 'ACCEPTED', execution.seen),
    check('the immediate quote', 'ACCEPTED', immediate.seen),
  ];
}

async function tellTransfers(stage: Stage): Promise<Check[]> {
  const transfer = (note: string, content: CommandInput<'transfer-in'> | null): Promise<Answer> =>
    ask(stage, 'transfer-in', 'transfer-in-1', note, content);
  const first = await transfer('a transfer-in', fields.TRANSFER_IN);
  const copy = await transfer('the same key and content again', first.result && fields.TRANSFER_IN);
  const other = await transfer('the same key, another amount', first.result && fields.OTHER_TRANSFER_IN);
  const copyExpected = `ACCEPTED, event ${first.result?.id ?? 'of the transfer-in'}, replayed`;

  const paymentNote = 'an incoming UMA payment';
  const payment = await ask(stage, 'simulate-uma-receive', 'uma-payment-1', paymentNote, fields.UMA_PAYMENT);
  const transactionId = payment.result?.value.transaction?.id;
  const refusal = transactionId === undefined ? null : { transactionId, reason: 'demo' };
  const rejection = await ask(stage, 'reject-transaction', 'rejection-1', 'its rejection', refusal);
  await changed(stage, 'transaction-status', transactionId);
  return [
    check('the transfer-in', 'ACCEPTED', first.seen),
    check('the copy of the transfer-in gets the same event again', copyExpected, copy.seen),
    check('another amount under the key of the transfer-in', 'CONFLICT (KEY_REUSED)', other.seen),
    check('the incoming UMA payment', 'ACCEPTED', payment.seen),
    check('its rejection', 'ACCEPTED', rejection.seen),
  ];
}

async function tellFailures(stage: Stage): Promise<Check[]> {
  const { settings } = stage.sandbox.service.world;
  const usualLifetimeMs = settings.quoteLifetimeMs;
  settings.quoteLifetimeMs = SHORT_QUOTE_LIFETIME_MS;
  const quoteNote = 'a quote that expires within a second';
  const quote = await ask(stage, 'create-quote', 'short-quote-1', quoteNote, fields.SHORT_QUOTE);
  settings.quoteLifetimeMs = usualLifetimeMs;
  await sleep(SHORT_QUOTE_LIFETIME_MS + EXPIRY_MARGIN_MS);
  const late = await ask(stage, 'execute-quote', 'late-execution-1', 'its execution, too late', executionOf(quote));

  const unreadableNote = `unreadable: ${fields.UNREADABLE_BYTES.length} bytes that mean nothing`;
  const unreadable = await ask(stage, 'transfer-in', 'unreadable-1', unreadableNote, fields.UNREADABLE_BYTES);
  await shown(stage, () => stage.journal.ofKind('dead-letter').find(({ key }) => key === 'unreadable-1'));
  return [
    check('the quote that expires', 'ACCEPTED', quote.seen),
    check('its execution after the expiry', 'REFUSED (QUOTE_EXPIRED)', late.seen),
    check('the unreadable message', 'INVALID (UNREADABLE_COMMAND)', unreadable.seen),
  ];
}

function executionOf({ result }: Answer): CommandInput<'execute-quote'> | null {
  const quote = result?.value.quote;
  return quote == null ? null : { quoteId: quote.id, transactionId: quote.transactionId };
}

/**
 * Publishes under a new command id and waits for the result that answers it.
 * @param content bytes if it is not a command, null if its prerequisite failed
 */
async function ask<Type extends CommandType>(
  stage: Stage,
  type: Type,
  key: string,
  note: string,
  content: CommandInput<Type> | Buffer | null,
): Promise<Answer> {
  const { journal, publisher } = stage;
  const commandId = randomUUID();
  const isAnswer = ({ headers }: AwaitedResult): boolean => headers['in-reply-to'] === commandId;
  try {
    if (content === null) throw new Error('not published: its prerequisite failed');
    if (Buffer.isBuffer(content)) await publishBytes(stage, type, key, content, commandId);
    else await publisher.publish(type, key, content, { commandId });
    journal.add({ kind: 'command', type, key, note });
    const result = await journal.waitFor(() => journal.ofKind('result').find(isAnswer), RESULT_MS_MAX);
    return { result, seen: outcomeText(result) };
  } catch (error) {
    return { result: null, seen: messageOf(error) };
  }
}

/** Bypasses the publisher, which refuses to send anything but commands. */
async function publishBytes(
  { kafka, settings }: Stage,
  type: CommandType,
  key: string,
  value: Buffer,
  commandId: string,
): Promise<void> {
  const topic = topicNames(settings.TOPIC_PREFIX).commands[type];
  const headers = { ce_specversion: '1.0', ce_id: commandId, 'content-type': AVRO_CONTENT_TYPE };
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic, messages: [{ key, value, headers }] });
  await producer.disconnect();
}

function outcomeText({ id, headers, value: { outcome, error } }: AwaitedResult): string {
  const code = error === null ? '' : ` (${error.code})`;
  const copy = headers['replayed'] === 'true' ? `, event ${id ?? 'without id'}, replayed` : '';
  return `${outcome}${code}${copy}`;
}

async function changed(stage: Stage, kind: 'quote-status' | 'transaction-status', id?: string): Promise<void> {
  const changes = () => stage.journal.ofKind(kind).filter(({ key }) => key === id);
  if (id !== undefined) await shown(stage, () => changes().find(({ value }) => value.previousStatus !== null));
}

/** So that it is in the table before the next command. The checks say whether it arrived, and whether it is right. */
async function shown({ journal }: Stage, find: () => object | undefined): Promise<void> {
  await journal.waitFor(find, EVENT_MS_MAX).catch(() => undefined);
}
