/**
 * A PaymentClient without Kafka, for its users' tests: the real client over topics in memory. The test sets the answers to
 * commands; keys, copies, conflicts and refused fields behave as with the processor.
 */
import './require-node.ts';
import { eventId, FINGERPRINT_HEADER, REPLY_HEADER } from 'payment-processor-contract/cloud-events';
import { COMMAND_ANSWERS, type CommandType } from 'payment-processor-contract/commands';
import { loadSchema } from 'payment-processor-contract/schemas';
import type {
  CommandError,
  CommandResult,
  Envelope,
  PaymentEvent,
  Quote,
  Stream,
  Transaction,
  TransactionStatusChanged,
} from './events.ts';
import type { TransactionStatus } from 'payment-processor-contract/statuses';
import { LiveEvents } from './live-events.ts';
import { PaymentClient } from './payment-client.ts';
import {
  checkCommand,
  checkPublishOptions,
  fingerprintOf,
  type PublishedCommand,
  type PublishOptions,
} from './publisher.ts';
import { ResultAwaiter } from './result-awaiter.ts';
import { transactionOf } from './payment-state.ts';

/** How a command ends. */
export interface TestAnswer {
  /** `silent`: no result comes until the command is published again and gets another answer. */
  outcome: Exclude<CommandResult['outcome'], 'CONFLICT'> | 'silent';
  error?: CommandError;
  httpStatus?: number;
  quote?: Partial<Quote>;
  transaction?: Partial<Transaction>;
  /** The later statuses of an ACCEPTED command's transaction, in order. */
  statuses?: readonly TransactionStatus[];
}

export interface TestCommand {
  type: CommandType;
  key: string;
  /** The checked fields: amounts as bigint, null for omitted fields. */
  fields: Readonly<Record<string, unknown>>;
}

type Answering = TestAnswer | ((command: TestCommand) => TestAnswer);

interface Answered {
  result: CommandResult;
  id: string;
}

/** Each result that is not ACCEPTED has an error. */
const DEFAULT_ERROR = { code: 'TEST', message: 'the test gave no error', details: null };

export class TestPayments {
  readonly client: PaymentClient;
  readonly #answers = new Map<CommandType, Answering>();
  readonly #answered = new Map<string, Answered>();
  /** Each key's command, from its first message on. */
  readonly #fingerprints = new Map<string, string>();
  readonly #topics: Record<Stream, { kept: PaymentEvent[]; live: LiveEvents }>;
  /** Commands that got a result, in order, without copies and conflicts. */
  readonly executed: TestCommand[] = [];

