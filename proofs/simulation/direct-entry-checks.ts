/** Direct checks of decisions on entries, and of what the lane remembers of entries. */
import { LaneClock } from '../../src/lanes/lane-clock.ts';
import { Memory } from '../../src/lanes/memory.ts';
import { Retention } from '../../src/lanes/retention.ts';
import { LaneTransaction } from '../../src/lanes/transaction.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { Decision } from '../../src/ledger/decision.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { ENTRY_PREFIX } from '../../src/ledger/ledger-records.ts';
import { decideByOperator } from '../../src/ledger/operator.ts';
import { planOf } from '../../src/ledger/plan.ts';
import { REQUOTES_MAX, quoteAgainOf } from '../../src/ledger/quote-again.ts';
import { verdictOf } from '../../src/ledger/verdict.ts';
import { takenUp } from '../../src/ledger/wrong-clocks.ts';
import { aPolicy, aQuote, aTransaction, doneWith, doubtful, entryAt, inDoubt } from '../../test/ledger/entries.ts';
import type { DirectCheck } from './direct-checks.ts';
import { MemoryIndex } from './memory-index.ts';

const NOW_MS = 2_000;
const HOUR_MS = 3_600_000;
const LARGE_BYTES = 5 * 1024 * 1024;
const policy = aPolicy();

function answered(entry: Entry, reading: Parameters<typeof verdictOf>[0], attemptId = 'attempt'): Decision {
  return decide(entry, { kind: 'answered', attemptId, reading, beganMs: NOW_MS, nowMs: NOW_MS }, policy);
}

/** Whether a key that was done at the instant 1 is kept, with a retention of 1 ms. */
function nothingForgotten(memory: Memory, admitted: { upToMs: () => number }): boolean {
  const expired = {
    checkpoint: () => ({ nextOffset: 0n, timestampMs: NOW_MS, appliedMs: NOW_MS }),
    expired: (_lane: number, before: { doneMs: number }) =>
      before.doneMs > 1 ? [ENTRY_PREFIX + entryAt('transfer-in').key] : [],
  };
  const parts = {
    lane: 0,
    index: Object.assign(new MemoryIndex(1), expired),
    clock: { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS },
    retention: { doneMs: 1, transactionMs: 1 },
  };
  const options = { commit: 1, lane: 0, ledgerTopic: 'ledger', inputTopics: new Set<string>(), unitsMax: Infinity };
  const transaction = new LaneTransaction(options);
  new Retention(parts, memory, admitted).gather(transaction);
  return transaction
    .toCommit({ token: 'own', topicIds: {}, epochs: {} }, new Map())
    .records.every(({ value }) => value !== null);
}

/** A lane's owner looks at its clock before and after somebody sets it. At first it agrees with the brokers' clock. */
function lookedAt(unfinished: Map<string, Entry>, beforeMs: number, afterMs: number): LaneClock {
  let nowMs = beforeMs;
  const clock = { nowMs: () => nowMs, monotonicMs: () => 0 };
  const index = Object.assign(new MemoryIndex(1), {
    checkpoint: () => ({ nextOffset: 0n, timestampMs: beforeMs, appliedMs: 0 }),
  });
  const looking = new LaneClock({ clock, index, lane: 0, policy }, { unfinished });
  nowMs = afterMs;
  looking.look();
  return looking;
}

function doneEntry(): Entry {
  return doneWith(entryAt('transfer-in'), 'ACCEPTED');
}

/** The command's current call got a quote that expired at once. */
function quoteRanOut(): Entry {
  const quoted = {
    quoteId: 'Quote:1',
    transactionId: 'Transaction:1',
    customerId: null,
    expiresAtMs: NOW_MS,
    receivedMs: NOW_MS,
    sourceAccountId: null,
    destinationAccountId: null,
    receivingAmount: null,
    receivingCurrencyCode: null,
  };
  return { ...entryAt('create-quote'), immediate: true, step: 'EXECUTE', quoted, quotesRunOut: REQUOTES_MAX };
}

const retry = {
  id: 'event-1',
  ...{ decision: 'RETRY', expectedRevision: 1, transactionId: null, operator: 'an operator', reason: 'tried' },
};

