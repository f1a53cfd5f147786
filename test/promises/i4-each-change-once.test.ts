/** Invariant I4: every observed status change is emitted once, in order per transaction or quote. */
import { beforeAll, expect, test } from 'vitest';
import { createQuoteOf, executionOf, transferInOf } from '../support/commands.ts';
import { Journal, type TransactionEvent } from '../support/journal.ts';
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

test('across a kill no change is lost and none is published twice', async () => {
  const { publisher, journal, service } = stack();
  const keys = Array.from({ length: 12 }, (_, index) => `kill-${index}`);
  await Promise.all(keys.map((key) => publisher.publish('simulate-uma-receive', key, umaPayment(key))));
  await journal.until(() => keys.some((key) => journal.results(key).length > 0), 'a first result');
  await stack().endProcessors();
  await stack().startProcessor();
  const results = await journal.resultsOfAll(keys);
  const execution = await executionOf(stack(), 'kill-execute');
  await publisher.publish('execute-quote', 'kill-execute', execution);
  const transactions = results.map(({ value }) => value.transaction?.id ?? '');
  await Promise.all(
    transactions.map((transactionId, index) =>
      publisher.publish('reject-transaction', `kill-reject-${index}`, { transactionId }),
    ),
  );
  await journal.resultsOfAll(keys.map((_, index) => `kill-reject-${index}`));
  const count = (from: Journal): number => transactions.flatMap((id) => from.transactionEvents(id)).length;
  await journal.until(() => count(journal) >= 24, 'two events of each transaction');
  const again = await Journal.open(stack().settings);
  await again.until(() => count(again) >= count(journal), 'the events, read anew');
  for (const [index, id] of transactions.entries()) {
    expect(changes(again.transactionEvents(id))).toEqual([
      [null, 'PENDING', `kill-${index}`, 'COMMAND'],
      ['PENDING', 'REJECTED', `kill-reject-${index}`, 'COMMAND'],
    ]);
  }
  await again.close();
  expect((await service.books()).balanced).toBe(true);
});