  constructor() {
    const topic = () => ({ kept: [], live: new LiveEvents() });
    this.#topics = { results: topic(), 'transaction-status': topic(), 'quote-status': topic() };
    this.client = new PaymentClient({
      publisher: {
        publishUntyped: async (type, key, fields, options) => this.#take(type, key, fields, options ?? {}),
        close: async () => undefined,
      },
      results: new ResultAwaiter(this.#topics.results.live),
      openChanges: async () => this.#topics['transaction-status'].live,
      read: async ({ key, stream }, onEvent) => {
        for (const event of this.#topics[stream].kept) if (key === null || event.key === key) onEvent(event);
        return true;
      },
      noticing: {},
    });
  }

  /** Sets the answer to later commands of this type. */
  answer(type: CommandType, answering: Answering): void {
    this.#answers.set(type, answering);
  }

  /** Sets a transaction's status, as if the poller had seen it. */
  setStatus(transactionId: string, status: TransactionStatus): void {
    const { kept } = this.#topics['transaction-status'];
    const previous = kept.findLast((event) => event.key === transactionId);
    const value = previous?.kind === 'transaction-status' ? previous.value : null;
    const keys = [...this.#answered].flatMap(([key, { result }]) =>
      result.outcome === 'ACCEPTED' && transactionOf(result) === transactionId ? [key] : [],
    );
    const changed: TransactionStatusChanged = {
      ...(blank('TransactionStatusChanged') as TransactionStatusChanged),
      transactionId,
      previousStatus: value?.status ?? null,
      status,
      commandKey: keys.at(-1) ?? null,
      commandKeys: keys,
      observedAt: BigInt(Date.now()),
      observedBy: 'POLL',
    };
    const id = eventId(`test-change\n${transactionId}\n${kept.length}`);
    this.#put('transaction-status', transactionId, id, {}, { kind: 'transaction-status', value: changed });
  }

  #take(type: CommandType, key: string, given: unknown, options: PublishOptions): PublishedCommand {
    const fields = checkCommand(type, key, given) as Record<string, unknown>;
    checkPublishOptions(type, key, options);
    const fingerprint = fingerprintOf(type, key, given);
    const commandId = options.commandId ?? eventId(`test\n${key}\n${fingerprint}`);
    // A result comes later than the confirmation, as with Kafka.
    setImmediate(() => this.#execute({ type, key, fields }, fingerprint, commandId));
    return { key, commandId, topic: type, partition: 0, offset: BigInt(this.executed.length) };
  }

  #execute(command: TestCommand, fingerprint: string, commandId: string): void {
    const { key, type } = command;
    const headers = { [REPLY_HEADER]: commandId, [FINGERPRINT_HEADER]: fingerprint };
    const known = this.#answered.get(key);
    const ownFingerprint = this.#fingerprints.get(key) ?? fingerprint;
    this.#fingerprints.set(key, ownFingerprint);
    if (ownFingerprint !== fingerprint) {
      const message = 'this command was ignored: its key belongs to another command, whose own result stands';
      const error = { code: 'KEY_REUSED', message, details: null };
      this.#putResult(resultOf(command, commandId, { outcome: 'CONFLICT', revision: 0, error }), commandId, headers);
      return;
    }
    if (known !== undefined) {
      this.#putResult(known.result, known.id, { ...headers, replayed: 'true' });
      return;
    }
    const answering = this.#answers.get(type) ?? { outcome: 'silent' };
    const answer = typeof answering === 'function' ? answering(command) : answering;
    const { outcome, statuses = [] } = answer;
    if (outcome === 'silent') return;
    this.executed.push(command);
    const number = this.executed.length;
    const result = resultOf(command, commandId, {
      outcome,
      error: answer.error ?? (outcome === 'ACCEPTED' ? null : DEFAULT_ERROR),
      httpStatus: answer.httpStatus ?? null,
      ...(outcome === 'ACCEPTED' ? paymentOf(command, answer, this.#ids(command, number)) : {}),
    });
    const id = eventId(`test-result\n${key}`);
    this.#answered.set(key, { result, id });
    this.#putResult(result, id, headers);
    const transactionId = transactionOf(result);
    if (transactionId === null) return;
    // The answer's own status also becomes an event.
    const own = result.transaction?.status;
    for (const status of own === undefined ? statuses : [own, ...statuses])
      this.setStatus(transactionId, status as TransactionStatus);
  }

  /** The ids that the command or its quote names, or new ones. */
  #ids({ fields }: TestCommand, number: number): { quoteId: string; transactionId: string } {
    const idOf = (name: string, otherwise: string): string => {
      const given = fields[name];
      return typeof given === 'string' ? given : otherwise;
    };
    const quoteId = idOf('quoteId', `Quote:test-${number}`);
    const made = [...this.#answered.values()].find(({ result }) => result.quote?.id === quoteId)?.result.quote;
    return { quoteId, transactionId: idOf('transactionId', made?.transactionId ?? `Transaction:test-${number}`) };
  }

  #putResult(value: CommandResult, id: string, headers: Record<string, string>): void {
    const isReplayed = headers['replayed'] === 'true';
    this.#put('results', value.commandKey, id, headers, { kind: 'result', value, isReplayed });
  }

  #put(
    stream: Stream,
    key: string,
    id: string,
    headers: Record<string, string>,
    event:
      | { kind: 'result'; value: CommandResult; isReplayed: boolean }
      | { kind: 'transaction-status'; value: TransactionStatusChanged },
  ): void {
    const { kept, live } = this.#topics[stream];
    const envelope: Envelope = {
      topic: stream,
      partition: 0,
      offset: BigInt(kept.length),
      timestampMs: Date.now(),
      key,
      id,
      uniqueId: id,
      headers: { ce_id: id, ...headers },
    };
    const put = { ...envelope, ...event } as PaymentEvent;
    kept.push(put);
    live.take(put);
  }
}

/** A record with only its schema's defaults. */
function blank(record: string): object {
  return Object.fromEntries(loadSchema(record).fields.map(({ default: fallback = null, name }) => [name, fallback]));
}

/** The service's answer to an ACCEPTED command. */
function paymentOf(
  { type }: TestCommand,
  { quote, transaction }: TestAnswer,
  { quoteId, transactionId }: { quoteId: string; transactionId: string },
): Pick<CommandResult, 'quote' | 'transaction'> {
  if (COMMAND_ANSWERS[type] === 'transaction') {
    const status = type === 'reject-transaction' ? 'REJECTED' : 'PENDING';
    const made = { ...(blank('Transaction') as Transaction), id: transactionId, status, ...transaction };
    return { quote: null, transaction: made };
  }
  const made = { ...(blank('Quote') as Quote), id: quoteId, transactionId, status: 'PENDING', ...quote };
  return { quote: made, transaction: null };
}

function resultOf(command: TestCommand, commandId: string, given: Partial<CommandResult>): CommandResult {
  const now = BigInt(Date.now());
  return {
    ...(blank('CommandResult') as CommandResult),
    commandKey: command.key,
    commandType: command.type,
    commandId,
    revision: 1,
    settledBy: 'ANSWER',
    warnings: [],
    attempts: 1,
    source: { topic: command.type, partition: 0, offset: 0n },
    commandTimestamp: now,
    completedAt: now,
    ...given,
  };
}
