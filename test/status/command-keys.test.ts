/** Which command an event names: the last that had an effect on the transaction, however the change was observed. */
import { describe, expect, test } from 'vitest';
import type { Carried } from '../../src/ledger/entry.ts';
import { encodeObservation, decodeObservation, type Observation } from '../../src/status/observation.ts';
import { reduce } from '../../src/status/reducer.ts';
import {
  COMMAND_KEYS_MAX,
  decodeTransactionState,
  encodeTransactionState,
  type TransactionState,
} from '../../src/status/transaction-state.ts';
import type { Quote, QuoteStatusChanged } from 'payment-processor-contract/types';
import { aTransaction } from '../ledger/entries.ts';
import { anObservation, answerOf } from './observations.ts';

const ID = 'Transaction:1';
/** After everything that is seen here. */
const WRITTEN_MS = 1_000_000;
const QUOTE = { id: 'Quote:1', status: 'PENDING', transactionId: ID, expiresAt: null } as unknown as Quote;

interface Step {
  readonly key?: string;
  readonly carried?: Carried;
  readonly status?: string;
  readonly quote?: string;
}

/** Each step begins after the previous one has ended. */
function observed({ carried = {}, key, quote, status }: Step, index: number): Observation {
  const shown = {
    transaction: status === undefined ? null : aTransaction({ type: 'INCOMING', status }),
    quote: quote === undefined ? null : { ...QUOTE, status: quote },
    ...{ requestBeganMs: index * 100 + 1, requestEndedMs: index * 100 + 50, carried },
  };
  return key === undefined ? anObservation(shown) : answerOf(key, shown);
}

/**
 * Reduces one after the other; each observation and state is stored and read again, as between two owners.
 * @returns of each event of the transaction: status, last key, all keys, who saw it; and the quote's events
 */
function fold(...steps: Step[]): {
  state: TransactionState;
  told: unknown[];
  ofQuote: QuoteStatusChanged[];
} {
  let state: TransactionState | undefined;
  const ofQuote: QuoteStatusChanged[] = [];
  const told = steps.flatMap((step, index) => {
    const stored = decodeObservation(encodeObservation(observed(step, index)));
    if (stored === null) throw new Error('the observation cannot be read');
    const { transactionEvent: event, ...reduced } = reduce(state, ID, stored, WRITTEN_MS);
    ofQuote.push(...reduced.quoteEvents);
    state = decodeTransactionState(encodeTransactionState(reduced.state));
    return event === null ? [] : [[event.status, event.commandKey, event.commandKeys.join(), event.observedBy]];
  });
  return { state: state!, told, ofQuote };
}

describe('an event names', () => {
  test('the command whose word came late from then on, also where it shows nothing new', () => {
    const { told } = fold({ status: 'PENDING' }, { key: 'in', status: 'PENDING' }, { status: 'COMPLETED' });
    expect(told).toEqual([
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

  test('the last command in the quote\u2019s event as well, where that follows from the transaction', () => {
    const { ofQuote } = fold(
      { key: 'create', quote: 'PENDING' },
      { key: 'execute', quote: 'PROCESSING' },
      { status: 'COMPLETED' },
    );
    const { commandKey, derivedFromTransaction, status } = ofQuote.at(-1)!;
    expect([status, commandKey, derivedFromTransaction]).toEqual(['COMPLETED', 'execute', true]);
  });
});

describe('headers', () => {
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
