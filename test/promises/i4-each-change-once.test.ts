/**
 * Invariant I4: every observed status change is emitted once, in order per transaction or quote. Across a kill it is judged in
 * i2-no-money-twice.test.ts.
 */
import { beforeAll, expect, test } from 'vitest';
import { createQuoteOf, transferInOf } from '../support/commands.ts';
import type { TransactionEvent } from '../support/journal.ts';
import { useStack } from '../support/test-stack.ts';

// Nothing settles by itself within a test, and nothing is polled: what is observed are the answers.
const stack = useStack({
  name: 'change',
  sandbox: { quoteLifetimeMs: 600_000 },
  settings: { POLL_INTERVAL_MS: '3600000', API_TIMEOUT_MS: '5000' },
});

beforeAll(async () => {
  await stack().startProcessor();
});

const umaPayment = (key: string) => ({
  senderUmaAddress: '$sender@example.com',
  receivingCurrencyCode: 'USD',
  receivingCurrencyAmount: 700n,
  customerId: `Customer:${key}-x`,
});

function changes(events: readonly TransactionEvent[]) {
  return events.map(({ value }) => [value.previousStatus, value.status, value.commandKey, value.observedBy]);
}

test('the status that an answer shows is one event with the transaction, its command and the headers it carries', async () => {
  const { publisher, journal } = stack();
  await publisher.publish('transfer-in', 'shown', transferInOf('shown'), { correlationId: 'order-7' });
  const { value: result } = await journal.result('shown');
  const id = result.transaction?.id ?? '';
  await journal.until(() => journal.transactionEvents(id).length > 0, 'the event');
  const [event] = journal.transactionEvents(id);
  expect(event?.value).toMatchObject({
    transactionId: id,
    type: 'INCOMING',
    previousStatus: null,
    status: 'PENDING',
    customerId: 'Customer:shown-x',
    platformCustomerId: 'platform-shown-x',
    commandKey: 'shown',
    observedBy: 'COMMAND',
    changedAt: result.transaction?.updatedAt,
  });
  expect(event?.value.transaction).toEqual(result.transaction);
  expect(event?.headers).toMatchObject({
    'correlation-id': 'order-7',
    ce_type: 'payments.v1.TransactionStatusChanged',
  });
});

test('changes of one transaction by two commands come in order, once, copies of the commands or not', async () => {
  const { publisher, journal } = stack();
  await publisher.publish('simulate-uma-receive', 'uma', umaPayment('uma'));
  const transactionId = (await journal.result('uma')).value.transaction?.id ?? '';
  await publisher.publish('reject-transaction', 'uma-reject', { transactionId });
  await journal.result('uma-reject');
  await publisher.publish('reject-transaction', 'uma-reject', { transactionId });
  await journal.resultsOf('uma-reject', 2);
  await journal.until(() => journal.transactionEvents(transactionId).length >= 2, 'two events');
  expect(changes(journal.transactionEvents(transactionId))).toEqual([
    [null, 'PENDING', 'uma', 'COMMAND'],
    ['PENDING', 'REJECTED', 'uma-reject', 'COMMAND'],
  ]);
  expect(journal.transactionEvents(transactionId).map(({ value }) => value.commandKeys)).toEqual([
    ['uma'],
    ['uma', 'uma-reject'],
  ]);
  expect(new Set(journal.transactionEvents(transactionId).map(({ id }) => id)).size).toBe(2);
});

test('a quote is seen PENDING, then PROCESSING when it is executed', async () => {
  const { publisher, journal } = stack();
  await publisher.publish('create-quote', 'quote', createQuoteOf('quote'));
  const quote = (await journal.result('quote')).value.quote;
  const quoteId = quote?.id ?? '';
  await publisher.publish('execute-quote', 'quote-go', { quoteId, transactionId: quote?.transactionId ?? null });
  await journal.result('quote-go');
  await journal.until(() => journal.quoteEvents(quoteId).length >= 2, 'two events');
  expect(
    journal.quoteEvents(quoteId).map(({ value }) => [value.previousStatus, value.status, value.commandKey]),
  ).toEqual([
    [null, 'PENDING', 'quote'],
    ['PENDING', 'PROCESSING', 'quote-go'],
  ]);
  expect(journal.quoteEvents(quoteId)[0]?.value).toMatchObject({
    transactionId: quote?.transactionId,
    expiresAt: quote?.expiresAt,
    derivedFromTransaction: false,
  });
});
