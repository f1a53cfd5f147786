/** The document's examples, typed like the records; `test/docs/asyncapi.test.ts` reads each with the code that reads messages. */
import { fingerprintOf, type CommandInput } from 'payment-processor-client';
import type { HoldOrder } from '../../../src/ledger/holds.ts';
import {
  eventHeaders,
  eventId,
  eventIdNames,
  FINGERPRINT_HEADER,
  JSON_CONTENT_TYPE,
  REPLY_HEADER,
} from 'payment-processor-contract/cloud-events';
import type { CommandType } from 'payment-processor-contract/commands';
import type {
  CommandResult,
  OperatorDecision,
  QuoteStatusChanged,
  Transaction,
  TransactionStatusChanged,
} from 'payment-processor-contract/types';

export interface MessageExample<Payload = unknown> {
  name: string;
  summary: string;
  headers: Record<string, string>;
  payload: Payload;
}

const TOPIC_PREFIX = 'payments';
const TRANSACTION_ID = 'Transaction:01a1ffd3-775f-7000-800b-ced70bbab029';
const QUOTE_ID = 'Quote:01a1ffd3-7517-7000-800b-cc3b55accf2c';
const AT_MS = 1_795_293_411_169;
const COMMAND_ID = 'eef178e3-212d-4dcf-a423-a5c2d2185b75';

const COMMANDS: { [Type in CommandType]: { summary: string; payload: CommandInput<Type> } } = {
  'create-quote': {
    summary: 'Sends 10.00 from an account of ours to an external one, once the quote is executed.',
    payload: {
      source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:1' },
      destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:1' },
      lockedCurrencySide: 'SENDING',
      lockedCurrencyAmount: 1_000n,
      immediatelyExecute: false,
    },
  },
  'execute-quote': {
    summary: 'Executes a quote; with its transaction, so that a lost answer can be settled.',
    payload: { quoteId: QUOTE_ID, transactionId: TRANSACTION_ID },
  },
  'transfer-in': {
    summary: 'Pulls an amount beyond what a double can hold.',
    payload: {
      source: { accountId: 'ExternalAccount:1' },
      destination: { accountId: 'InternalAccount:1' },
      amount: 9_007_199_254_740_993n,
    },
  },
  'reject-transaction': {
    summary: 'Rejects an incoming payment.',
    payload: { transactionId: TRANSACTION_ID, reason: 'unknown sender' },
  },
  'simulate-uma-receive': {
    summary: 'Has the sandbox of the service receive a payment.',
    payload: {
      senderUmaAddress: '$sender@example.com',
      receiverUmaAddress: '$receiver@example.com',
      receivingCurrencyCode: 'USD',
      receivingCurrencyAmount: 2_500n,
    },
  },
};

/** The example of a command, with the content type of its format. */
export function commandExample(type: CommandType, contentType: string): MessageExample {
  const headers = { 'content-type': contentType, ce_id: COMMAND_ID, 'expires-at': '2026-11-21T21:36:51Z' };
  return { name: type, ...COMMANDS[type], headers };
}

function published<Payload>(
  name: string,
  summary: string,
  idName: string,
  recordName: string,
  subject: string,
  payload: Payload,
  more: Record<string, string> = {},
): MessageExample<Payload> {
  const headers = { ...eventHeaders({ id: eventId(idName), recordName, subject, timeMs: AT_MS }), ...more };
  return { name, summary, headers, payload };
}

const TRANSACTION: Transaction = {
  id: TRANSACTION_ID,
  status: 'PENDING',
  type: 'INCOMING',
  destination: {
    destinationType: 'ACCOUNT',
    accountId: 'InternalAccount:1',
    currency: 'USD',
    otherFieldsJson: null,
  },
  customerId: 'Customer:1',
  platformCustomerId: null,
  receivedAmount: {
    amount: 9_007_199_254_740_993n,
    currency: { code: 'USD', name: null, symbol: null, decimals: 2, otherFieldsJson: null },
    otherFieldsJson: null,
  },
  settledAt: null,
  createdAt: '2026-11-21T20:36:51.167Z',
  updatedAt: '2026-11-21T20:36:51.167Z',
  description: null,
  counterpartyInformation: null,
  source: { sourceType: 'ACCOUNT', accountId: 'ExternalAccount:1', currency: 'USD', otherFieldsJson: null },
  reconciliationInstructions: { reference: 'REF-0002BR', otherFieldsJson: null },
  rateDetails: null,
  failureReason: null,
  otherFieldsJson: null,
};

