/** A judge who sees nothing proves nothing: each kind of fault is put into correct events, and must be reported. */
import { describe, expect, test } from 'vitest';
import { eventId, eventIdNames } from 'payment-processor-contract/cloud-events';
import type { QuoteEvent, TransactionEvent } from '../../test/support/journal.ts';
import type { PaymentHistory } from '../../test/support/sandbox-control.ts';
import { judgeStatusHistory, type StatusEvidence } from './status-history.ts';

const PREFIX = 'payments';
const ID = 'Transaction:1';
const QUOTE_ID = 'Quote:1';
const HISTORY: PaymentHistory = {
  id: ID,
  type: 'OUTGOING',
  failureReason: null,
  history: [
    { status: 'PENDING', atMs: 1_000 },
    { status: 'PROCESSING', atMs: 2_000 },
    { status: 'SENT', atMs: 2_500 },
    { status: 'COMPLETED', atMs: 3_000 },
  ],
  quote: {
    id: QUOTE_ID,
    history: [
      { status: 'PENDING', atMs: 1_000 },
      { status: 'COMPLETED', atMs: 3_000 },
    ],
  },
};

function told(change: number, previousStatus: string | null, status: string, atMs: number): TransactionEvent {
  const value = { previousStatus, status, changedAt: new Date(atMs).toISOString(), observedBy: 'POLL' };
  return {
    kind: 'transaction-status',
    topic: 'transactions',
    partition: 0,
    offset: BigInt(change),
    timestampMs: atMs + 400,
    key: ID,
    id: eventId(eventIdNames.transactionStatus(PREFIX, ID, change)),
    uniqueId: null,
    headers: {},
    value: value as TransactionEvent['value'],
  };
}

function toldQuote(change: number, previousStatus: string | null, status: string): QuoteEvent {
  const id = eventId(eventIdNames.quoteStatus(PREFIX, QUOTE_ID, change));
  const value = { previousStatus, status, commandKey: null } as QuoteEvent['value'];
  return { ...told(change, null, '', 0), kind: 'quote-status', key: QUOTE_ID, id, value };
}

const PENDING = told(1, null, 'PENDING', 1_000);
const PROCESSING = told(2, 'PENDING', 'PROCESSING', 2_000);
const COMPLETED = told(3, 'PROCESSING', 'COMPLETED', 3_000);
const QUOTE_EVENTS = [toldQuote(1, null, 'PENDING'), toldQuote(2, 'PENDING', 'COMPLETED')];

function judged(changes: Partial<StatusEvidence>): ReturnType<typeof judgeStatusHistory> {
  return judgeStatusHistory({
    topicPrefix: PREFIX,
    histories: [HISTORY],
    transactionEvents: [PENDING, PROCESSING, COMPLETED],
    quoteEvents: QUOTE_EVENTS,
    ...changes,
  });
}

describe('events beside the history of the service', () => {
  test('that are right are reported as right, with the changes that passed unseen and the delay of each event', () => {
    const judgement = judged({});
    expect(judgement).toMatchObject({ repeated: [], outOfOrder: [], notFinal: [], changes: 4, skippedLastedMs: [500] });
    expect(judgement.told.map(({ delayMs }) => delayMs)).toEqual([400, 400, 400]);
  });

  test.each<[string, 'repeated' | 'outOfOrder' | 'notFinal', Partial<StatusEvidence>]>([
    ['the same event twice', 'repeated', { transactionEvents: [PENDING, PROCESSING, PROCESSING, COMPLETED] }],
    [
      'the same change twice, as two events',
      'repeated',
      { transactionEvents: [PENDING, PROCESSING, told(3, 'PROCESSING', 'PROCESSING', 2_000), COMPLETED] },
    ],
    [
      'the wrong way round',
      'outOfOrder',
      {
        transactionEvents: [PENDING, told(2, 'PENDING', 'COMPLETED', 3_000), told(3, 'COMPLETED', 'PROCESSING', 2_000)],
      },
    ],
    [
      'a status that the service never had',
      'outOfOrder',
      { transactionEvents: [PENDING, told(2, 'PENDING', 'EXPIRED', 2_000), told(3, 'EXPIRED', 'COMPLETED', 3_000)] },
    ],
    [
      'a gap in the numbers',
      'outOfOrder',
      { transactionEvents: [PENDING, PROCESSING, told(4, 'PROCESSING', 'COMPLETED', 3_000)] },
    ],
    [
      'an instant at which it was not so',
      'outOfOrder',
      { transactionEvents: [PENDING, told(2, 'PENDING', 'PROCESSING', 9_000), COMPLETED] },
    ],
    ['a transaction that the service does not have', 'outOfOrder', { histories: [] }],
    ['an end that is not told', 'notFinal', { transactionEvents: [PENDING, PROCESSING] }],
    ['nothing', 'notFinal', { transactionEvents: [] }],
    ["a quote's end that is not told", 'notFinal', { quoteEvents: QUOTE_EVENTS.slice(0, 1) }],
  ])('that tell %s are reported as %s', (_, kind, changes) => {
    expect(judged(changes)[kind]).not.toEqual([]);
  });
});
