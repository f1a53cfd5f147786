/** A judge who sees nothing proves nothing: each kind of fault is put into correct events, and must be reported. */
import { expect, test } from 'vitest';
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
  const id = eventId(eventIdNames.transactionStatus(PREFIX, ID, change));
  return { timestampMs: atMs + 400, key: ID, id, value } as TransactionEvent;
}

function toldQuote(change: number, previousStatus: string | null, status: string): QuoteEvent {
  const id = eventId(eventIdNames.quoteStatus(PREFIX, QUOTE_ID, change));
  return { timestampMs: 0, key: QUOTE_ID, id, value: { previousStatus, status } } as QuoteEvent;
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

test('right events are right, with the changes that passed unseen and the delay of each event', () => {
  const judgement = judged({});
  expect(judgement).toMatchObject({ wrong: [], changes: 4, skippedLastedMs: [500] });
  expect(judgement.told.map(({ delayMs }) => delayMs)).toEqual([400, 400, 400]);
});

test.each<[string, Partial<StatusEvidence>, RegExp]>([
  [
    'a status that the service never had',
    { transactionEvents: [PENDING, told(2, 'PENDING', 'EXPIRED', 2_000), told(3, 'EXPIRED', 'COMPLETED', 3_000)] },
    /^Transaction:1: EXPIRED is told as change 2; really PENDING, PROCESSING, SENT, COMPLETED$/,
  ],
  [
    'a gap in the numbers',
    { transactionEvents: [PENDING, PROCESSING, told(4, 'PROCESSING', 'COMPLETED', 3_000)] },
    /^Transaction:1: event 3 \(COMPLETED\) has the id of another change$/,
  ],
  [
    'an instant at which it was not so',
    { transactionEvents: [PENDING, told(2, 'PENDING', 'PROCESSING', 9_000), COMPLETED] },
    /^Transaction:1: PROCESSING is told with an instant at which it was not so$/,
  ],
  [
    'a transaction that the service does not have',
    { histories: [], quoteEvents: [] },
    /^Transaction:1: events of what/,
  ],
  ['no end', { transactionEvents: [PENDING, PROCESSING] }, /^Transaction:1: PROCESSING is told last; really PENDING, /],
  ['no end of a quote', { quoteEvents: QUOTE_EVENTS.slice(0, 1) }, /^Quote:1: PENDING is told last; really PENDING, /],
])('events that tell %s are wrong', (_, changes, sentence) => {
  expect(judged(changes).wrong).toEqual([expect.stringMatching(sentence)]);
});