const ACCEPTED: CommandResult = {
  commandKey: 'invoice-2041',
  commandType: 'transfer-in',
  commandId: COMMAND_ID,
  revision: 1,
  outcome: 'ACCEPTED',
  settledBy: 'ANSWER',
  httpStatus: 201,
  error: null,
  quote: null,
  transaction: TRANSACTION,
  rawResponse: null,
  warnings: [],
  attempts: 1,
  source: { topic: 'payments.commands.transfer-in.v1', partition: 4, offset: 485n },
  commandTimestamp: 1_795_293_411_156n,
  completedAt: BigInt(AT_MS),
};

const UNKNOWN: CommandResult = {
  ...ACCEPTED,
  outcome: 'UNKNOWN',
  settledBy: 'PROCESSOR',
  httpStatus: null,
  error: {
    code: 'UNDECIDABLE',
    message: 'a call was made, and nothing tells whether it took effect',
    details: null,
  },
  transaction: null,
};

export const RESULT_EXAMPLES: readonly MessageExample<CommandResult>[] = [
  published(
    'accepted',
    'The service took the command; it is not settled yet.',
    eventIdNames.result(TOPIC_PREFIX, ACCEPTED.commandKey, 1),
    'CommandResult',
    ACCEPTED.commandKey,
    ACCEPTED,
    {
      [REPLY_HEADER]: COMMAND_ID,
      [FINGERPRINT_HEADER]: fingerprintOf('transfer-in', ACCEPTED.commandKey, COMMANDS['transfer-in'].payload),
    },
  ),
  published(
    'unknown',
    'Money may have moved: an operator must look. A later revision says more.',
    eventIdNames.result(TOPIC_PREFIX, UNKNOWN.commandKey, 1),
    'CommandResult',
    UNKNOWN.commandKey,
    UNKNOWN,
  ),
];

export const TRANSACTION_STATUS_EXAMPLE: MessageExample<TransactionStatusChanged> = published(
  'completed',
  'A payment that was pending is done.',
  eventIdNames.transactionStatus(TOPIC_PREFIX, TRANSACTION_ID, 2),
  'TransactionStatusChanged',
  TRANSACTION_ID,
  {
    transactionId: TRANSACTION_ID,
    type: 'INCOMING',
    previousStatus: 'PENDING',
    status: 'COMPLETED',
    failureReason: null,
    customerId: 'Customer:1',
    platformCustomerId: null,
    quoteId: null,
    commandKey: ACCEPTED.commandKey,
    commandKeys: [ACCEPTED.commandKey],
    changedAt: '2026-11-21T20:38:02.004Z',
    observedAt: BigInt(AT_MS),
    observedBy: 'POLL',
    transaction: { ...TRANSACTION, status: 'COMPLETED' },
  },
);

export const QUOTE_STATUS_EXAMPLE: MessageExample<QuoteStatusChanged> = published(
  'new-quote',
  'A quote is seen for the first time.',
  eventIdNames.quoteStatus(TOPIC_PREFIX, QUOTE_ID, 1),
  'QuoteStatusChanged',
  QUOTE_ID,
  {
    quoteId: QUOTE_ID,
    previousStatus: null,
    status: 'PENDING',
    transactionId: TRANSACTION_ID,
    expiresAt: '2026-11-21T20:37:50.583Z',
    commandKey: 'rent-11',
    observedAt: BigInt(AT_MS),
    derivedFromTransaction: false,
  },
);

/** The example of a decision, with the content type of its format. */
export function decisionExample(contentType: string): MessageExample<OperatorDecision> {
  return {
    name: 'retry',
    summary: 'Has a command tried again whose first result is UNKNOWN.',
    headers: { 'content-type': contentType },
    payload: {
      decision: 'RETRY',
      expectedRevision: 1,
      transactionId: null,
      operator: 'dana',
      reason: 'ticket 4711',
    },
  };
}

export const HOLD_EXAMPLE: MessageExample<HoldOrder> = {
  name: 'hold',
  summary: 'Holds executions until an instant.',
  headers: { 'content-type': JSON_CONTENT_TYPE },
  payload: {
    action: 'HOLD',
    commandTypes: ['execute-quote'],
    operator: 'dana',
    reason: 'ticket 4712',
    until: '2026-11-21T22:00:00.000Z',
    at: '2026-11-21T20:37:31.406Z',
  },
};

export const DEAD_LETTER_EXAMPLE: MessageExample = {
  name: 'unreadable',
  summary: 'A command without its Avro frame.',
  headers: {
    'dlq-reason': 'UNREADABLE',
    'dlq-message': 'not in the Confluent wire format',
    'dlq-topic': 'payments.commands.transfer-in.v1',
    'dlq-partition': '4',
    'dlq-offset': '489',
    'dlq-timestamp': '2026-11-21T20:37:31.406Z',
  },
  payload: 'hello',
};
