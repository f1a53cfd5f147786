/** Which command an event names: the last that had an effect on the transaction, however the change was observed. */
import { describe, expect, test } from 'vitest';
import type { Carried } from '../../src/ledger/entry.ts';
import { encodeObservation, decodeObservation, type Observation } from '../../src/status/observation.ts';
import { reduce, type Reduction } from '../../src/status/reducer.ts';
import {
  COMMAND_KEYS_MAX,
  decodeTransactionState,
  encodeTransactionState,
  type TransactionState,
} from '../../src/status/transaction-state.ts';
import type { Quote, Transaction } from 'payment-processor-contract/types';
import { PLAIN_MANNER, SimulatedService } from './simulated-service.ts';

const ID = 'Transaction:1';
/** After everything that is seen here. */
const WRITTEN_MS = 1_000_000;
const EMPTY = new SimulatedService([], PLAIN_MANNER).view(
  { id: ID, changes: [{ atMs: 0, status: 'PENDING', failureReason: null }] },
  0,
);
const QUOTE = { id: 'Quote:1', status: 'PENDING', transactionId: ID, expiresAt: null } as unknown as Quote;

interface Step {
  readonly key?: string;
  readonly carried?: Carried;
  readonly status?: string;
  readonly quote?: string;
}

/** Each step begins after the previous one has ended. */
function observed({ carried, key, quote, status }: Step, index: number): Observation {
  const transaction: Transaction | null = status === undefined ? null : { ...EMPTY, status };
  return {
    transaction,
    quote: quote === undefined ? null : { ...QUOTE, status: quote },
    requestBeganMs: index * 100 + 1,
    requestEndedMs: index * 100 + 50,
    observedBy: key === undefined ? 'POLL' : 'COMMAND',
    observer: 'one',
    commandKey: key ?? null,
    carried: carried ?? {},
  };
}

/** Reduces one after the other; each observation and state is stored and read again, as between two owners. */
function fold(...steps: Step[]): { state: TransactionState; reductions: Reduction[] } {
  let state: TransactionState | undefined;
  const reductions = steps.map((step, index) => {
    const stored = decodeObservation(encodeObservation(observed(step, index)));
    if (stored === null) throw new Error('the observation cannot be read');
    const reduction = reduce(state, ID, stored, WRITTEN_MS);
    state = decodeTransactionState(encodeTransactionState(reduction.state));
    return reduction;
  });
  return { state: state!, reductions };
}

/** Of each event: status, last key, all keys, who saw it. */
function told(reductions: readonly Reduction[]) {
  return reductions.flatMap(({ transactionEvent: event }) =>
    event === null ? [] : [[event.status, event.commandKey, event.commandKeys.join(), event.observedBy]],
  );
}

