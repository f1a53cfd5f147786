/** What the twin in memory hands out are records as the processor writes them. */
import { expect, test } from 'vitest';
import { TestPayments } from '../src/testing.ts';
import type { CommandInput, CommandType } from '../src/index.ts';
import { loadType } from 'payment-processor-contract/schemas';
import { createQuoteOf, transferInOf } from '../../../test/support/commands.ts';

const WAIT = { timeoutMs: 1_000 };

test('results fit their schema, and take what the test says of quotes and transactions', async () => {
  const payments = new TestPayments();
  payments.answer('create-quote', { outcome: 'ACCEPTED', quote: { totalSendingAmount: 7n } });
  payments.answer('transfer-in', ({ fields }) => ({
    outcome: fields['amount'] === 5n ? 'UNKNOWN' : 'ACCEPTED',
    transaction: { id: 'Transaction:mine' },
  }));
  const quoted = await payments.client.request('create-quote', 'q', createQuoteOf('q'), WAIT);
  const moved = await payments.client.request('transfer-in', 't', transferInOf('t'), WAIT);
  const unknown = await payments.client.request('transfer-in', 'u', { ...transferInOf('u'), amount: 5 }, WAIT);
  const values = [quoted, moved, unknown].map((answer) => (answer.kind === 'result' ? answer.result.value : null));
  expect(values.map((value) => loadType('CommandResult').isValid(value))).toEqual([true, true, true]);
  expect(values).toMatchObject([
    { quote: { totalSendingAmount: 7n } },
    { transaction: { id: 'Transaction:mine' } },
    { outcome: 'UNKNOWN', transaction: null },
  ]);
  const following = payments.client.awaitSettled('t', WAIT);
  payments.setStatus('Transaction:mine', 'REFUNDED');
  expect(await following).toMatchObject({ kind: 'settled', status: 'REFUNDED' });
  expect(await payments.client.awaitSettled('u', { timeoutMs: 20 })).toMatchObject({ kind: 'unknown' });
});

test('a quote that names no transaction is executed by its quote alone', async () => {
  const payments = new TestPayments();
  payments.answer('create-quote', { outcome: 'ACCEPTED', quote: { transactionId: null } });
  payments.answer('execute-quote', { outcome: 'ACCEPTED' });
  const paid = await payments.client.createAndExecute('order', createQuoteOf('order'), WAIT);
  expect(paid.stage).toBe('execute');
});

test('a key is its command from the first message on, answered or not', async () => {
  const payments = new TestPayments();
  payments.answer('transfer-in', { outcome: 'silent' });
  const first = await payments.client.request('transfer-in', 'k', transferInOf('k'), { timeoutMs: 20 });
  payments.answer('transfer-in', { outcome: 'ACCEPTED' });
  const other = await payments.client.request('transfer-in', 'k', { ...transferInOf('k'), amount: 5 }, WAIT);
  expect([first, other]).toMatchObject([{ kind: 'unanswered' }, { kind: 'conflict', standing: { kind: 'none' } }]);
  expect(payments.executed).toEqual([]);
  expect(await payments.client.request('transfer-in', 'k', transferInOf('k'), WAIT)).toMatchObject({ kind: 'result' });
});

test('what the test leaves open is as with the processor: an error, the quote’s transaction, a rejected payment', async () => {
  const payments = new TestPayments();
  for (const type of ['create-quote', 'execute-quote', 'reject-transaction'] as const)
    payments.answer(type, { outcome: 'ACCEPTED' });
  payments.answer('transfer-in', { outcome: 'REFUSED' });
  const resultOf = async <Type extends CommandType>(type: Type, fields: CommandInput<Type>) => {
    const answer = await payments.client.request(type, `the-${type}`, fields, WAIT);
    if (answer.kind !== 'result') throw new Error(answer.kind);
    return answer.result.value;
  };
  expect((await resultOf('transfer-in', transferInOf('refused'))).error).not.toBeNull();
  const { quote } = await resultOf('create-quote', createQuoteOf('quote'));
  const executed = await resultOf('execute-quote', { quoteId: quote?.id ?? '' });
  expect(executed.quote?.transactionId).toBe(quote?.transactionId);
  const rejected = await resultOf('reject-transaction', { transactionId: 'Transaction:1' });
  expect(rejected.transaction?.status).toBe('REJECTED');
});

test('a rejection settles the payment for its own key too', async () => {
  const payments = new TestPayments();
  payments.answer('transfer-in', { outcome: 'ACCEPTED', statuses: ['PROCESSING'] });
  payments.answer('reject-transaction', { outcome: 'ACCEPTED' });
  const paid = await payments.client.request('transfer-in', 'paid', transferInOf('paid'), WAIT);
  const transactionId = paid.kind === 'result' ? (paid.result.value.transaction?.id ?? '') : '';
  await payments.client.request('reject-transaction', 'rejected', { transactionId }, WAIT);
  for (const key of ['paid', 'rejected'])
    expect(await payments.client.awaitSettled(key, WAIT)).toMatchObject({ kind: 'settled', status: 'REJECTED' });
});
