/**
 * The story of the demo: publishes one command after the other, each once the answer of the one before has come, so
 * that the table reads like a story. Every wait has a limit; a step whose condition is missing is not published.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AwaitedResult, CommandType } from '../../src/client/index.ts';
import type { CommandInput } from '../../src/client/command-input.ts';
import type { TopicRecord } from '../../src/consumers/outside/topic-reader.ts';
import { createKafka, PATIENT_RETRY } from '../../src/producers/kafka-client.ts';
import { RecordPublisher } from '../../src/producers/outside/record-publisher.ts';
import { AVRO_CONTENT_TYPE } from '../../src/records/cloud-events.ts';
import { topicNames } from '../../src/records/topics.ts';
import {
  IMMEDIATE_QUOTE,
  KEYS,
  OTHER_TRANSFER_IN,
  QUOTE,
  SHORT_QUOTE,
  TRANSFER_IN,
  UMA_PAYMENT,
  UNREADABLE_BYTES,
} from './commands.ts';
import type { Journal, Waited } from './journal.ts';
import { setQuoteLifetime } from './sandbox-control.ts';
import type { Stage } from './set-up.ts';

/** Results come within a tenth of a second; with doubt to be settled, within some ten seconds. */
const RESULT_MS_MAX = 30_000;
/** Status changes and dead letters are written with the result, or in the next transaction. */
const EVENT_MS_MAX = 10_000;

const QUOTE_LIFETIME_MS = 60_000;
/** Long enough for its result to come first, and short to wait for. */
const SHORT_QUOTE_LIFETIME_MS = 1_000;
/** Beyond the quote's expiresAt, so that the two clocks' rounding does not matter. */
const EXPIRY_MARGIN_MS = 100;

export type Answer = Waited<AwaitedResult>;

export interface Story {
  readonly quote: Answer;
  readonly execution: Answer;
  readonly immediate: Answer;
  readonly transferIn: Answer;
  readonly copy: Answer;
  readonly otherAmount: Answer;
  readonly payment: Answer;
  readonly rejection: Answer;
  readonly shortQuote: Answer;
  readonly lateExecution: Answer;
  readonly unreadable: Answer;
  readonly deadLetter: Waited<TopicRecord>;
}

/** Tells that a command was published: its type, key, and what is special about it. */
export type OnPublished = (type: CommandType, key: string, note: string) => void;

/** @returns what came of each command; never throws for what the processor did or did not do */
export async function tellStory(stage: Stage, journal: Journal, onPublished: OnPublished): Promise<Story> {
  const ask = <Type extends CommandType>(type: Type, key: string, fields: CommandInput<Type>, note: string) =>
    answerTo(journal, async (commandId) => {
      await stage.publisher.publish(type, key, fields, { commandId });
      onPublished(type, key, note);
    });

  const quote = await ask('create-quote', KEYS.quote, QUOTE, 'a quote');
  const execution = await after(quote, 'the quote', quoteOf, async ({ id, transactionId }) => {
    const answer = await ask('execute-quote', KEYS.execution, { quoteId: id, transactionId }, 'its execution');
    if (answer.kind === 'seen') await changed(journal, 'quote-status', id);
    return answer;
  });

  const immediate = await ask('create-quote', KEYS.immediate, IMMEDIATE_QUOTE, 'an immediate quote');

  const transferIn = await ask('transfer-in', KEYS.transferIn, TRANSFER_IN, 'a transfer-in');
  const copy = await after(transferIn, 'the transfer-in', anyResult, () =>
    ask('transfer-in', KEYS.transferIn, TRANSFER_IN, 'the same key and content again'),
  );
  const otherAmount = await after(transferIn, 'the transfer-in', anyResult, () =>
    ask('transfer-in', KEYS.transferIn, OTHER_TRANSFER_IN, 'the same key, another amount'),
  );

  const payment = await ask('simulate-uma-receive', KEYS.payment, UMA_PAYMENT, 'an incoming UMA payment');
  const rejection = await after(payment, 'the incoming payment', transactionOf, async ({ id }) => {
    const answer = await ask(
      'reject-transaction',
      KEYS.rejection,
      { transactionId: id, reason: 'demo' },
      'its rejection',
    );
    if (answer.kind === 'seen') await changed(journal, 'transaction-status', id);
    return answer;
  });

  await setQuoteLifetime(stage.sandbox.url, SHORT_QUOTE_LIFETIME_MS);
  const shortQuote = await ask('create-quote', KEYS.shortQuote, SHORT_QUOTE, 'a quote that expires within a second');
  await setQuoteLifetime(stage.sandbox.url, QUOTE_LIFETIME_MS);
  const lateExecution = await after(shortQuote, 'the quote', quoteOf, async ({ id, transactionId, expiresAt }) => {
    await sleep(msUntil(expiresAt) + EXPIRY_MARGIN_MS);
    return ask('execute-quote', KEYS.lateExecution, { quoteId: id, transactionId }, 'its execution, too late');
  });

  const unreadable = await answerTo(journal, async (commandId) => {
    await publishUnreadable(stage, commandId);
    onPublished('transfer-in', KEYS.unreadable, `unreadable: ${UNREADABLE_BYTES.length} bytes that mean nothing`);
  });
  const deadLetter = await journal.waitFor(
    (arrival) =>
      arrival.kind === 'dead-letter' && arrival.record.key?.toString() === KEYS.unreadable ? arrival.record : null,
    EVENT_MS_MAX,
  );
  return {
    quote,
    execution,
    immediate,
    transferIn,
    copy,
    otherAmount,
    payment,
    rejection,
    shortQuote,
    lateExecution,
    unreadable,
    deadLetter,
  };
}