describe('an event names', () => {
  test('the command that made the payment, no matter who saw the change', () => {
    const { reductions } = fold({ key: 'in', status: 'PENDING' }, { status: 'PROCESSING' }, { status: 'COMPLETED' });
    expect(told(reductions)).toEqual([
      ['PENDING', 'in', 'in', 'COMMAND'],
      ['PROCESSING', 'in', 'in', 'POLL'],
      ['COMPLETED', 'in', 'in', 'POLL'],
    ]);
  });

  test('of several commands the last that had an effect, and all of them, first to last', () => {
    const { reductions } = fold(
      { key: 'create', quote: 'PENDING' },
      { status: 'PENDING' },
      { key: 'execute', quote: 'PROCESSING' },
      { status: 'PROCESSING' },
      { key: 'reject', status: 'REJECTED' },
      { status: 'REFUNDED' },
    );
    expect(told(reductions)).toEqual([
      ['PENDING', 'create', 'create', 'POLL'],
      ['PROCESSING', 'execute', 'create,execute', 'POLL'],
      ['REJECTED', 'reject', 'create,execute,reject', 'COMMAND'],
      ['REFUNDED', 'reject', 'create,execute,reject', 'POLL'],
    ]);
  });

  test('none where the processor knows of none, and an answer that showed no effect teaches none', () => {
    const { reductions } = fold({ status: 'PENDING' }, { key: 'reject', status: 'REJECTED' });
    expect(told(reductions)).toEqual([
      ['PENDING', null, '', 'POLL'],
      ['REJECTED', 'reject', 'reject', 'COMMAND'],
    ]);
    const refused = { ...observed({ status: 'COMPLETED' }, 1), observedBy: 'COMMAND' as const };
    const { transactionEvent, state } = reduce(fold({ status: 'PENDING' }).state, ID, refused, WRITTEN_MS);
    expect(transactionEvent).toMatchObject({ commandKey: null, commandKeys: [], observedBy: 'COMMAND' });
    expect(state.commandKeys).toEqual([]);
  });

  test('the command whose word came late from then on, also where it shows nothing new', () => {
    const { reductions } = fold({ status: 'PENDING' }, { key: 'in', status: 'PENDING' }, { status: 'COMPLETED' });
    expect(told(reductions)).toEqual([
      ['PENDING', null, '', 'POLL'],
      ['COMPLETED', 'in', 'in', 'POLL'],
    ]);
  });

  test('two keys that were both accepted for one transaction, in order; the one that acts again comes last', () => {
    expect(fold({ key: 'one', quote: 'PROCESSING' }, { key: 'two', quote: 'PROCESSING' }).state.commandKeys).toEqual([
      'one',
      'two',
    ]);
    const again = fold({ key: 'one', quote: 'PENDING' }, { key: 'two' }, { key: 'one', quote: 'PROCESSING' });
    expect(again.state.commandKeys).toEqual(['two', 'one']);
  });

  test('the first command and the latest, where there are too many', () => {
    const keys = Array.from({ length: COMMAND_KEYS_MAX + 3 }, (_, index) => `key-${index}`);
    const { state } = fold(...keys.map((key) => ({ key })));
    expect(COMMAND_KEYS_MAX).toBe(16);
    expect(state.commandKeys).toEqual(['key-0', ...keys.slice(4)]);
  });

  test('the same command in the quote’s event, also where that follows from the transaction', () => {
    const { reductions } = fold(
      { key: 'create', quote: 'PENDING' },
      { key: 'execute', quote: 'PROCESSING' },
      { status: 'COMPLETED' },
    );
    const events = reductions.flatMap(({ quoteEvents }) => quoteEvents);
    expect(events.map(({ commandKey, derivedFromTransaction, status }) => [status, commandKey, derivedFromTransaction]))
      // prettier-ignore
      .toEqual([
        ['PENDING', 'create', false],
        ['PROCESSING', 'execute', false],
        ['COMPLETED', 'execute', true],
      ]);
  });
});

describe('headers', () => {
  const carried = { traceparent: '00-aa-bb-01', tracestate: 'v=1', 'correlation-id': 'order-7' };

  test('are those of the command that is named, also on what the poller saw', () => {
    const { reductions } = fold(
      { key: 'in', status: 'PENDING', carried },
      { status: 'PROCESSING' },
      { key: 'reject', status: 'REJECTED', carried: { 'correlation-id': 'order-8' } },
      { status: 'REFUNDED' },
      { key: 'plain' },
    );
    expect(reductions.map(({ state }) => state.carried)).toEqual([
      carried,
      carried,
      { 'correlation-id': 'order-8' },
      { 'correlation-id': 'order-8' },
      {},
    ]);
  });

  test.each(['traceparent', 'tracestate', 'correlation-id'])(
    'an observation with a %s that is too long is none',
    (name) => {
      const long = observed({ key: 'in', status: 'PENDING', carried: { [name]: 'x'.repeat(1025) } }, 0);
      expect(decodeObservation(encodeObservation(long))).toBeNull();
      const longest = observed({ key: 'in', status: 'PENDING', carried: { [name]: '\u{ffff}'.repeat(1024) } }, 0);
      expect(decodeObservation(encodeObservation(longest))).toEqual(longest);
    },
  );

  test('and keys that no command can have are none either', () => {
    for (const key of ['', 'x'.repeat(201), 'with blank', 'k.execute'])
      expect(decodeObservation(encodeObservation(observed({ key, status: 'PENDING' }, 0)))).toBeNull();
  });
});

test('a state never grows beyond what 16 keys and three headers take', () => {
  const widest = '\u{ffff}'.repeat(1024);
  const steps = Array.from({ length: 40 }, (_, index) => ({
    key: `${index}-`.padEnd(200, 'k'),
    carried: { traceparent: widest, tracestate: widest, 'correlation-id': widest },
  }));
  expect(encodeTransactionState(fold(...steps).state).length).toBeLessThan(16 * 1024);
});

test('what is known of a command alone is as young as its word, so that it is not forgotten at once', () => {
  const { state } = fold({ key: 'decided' });
  expect(state).toMatchObject({ status: null, seenEndedMs: 50, changes: 0 });
});
