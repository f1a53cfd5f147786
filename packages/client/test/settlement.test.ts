/** What is said of a payment that is followed by its command's key, whatever was read of it by then. */
import { readResult } from '../src/answers.ts';
import type { LaneReader } from '../src/lane-reader.ts';
import { describe, expect, test } from 'vitest';
import type { PaymentEvent, Stream } from '../src/events.ts';
import type { Listener } from '../src/live-events.ts';
import { onAbort } from '../src/on-abort.ts';
import { followPayment, type Settlement, type SettlementOptions } from '../src/settlement.ts';
import type { Outcome, SettledBy } from 'payment-processor-contract/commands';
import type { CommandResult, Transaction } from 'payment-processor-contract/types';
import { resultOf } from './result-of.ts';

const KEY = 'invoice';
const ID = 'Transaction:1';
const CONFLICT = result('CONFLICT', { offset: 0n, revision: 0 });

interface Given {
  offset?: bigint;
  revision?: number;
  id?: string | null;
  status?: string;
  settledBy?: SettledBy;
  failureReason?: string | null;
}

function envelope(topic: string, key: string, offset: bigint) {
  const id = `${topic}-${offset}`;
  return { topic, partition: 0, offset, timestampMs: 1_700_000_000_000, key, id, uniqueId: id, headers: {} };
}

function result(
  outcome: Outcome,
  { id = ID, offset = 1n, revision = 1, settledBy = 'ANSWER', status = 'PENDING' }: Given = {},
  more: Partial<CommandResult> = {},
): PaymentEvent {
  const transaction = id === null ? null : ({ id, status, failureReason: null } as Transaction);
  const named = outcome === 'ACCEPTED' ? transaction : null;
  const value = resultOf(KEY, { outcome, revision, settledBy, transaction: named, ...more });
  return { ...envelope('results', KEY, offset), kind: 'result', value } as PaymentEvent;
}

function change(
  status: string,
  { failureReason = null, id = ID, offset = 1n }: Given = {},
  commandKeys = [KEY],
): PaymentEvent {
  const value = { transactionId: id, status, failureReason, commandKeys, observedAt: 1_700_000_000_200n };
  return { ...envelope('changes', id ?? '', offset), kind: 'transaction-status', value } as unknown as PaymentEvent;
}

function unreadable(topic: string, key: string, offset: bigint): PaymentEvent {
  return { ...envelope(topic, key, offset), kind: 'unreadable', problem: 'a later release', bytes: null };
}

/** Topics that hold some events, and get others while the payment is followed. */
class Topics {
  readonly reads: string[] = [];
  readonly #kept: Record<Stream, readonly PaymentEvent[]>;
  readonly #listeners = new Map<Stream, Set<Listener>>();
  /** What comes during the next reading of its stream. */
  readonly meanwhile: [Stream, PaymentEvent][] = [];
  /** What comes at the end of the next reading, and then of the one after it. */
  readonly #coming: [Stream, PaymentEvent | Error][];

  constructor(results: PaymentEvent[], changes: PaymentEvent[] = [], coming: [Stream, PaymentEvent | Error][] = []) {
    this.#kept = { results, 'transaction-status': changes, 'quote-status': [] };
    this.#coming = coming;
  }

