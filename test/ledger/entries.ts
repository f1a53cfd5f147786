/** Entries and a policy for tests of the ledger's decisions. Times are small numbers, milliseconds. */
import { canonicalJson } from 'payment-processor-contract/command-fields';
import { COMMAND_TYPES, type CommandType, type Outcome } from 'payment-processor-contract/commands';
import { parseLossless } from 'payment-processor-contract/lossless-json';
import type { CommandResult, Quote, Transaction } from 'payment-processor-contract/types';
import { readQuote, readTransaction } from '../../src/api/wire.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Decision } from '../../src/ledger/decision.ts';
import { UNTOUCHED, type Entry, type Quoted } from '../../src/ledger/entry.ts';
import type { LedgerPolicy } from '../../src/ledger/settlement.ts';

const HOUR_MS = 3_600_000;

const FIELDS: Record<CommandType, object> = {
  'create-quote': {
    source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:1' },
    destination: { destinationType: 'ACCOUNT', accountId: 'ExternalAccount:2' },
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: 100n,
    immediatelyExecute: false,
  },
  'execute-quote': { quoteId: 'Quote:1', transactionId: 'Transaction:1' },
  'transfer-in': {
    source: { accountId: 'ExternalAccount:1' },
    destination: { accountId: 'InternalAccount:1' },
    amount: 5n,
  },
  'reject-transaction': { transactionId: 'Transaction:1' },
  'simulate-uma-receive': {
    senderUmaAddress: '$a@example.com',
    receivingCurrencyCode: 'USD',
    receivingCurrencyAmount: 5n,
    customerId: 'Customer:1',
  },
};

export function aPolicy(changes: Partial<LedgerPolicy> = {}): LedgerPolicy {
  return {
    apiTimeoutMs: 1_000,
    callsEndWithinMs: 10_000,
    callerId: 'caller',
    settlingTimeMs: 500,
    idempotentOperations: new Set(['transfer-in']),
    idempotencyRetentionMs: 24 * HOUR_MS,
    immediateExecution: 'two-step',
    commandMaxAgeMs: Object.fromEntries(COMMAND_TYPES.map((type) => [type, HOUR_MS])) as Record<CommandType, number>,
    ...changes,
  };
}

/** An entry whose first call is on its way, since 1,000 ms. */
export function entryAt(commandType: CommandType): Entry {
  return {
    key: 'key-1',
    commandType,
    revision: 1,
    fingerprint: 'fingerprint',
    fieldsJson: canonicalJson(FIELDS[commandType]),
    commandId: null,
    origin: { topic: 'topic', partition: 0, offset: 7n, timestampMs: 0 },
    carried: {},
    deadlineMs: HOUR_MS,
    expiresAtMs: null,
    isExpiryUnreadable: false,
    step: 'SINGLE',
    immediate: false,
    ...UNTOUCHED,
    phase: { state: 'INTENT', attemptId: 'attempt', processId: 'process', atMs: 1_000, timeoutMs: 1_000 },
  };
}

/** The same, with an earlier call that may have taken effect. */
export function inDoubt(entry: Entry): Entry {
  return { ...entry, attempts: 1, firstSentMs: 500, lastEndedMs: 900, waits: 1 };
}

/** The same, its doubt about to be settled. */
export function doubtful(entry: Entry): Entry {
  return { ...inDoubt(entry), phase: { state: 'DOUBTFUL', settleAtMs: 1_400, reason: 'HTTP 503', refusal: null } };
}

/** The same, UNKNOWN. */
export function unknown(entry: Entry): Entry {
  return doneWith(inDoubt(entry), 'UNKNOWN');
}

export function doneWith(entry: Entry, outcome: Outcome): Entry {
  const result = { value: Buffer.from('event'), headers: {} };
  return { ...entry, phase: { state: 'DONE', outcome, completedMs: 2_000, result } };
}

/** The quote that a two-step command got, of which the answer said little. */
export function aQuoted(changes: Partial<Quoted> = {}): Quoted {
  return {
    ...{ quoteId: 'Quote:1', transactionId: 'Transaction:1', customerId: null, expiresAtMs: null, receivedMs: 0 },
    ...{ sourceAccountId: null, destinationAccountId: null, receivingAmount: null, receivingCurrencyCode: null },
    ...changes,
  };
}

/** What is decided when the entry's instant has come. */
export function due(entry: Entry, nowMs: number, policy = aPolicy()): Decision {
  const attempt = { attemptId: 'next', processId: 'process', notBeforeMs: nowMs };
  return decide(entry, { kind: 'due', nowMs, attempt }, policy);
}

export function entryOf(decision: Decision): Entry {
  if (decision.kind !== 'next') throw new Error(`it came to ${decision.kind}`);
  return decision.entry;
}

export function resultOf(decision: Decision): CommandResult {
  if (decision.kind !== 'finish') throw new Error(`it came to ${decision.kind}`);
  return decision.result;
}

const TRANSACTION = readTransaction(parseLossless('{"id":"Transaction:1","status":"PENDING"}'))!.value;

/** As a look-up finds it. */
export function aTransaction(changes: Partial<Transaction> = {}): Transaction {
  return { ...TRANSACTION, ...changes };
}

export function aQuote(fields: object): Quote {
  return readQuote(parseLossless(JSON.stringify({ id: 'Quote:1', ...fields })))!.value;
}