export const ENTRY_CHECKS: readonly DirectCheck[] = [
  {
    wrong: 'an answer to an earlier attempt changes an entry',
    holds: () =>
      answered(entryAt('transfer-in'), { kind: 'never-sent', reason: 'refused' }, 'an earlier one').kind ===
      'unchanged',
  },
  {
    wrong: 'a refusal after a call that was turned away is taken for the word on that call',
    holds: () => {
      const error = { code: 'CONFLICT', message: 'was executed before', details: null };
      const reading = { kind: 'conflict' as const, httpStatus: 409, error, rawResponse: '' };
      return answered({ ...entryAt('execute-quote'), turnedAway: 1 }, reading).kind === 'next';
    },
  },
  {
    wrong: 'an answer about another transaction settles a rejection',
    holds: () => {
      const transaction = aTransaction({ id: 'Transaction:another' });
      const success = { httpStatus: 200, quote: null, transaction, rawResponse: null, warnings: [] };
      const reading = { kind: 'accepted' as const, ...success };
      return answered(entryAt('reject-transaction'), reading).kind === 'next';
    },
  },
  {
    wrong: 'a commit of another owner makes a lane forget its own',
    holds: () => {
      const memory = new Memory(new MemoryIndex(1), 0, 'own');
      memory.putEntry(doneEntry(), 1);
      memory.applied('of another owner', 1);
      return memory.entry(doneEntry().key) !== undefined;
    },
  },
  {
    wrong: 'a key is forgotten that the lane has just used again',
    holds: () => {
      const memory = new Memory(new MemoryIndex(1), 0, 'own');
      memory.putEntry(entryAt('transfer-in'), 1);
      return nothingForgotten(memory, { upToMs: () => Infinity });
    },
  },
  {
    wrong: 'a key is forgotten while copies that were published in its time wait to be admitted',
    holds: () => nothingForgotten(new Memory(new MemoryIndex(1), 0, 'own'), { upToMs: () => 1 }),
  },
  {
    wrong: 'a transaction takes more than a batch may have',
    holds: () => {
      const options = { lane: 0, commit: 1, ledgerTopic: 'ledger', inputTopics: new Set<string>(), unitsMax: Infinity };
      const transaction = new LaneTransaction(options);
      transaction.add({ topic: 'ledger', partition: 0, key: 'key', value: Buffer.alloc(LARGE_BYTES), headers: {} });
      return transaction.isFull();
    },
  },
  {
    wrong: 'a look-up that finds another payment settles the doubt',
    holds: () => {
      const finding = { kind: 'found' as const, transaction: aTransaction({ type: 'OUTGOING', status: 'REJECTED' }) };
      const event = { kind: 'looked-up' as const, attempts: 1, finding, effectStatus: null, nowMs: NOW_MS };
      const decision = decide(doubtful(entryAt('reject-transaction')), event, policy);
      return decision.kind === 'finish' && decision.result.outcome === 'UNKNOWN';
    },
  },
  {
    wrong: 'a transaction is looked up before the settling time is over',
    holds: () => planOf(doubtful(entryAt('execute-quote')), 1_000, policy).kind === 'doubt',
  },
  {
    wrong: 'a command whose expires-at could not be read is retried',
    holds: () => {
      const entry = doneWith({ ...entryAt('transfer-in'), isExpiryUnreadable: true }, 'INVALID');
      return decideByOperator(entry, retry, NOW_MS, policy).kind === 'refused';
    },
  },
  {
    wrong: 'a 409 after doubt does not lead to a look-up where the key is honoured',
    holds: () => {
      const error = { code: 'CONFLICT', message: '', details: null };
      const reading = { kind: 'conflict' as const, httpStatus: 409, error, rawResponse: '' };
      return (
        verdictOf(reading, 'SAME_KEY', { inDoubt: true, mayBeUnderWay: false, canBeLookedUp: true }).kind === 'look-up'
      );
    },
  },
  {
    wrong: 'a look-up that was asked for before the latest attempt settles it',
    holds: () => {
      const finding = { kind: 'found' as const, transaction: aTransaction() };
      const event = { kind: 'looked-up' as const, attempts: 1, finding, effectStatus: null, nowMs: NOW_MS };
      return decide({ ...doubtful(entryAt('execute-quote')), attempts: 2 }, event, policy).kind === 'unchanged';
    },
  },
  {
    wrong: 'a page of a proxy refuses a command',
    holds: () => {
      const error = { code: null, message: '', details: null };
      const reading = { kind: 'not-here' as const, httpStatus: 404, serviceFails: false, error, rawResponse: '' };
      return (
        verdictOf(reading, 'SAME_KEY', { inDoubt: false, mayBeUnderWay: false, canBeLookedUp: false }).kind === 'doubt'
      );
    },
  },
  {
    wrong: 'a page of a proxy is taken for the answer to the first call',
    holds: () => {
      const error = { code: null, message: '', details: null };
      const reading = { kind: 'refused' as const, httpStatus: 400, error, rawResponse: '' };
      return (
        verdictOf(reading, 'SAME_KEY', { inDoubt: true, mayBeUnderWay: false, canBeLookedUp: false }).kind === 'wait'
      );
    },
  },
  {
    wrong: 'a transaction that was seen SENT, and is PENDING now, proves that nothing took effect',
    holds: () => {
      const finding = { kind: 'found' as const, transaction: aTransaction() };
      const event = { kind: 'looked-up' as const, attempts: 1, finding, effectStatus: 'SENT', nowMs: NOW_MS };
      const decision = decide(doubtful(entryAt('execute-quote')), event, policy);
      return decision.kind === 'next' && decision.entry.phase.state === 'DOUBTFUL';
    },
  },
  {
    wrong: 'a refusal is taken for the answer of a first call that may still be under way',
    holds: () => {
      const error = { code: 'IN_PROGRESS', message: '', details: null };
      const reading = { kind: 'refused' as const, httpStatus: 422, error, rawResponse: '' };
      return answered({ ...inDoubt(entryAt('transfer-in')), lastEndedMs: NOW_MS - 1 }, reading).kind === 'next';
    },
  },
  {
    wrong:
      'a refusal that was long on its way is taken for the answer of a first call that was under way when it began',
    holds: () => {
      const error = { code: 'IN_PROGRESS', message: '', details: null };
      const reading = { kind: 'refused' as const, httpStatus: 422, error, rawResponse: '' };
      const underWay = { ...inDoubt(entryAt('transfer-in')), lastEndedMs: NOW_MS - 1 };
      const late = {
        kind: 'answered' as const,
        attemptId: 'attempt',
        reading,
        beganMs: NOW_MS,
        nowMs: NOW_MS + HOUR_MS,
      };
      return decide(underWay, late, policy).kind === 'next';
    },
  },
  {
    wrong: 'the settling time of a call that was cut off counts from then, not from its deadline',
    holds: () => {
      const lost = { kind: 'doubt' as const, httpStatus: null, reason: 'lost', rawResponse: null };
      const decision = answered(entryAt('execute-quote'), lost);
      const endsMs = NOW_MS + policy.apiTimeoutMs;
      return decision.kind === 'next' && decision.entry.lastEndedMs === endsMs;
    },
  },
  {
    wrong: 'a key is used when the call may arrive after the service forgot it',
    holds: () => {
      const entry = { ...doubtful(entryAt('transfer-in')), deadlineMs: Infinity };
      return planOf(entry, policy.idempotencyRetentionMs, policy).kind === 'give-up';
    },
  },
  {
    wrong: 'another quote is paid on a look-up from before the first ran out',
    holds: () => {
      const unexecuted = { by: 'LOOK_UP' as const, attempts: 1 };
      return planOf({ ...inDoubt(quoteRanOut()), unexecuted, quotesRunOut: 0 }, NOW_MS, policy).kind === 'doubt';
    },
  },
  {
    wrong: 'a quote that the service executed as it created it is executed again',
    holds: () => {
      const quote = aQuote({ status: 'PROCESSING', transactionId: 'Transaction:1' });
      const created = { kind: 'accepted' as const, httpStatus: 201, quote, transaction: null };
      const creating: Entry = { ...entryAt('create-quote'), immediate: true, step: 'CREATE' };
      return answered(creating, { ...created, rawResponse: null, warnings: [] }).kind === 'finish';
    },
  },
  {
    wrong: 'quotes that have run out when they come are made anew without end',
    holds: () => quoteAgainOf(quoteRanOut(), NOW_MS)?.kind === 'expire',
  },
  {
    wrong: 'a service that says Retry-After: 0 is called again at once',
    holds: () => {
      const told = { kind: 'told-to-wait' as const, httpStatus: 429, retryAfterMs: 0, reason: 'HTTP 429' };
      const decision = answered(entryAt('transfer-in'), told);
      return (
        decision.kind === 'next' && decision.entry.phase.state === 'PARKED' && decision.entry.phase.untilMs > NOW_MS
      );
    },
  },
  {
    wrong: 'a doubt that a slow clock wrote is settled at once by the next owner',
    holds: () =>
      planOf(takenUp(doubtful(entryAt('execute-quote')), HOUR_MS - 1, policy), HOUR_MS - 1, policy).kind === 'doubt',
  },
  {
    wrong: 'a doubt is settled early once the clock of its owner is set forward',
    holds: () => {
      const unfinished = new Map([['key', doubtful(entryAt('execute-quote'))]]);
      lookedAt(unfinished, NOW_MS, HOUR_MS);
      return unfinished.get('key')?.lastEndedMs === HOUR_MS;
    },
  },
  {
    wrong: 'a key is trusted for longer once the clock of its owner is set back',
    holds: () => {
      const unfinished = new Map([['key', doubtful(entryAt('transfer-in'))]]);
      const before = unfinished.get('key')?.firstSentMs ?? NaN;
      lookedAt(unfinished, HOUR_MS, NOW_MS);
      return unfinished.get('key')?.firstSentMs === before - (HOUR_MS - NOW_MS);
    },
  },
  {
    wrong: 'a call is dated by a clock that is ahead of the brokers',
    holds: () => lookedAt(new Map(), NOW_MS, HOUR_MS).notBeforeMs() === NOW_MS,
  },
  {
    wrong: 'a first sending in the future makes a key trusted for longer',
    holds: () =>
      takenUp({ ...doubtful(entryAt('transfer-in')), firstSentMs: HOUR_MS }, NOW_MS, policy).firstSentMs === NOW_MS,
  },
];