/** Publishes under a new command id and waits for the result that answers it. */
async function answerTo(journal: Journal, publish: (commandId: string) => Promise<void>): Promise<Answer> {
  const commandId = randomUUID();
  try {
    await publish(commandId);
  } catch (error) {
    return { kind: 'missing', reason: `not published: ${error instanceof Error ? error.message : String(error)}` };
  }
  return journal.waitFor(
    (arrival) => (arrival.kind === 'result' && arrival.headers['in-reply-to'] === commandId ? arrival : null),
    RESULT_MS_MAX,
  );
}

/** Goes on with what an answer holds, if it holds it. */
async function after<Held>(
  answer: Answer,
  name: string,
  held: (result: AwaitedResult) => Held | null,
  next: (value: Held) => Promise<Answer>,
): Promise<Answer> {
  const value = answer.kind === 'seen' ? held(answer.value) : null;
  if (value !== null) return next(value);
  return { kind: 'missing', reason: `not published: ${name} did not come about` };
}

function anyResult(result: AwaitedResult): AwaitedResult {
  return result;
}

function quoteOf({ value }: AwaitedResult): AwaitedResult['value']['quote'] {
  return value.quote;
}

function transactionOf({ value }: AwaitedResult): AwaitedResult['value']['transaction'] {
  return value.transaction;
}

/** So that the change is in the table before the next command; what it was is for the checks to say. */
async function changed(journal: Journal, kind: 'quote-status' | 'transaction-status', id: string): Promise<void> {
  await journal.waitFor(
    (arrival) =>
      arrival.kind === kind && arrival.key === id && arrival.value.previousStatus !== null ? arrival : null,
    EVENT_MS_MAX,
  );
}

/** At most the short lifetime, whatever the quote says. */
function msUntil(expiresAt: string | null): number {
  const ms = Date.parse(expiresAt ?? '') - Date.now();
  return Number.isNaN(ms) ? SHORT_QUOTE_LIFETIME_MS : Math.min(Math.max(ms, 0), SHORT_QUOTE_LIFETIME_MS);
}

/** Past the publisher, which refuses to send what is no command. */
async function publishUnreadable({ settings }: Stage, commandId: string): Promise<void> {
  const topic = topicNames(settings.TOPIC_PREFIX).commands['transfer-in'];
  const kafka = createKafka(settings, 'payment-demo-unreadable', { retry: PATIENT_RETRY });
  const records = await RecordPublisher.connect(kafka, [topic], PATIENT_RETRY);
  try {
    await records.publish({
      topic,
      key: Buffer.from(KEYS.unreadable),
      value: UNREADABLE_BYTES,
      headers: { ce_specversion: '1.0', ce_id: commandId, 'content-type': AVRO_CONTENT_TYPE },
    });
  } finally {
    await records.close();
  }
}