  follow(options: Partial<SettlementOptions> = {}): Promise<Settlement> {
    const live = (stream: Stream) => ({
      refusal: () => null,
      caughtUp: async (_place: unknown, signal: AbortSignal) => {
        const isOver = this.#coming.some(([, event]) => event instanceof Error);
        while (this.#coming.length > 0) this.#next();
        // As where the reader has ended.
        if (isOver) await new Promise((resolve) => onAbort(signal, () => resolve(undefined)));
        return !isOver;
      },
      listen: (_name: string, listener: Listener) => {
        const listeners = this.#listeners.get(stream) ?? new Set();
        this.#listeners.set(stream, listeners.add(listener));
        return () => void listeners.delete(listener);
      },
    });
    return followPayment(
      KEY,
      {
        results: live('results'),
        changes: async () => live('transaction-status'),
        read: async ({ key, sinceMs, stream }, onEvent) => {
          this.reads.push(`${stream} ${key ?? 'all'} ${sinceMs === null ? 'whole' : 'since'}`);
          for (const event of this.#kept[stream]) if (key === null || event.key === key) onEvent(event);
          for (const [of, event] of this.meanwhile) if (of === stream) this.#give(of, event);
          setTimeout(() => this.#next(), 5);
          return true;
        },
      },
      { timeoutMs: 300, ...options },
    );
  }

  get listening(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  #next(): void {
    const [stream, event] = this.#coming.shift() ?? [];
    if (stream === undefined || event === undefined) return;
    this.#give(stream, event);
    setTimeout(() => this.#next(), 5);
  }

  #give(stream: Stream, event: PaymentEvent | Error): void {
    for (const listener of this.#listeners.get(stream) ?? []) {
      if (event instanceof Error) listener.onEnd(event);
      else listener.onEvent(event);
    }
  }
}

/** Of a command that was published a week after the others. */
const WEEK_LATER = {
  source: { topic: 'commands', partition: 0, offset: 7n },
  ...{ commandTimestamp: 1_700_700_000_000n, completedAt: 1_700_700_000_100n },
};

function followed(results: PaymentEvent[], changes: PaymentEvent[] = []): Promise<Settlement> {
  return new Topics(results, changes).follow();
}

const settled = (status: string) => ({ kind: 'settled', key: KEY, status, transactionId: ID });

test('a key that was forgotten and used again is its later command, whatever revision the earlier one had', async () => {
  const later = result('ACCEPTED', { offset: 3n }, WEEK_LATER);
  const earlier = [result('UNKNOWN', { offset: 1n }), result('EXPIRED', { offset: 2n, revision: 2 })];
  for (const results of [
    [...earlier, later],
    [later, ...earlier],
  ])
    expect(await followed(results, [change('COMPLETED')])).toMatchObject(settled('COMPLETED'));
});

test('a result that names no transaction is not settled by that of an earlier command of its key', async () => {
  const earlier = result('ACCEPTED', { offset: 1n });
  const later = result('ACCEPTED', { id: null, offset: 2n }, WEEK_LATER);
  const open = { kind: 'open', status: null, transactionId: null };
  expect(await followed([earlier, later], [change('COMPLETED')])).toMatchObject(open);
});

test.each([
  ['INVALID', 'UNREADABLE_COMMAND'],
  ['FAILED', 'SET_ASIDE'],
] as const)('a message that nobody read, %s with %s, is not the command of a fingerprint', async (outcome, code) => {
  const unread = result(outcome, { offset: 2n }, { error: { code, message: '', details: null } });
  const topics = new Topics([result('ACCEPTED'), unread], [change('COMPLETED')]);
  expect(await topics.follow({ fingerprint: 'mine' })).toMatchObject({ kind: 'settled', status: 'COMPLETED' });
});

describe('a payment that is followed is settled', () => {
  test.each(['COMPLETED', 'FAILED', 'REJECTED', 'REFUNDED', 'EXPIRED'])(
    'once its transaction is %s',
    async (status) => {
      const topics = new Topics(
        [CONFLICT, result('ACCEPTED')],
        [change('PENDING', { offset: 1n })],
        [
          ['transaction-status', change('PROCESSING', { offset: 2n })],
          ['transaction-status', change(status, { offset: 3n })],
        ],
      );
      expect(await topics.follow()).toMatchObject({ kind: 'settled', key: KEY, status, transactionId: ID });
      expect(topics.listening).toBe(0);
    },
  );

  test('by what the topics hold, and the last of it counts, in whatever order it is seen', async () => {
    const topics = new Topics(
      [result('ACCEPTED')],
      [change('REFUNDED', { offset: 9n }), change('COMPLETED', { offset: 8n })],
    );
    expect(await topics.follow()).toMatchObject({ kind: 'settled', status: 'REFUNDED' });
    expect(topics.reads).toEqual(['results invoice whole', 'transaction-status Transaction:1 since']);
  });

  test('by the last change, not by a copy of an earlier one, which a mirror makes after a crash', async () => {
    const completed = change('COMPLETED', { offset: 1n });
    const changes = [completed, change('REFUNDED', { offset: 2n }), { ...completed, offset: 3n }];
    for (const seen of [changes, changes.toReversed()])
      expect(await followed([result('ACCEPTED')], seen)).toMatchObject(settled('REFUNDED'));
  });

  const [accepted, unnamed] = [result('ACCEPTED'), result('ACCEPTED', { id: null })];
  const byOperator = result('ACCEPTED', { settledBy: 'OPERATOR' });
  const ranOut = change('EXPIRED', { id: 'Transaction:0', offset: 7n });
  const open = (status: string | null) => ({ kind: 'open', status });
  test.each<[string, PaymentEvent, PaymentEvent[], object]>([
    ['by an event that names no command', accepted, [change('COMPLETED', {}, [])], settled('COMPLETED')],
    ['by its own, beside a quote that ran out', accepted, [ranOut, change('COMPLETED')], settled('COMPLETED')],
    ['not by that of a replaced quote', unnamed, [{ ...ranOut, offset: 1n }], open(null)],
    ['by the one beside it', unnamed, [ranOut, change('COMPLETED', { offset: 2n })], settled('COMPLETED')],
    ['by the only one that names it', unnamed, [change('COMPLETED')], settled('COMPLETED')],
    ['not where an operator said that one is paid that expired', byOperator, [change('EXPIRED')], open('EXPIRED')],
    ['nor one whose quote expired', byOperator, [change('FAILED', { failureReason: 'QUOTE_EXPIRED' })], open('FAILED')],
    [
      'by a last change that names it no more',
      unnamed,
      [change('COMPLETED'), change('REFUNDED', { offset: 2n }, [])],
      settled('REFUNDED'),
    ],
    ['not if the last cannot be read', unnamed, [change('COMPLETED'), unreadable('changes', ID, 2n)], open(null)],
  ])('by the transaction of its result, or that names its command: %s', async (_, given, changes, said) => {
    expect(await followed([given], changes)).toMatchObject(said);
  });

  test('by the answer itself, where it is the last that was seen, once the whole lane is read', async () => {
    const topics = new Topics([result('ACCEPTED', { status: 'REJECTED' })]);
    expect(await topics.follow()).toMatchObject(settled('REJECTED'));
    expect(topics.reads.at(-1)).toBe('transaction-status Transaction:1 whole');
  });

  test('by what its lanes hold by then, not by what comes first after an outage', async () => {
    const refunded: [Stream, PaymentEvent][] = [
      ['transaction-status', change('COMPLETED', { offset: 2n })],
      ['transaction-status', change('REFUNDED', { offset: 3n })],
    ];
    const topics = new Topics([result('ACCEPTED')], [change('PENDING')], [...refunded]);
    expect(await topics.follow()).toMatchObject(settled('REFUNDED'));
    const retried: [Stream, PaymentEvent][] = [
      ['results', result('EXPIRED', { offset: 2n, revision: 2 })],
      ['results', result('ACCEPTED', { offset: 3n, revision: 3 })],
    ];
    const decided = new Topics([result('UNKNOWN')], [change('COMPLETED')], retried);
    expect(await decided.follow()).toMatchObject({ kind: 'settled', result: { revision: 3 } });
    const nameless = new Topics([unnamed], [change('PENDING')], [...refunded]);
    expect(await nameless.follow()).toMatchObject(settled('REFUNDED'));
  });

  test('by what its lanes hold by then, though it came while they were read', async () => {
    const refunded = new Topics([result('ACCEPTED')], [], [['transaction-status', change('REFUNDED', { offset: 3n })]]);
    refunded.meanwhile.push(['transaction-status', change('COMPLETED', { offset: 2n })]);
    expect(await refunded.follow()).toMatchObject(settled('REFUNDED'));
    const retried: [Stream, PaymentEvent][] = [['results', result('ACCEPTED', { offset: 3n, revision: 3 })]];
    const decided = new Topics([], [change('COMPLETED')], retried);
    decided.meanwhile.push(['results', result('EXPIRED', { offset: 2n, revision: 2 })]);
    expect(await decided.follow()).toMatchObject({ kind: 'settled', result: { revision: 3 } });
  });

  test('by what follows on an operator decision', async () => {
    const topics = new Topics(
      [result('UNKNOWN')],
      [change('COMPLETED')],
      [['results', result('ACCEPTED', { offset: 2n, revision: 2 })]],
    );
    expect(await topics.follow()).toMatchObject({ kind: 'settled', result: { revision: 2 } });
  });
});

test('a payment of other fields under the same key is not taken for this one, where the fingerprint is given', async () => {
  const other = result('ACCEPTED');
  other.headers['command-fingerprint'] = 'other-fields';
  const topics = (): Topics => new Topics([other], [change('COMPLETED')]);
  expect(await topics().follow({ fingerprint: 'my-fields' })).toMatchObject({ kind: 'nothing-known' });
  expect(await topics().follow({ fingerprint: 'other-fields' })).toMatchObject({ kind: 'settled' });
  expect(await topics().follow()).toMatchObject({ kind: 'settled' });
});

describe('a payment that was not accepted is known not to be', () => {
  test.each(['REFUSED', 'INVALID', 'EXPIRED', 'FAILED'] as const)('when the result is %s', async (outcome) => {
    expect(await followed([result(outcome)])).toMatchObject({ kind: 'not-accepted', result: { outcome } });
  });

  test('unless a later revision in the lane says otherwise', async () => {
    const lane = [result('EXPIRED'), result('ACCEPTED', { offset: 2n, revision: 2 })];
    expect(await followed(lane, [change('COMPLETED')])).toMatchObject({ kind: 'settled' });
  });

  test('unless a later result cannot be read, also where a mirror copies the earlier one again', async () => {
    const lane = [result('EXPIRED'), unreadable('results', KEY, 2n), { ...result('EXPIRED'), offset: 3n }];
    const problem = expect.stringContaining('results/0/2: a later release') as string;
    for (const seen of [lane, lane.toReversed(), lane.slice(0, 2)])
      expect(await followed(seen)).toMatchObject({ kind: 'nothing-known', problem });
  });
});

describe('when the time is up', () => {
  test('the last status is given, and that nothing is certain', async () => {
    const open = { kind: 'open', status: 'SENT', transactionId: ID, endedBy: 'timeout' };
    expect(await followed([result('ACCEPTED')], [change('SENT')])).toMatchObject(open);
  });

  test.each([
    ['nothing-known', CONFLICT],
    ['unknown', result('UNKNOWN')],
  ])('%s is said', async (kind, event) => {
    expect(await followed([event])).toMatchObject({ kind, endedBy: 'timeout' });
  });

  test('a status that cannot be read is none', async () => {
    const problem = expect.stringContaining('changes/0/2') as string;
    const changes = [change('COMPLETED'), unreadable('changes', ID, 2n)];
    expect(await followed([result('ACCEPTED')], changes)).toMatchObject({ kind: 'open', status: null, problem });
  });
});

describe('a following that is ended early', () => {
  test('by its signal, also by one that was given already, says what is known', async () => {
    const topics = new Topics([result('ACCEPTED')], [change('PENDING')]);
    const answer = topics.follow({ timeoutMs: 60_000, signal: AbortSignal.timeout(50) });
    expect(await answer).toMatchObject({ kind: 'open', status: 'PENDING', endedBy: 'signal' });
    expect(topics.listening).toBe(0);
    const aborted = new Topics([result('REFUSED')]).follow({ timeoutMs: 60_000, signal: AbortSignal.abort() });
    expect(await aborted).toMatchObject({ kind: 'nothing-known', endedBy: 'signal' });
  });

  test('by the end of its subscription while it catches up says so at once', async () => {
    const topics = new Topics(
      [],
      [],
      [
        ['results', result('EXPIRED')],
        ['results', new Error('the client was closed')],
      ],
    );
    const answer = await topics.follow({ timeoutMs: 60_000 });
    expect(answer).toMatchObject({ endedBy: 'reading', problem: 'the client was closed' });
  });

  test('by the end of its subscription says what is known', async () => {
    const topics = new Topics(
      [result('ACCEPTED')],
      [change('PENDING')],
      [
        ['results', CONFLICT],
        ['transaction-status', new Error('the brokers are gone')],
      ],
    );
    const answer = topics.follow({ timeoutMs: 60_000 });
    expect(await answer).toMatchObject({ kind: 'open', endedBy: 'reading', problem: 'the brokers are gone' });
  });
});

test.each([
  ['a later result cannot be read', [result('ACCEPTED'), unreadable('results', KEY, 2n)], 'not-read'],
  [
    'a later result cannot be read, and a mirror copies the earlier one again',
    [result('ACCEPTED'), unreadable('results', KEY, 2n), { ...result('ACCEPTED'), offset: 3n }],
    'not-read',
  ],
  [
    'what could not be read at first is known by a copy',
    [unreadable('results', KEY, 1n), { ...result('ACCEPTED'), offset: 3n }],
    'result',
  ],
  [
    'a copy of an earlier one can be read, which could not be read at first',
    [
      unreadable('results', KEY, 1n),
      result('ACCEPTED', { offset: 2n, revision: 2 }),
      { ...result('EXPIRED'), offset: 3n },
    ],
    'result',
  ],
  ['an earlier one cannot be read', [unreadable('results', KEY, 1n), result('ACCEPTED', { offset: 2n })], 'result'],
  [
    'a copy of an earlier one is read late',
    [result('ACCEPTED', { offset: 3n, revision: 2 }), result('UNKNOWN')],
    'result',
  ],
])('readResult, where %s, says so or what counts', async (_where, events, kind) => {
  for (const seen of [events, events.toReversed()]) {
    const read: LaneReader = async (_lane, onEvent) => {
      for (const event of seen) onEvent(event);
      return true;
    };
    const standing = await readResult(read, KEY, 1_000);
    expect(standing.kind).toBe(kind);
    if (standing.kind === 'result') expect(standing.result.value.outcome).toBe('ACCEPTED');
    if (standing.kind === 'not-read') expect(standing.problem).toBe('results/0/2: a later release');
  }
});
