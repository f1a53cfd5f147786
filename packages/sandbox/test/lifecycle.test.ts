import { describe, expect, test } from 'vitest';
import { FAILURE_REASONS } from '../src/scenarios.ts';
import { ANY_STRING, sandboxForTest, toAccount, TRANSFER, type TestSandbox } from './support.ts';

/** The statuses that a transaction goes through while the clock moves on by small steps. */
async function history(sandbox: TestSandbox, id: string, durationMs: number, stepMs = 500): Promise<string[]> {
  const statuses: string[] = [];
  for (let passedMs = 0; passedMs <= durationMs; passedMs += stepMs) {
    const { status } = await sandbox.transaction(id);
    if (statuses.at(-1) !== status) statuses.push(status);
    sandbox.clock.advance(stepMs);
  }
  return statuses;
}

async function executedTransactionId(sandbox: TestSandbox, destinationId: string): Promise<string> {
  const quote = await sandbox.quote({ ...toAccount(destinationId), immediatelyExecute: true });
  expect(quote.status).toBe(201);
  return quote.body.transactionId;
}

describe('an outgoing payment', () => {
  test.each([
    ['ExternalAccount:1', ['PROCESSING', 'SENT', 'COMPLETED']],
    ['ExternalAccount:004', ['PROCESSING', 'SENT', 'REJECTED']],
    ['ExternalAccount:005', ['PENDING', 'FAILED']],
    ['ExternalAccount:006', ['PROCESSING', 'SENT', 'COMPLETED', 'REFUNDED']],
    ['ExternalAccount:015', ['PROCESSING', 'SENT', 'FAILED', 'REFUNDED']],
    ['ExternalAccount:018', ['PROCESSING', 'FAILED']],
  ])(
    'to %s goes through %j, and leaves the sender what it had unless it is COMPLETED',
    async (destination, statuses) => {
      const sandbox = await sandboxForTest({ accounts: [{ id: 'InternalAccount:a', balance: 50_000n }] });
      const id = await executedTransactionId(sandbox, destination);
      expect(await sandbox.balanceOf('InternalAccount:a')).toBe(40_000n);
      expect(await history(sandbox, id, 20_000)).toEqual(statuses);
      expect(await sandbox.books()).toMatchObject({ balanced: true, scheduledSteps: 0 });
      const left = statuses.at(-1) === 'COMPLETED' ? 40_000n : 50_000n;
      expect(await sandbox.balanceOf('InternalAccount:a')).toBe(left);
    },
  );

  test('has its statuses and those of its quote in the control endpoint, each with its instant and once', async () => {
    const sandbox = await sandboxForTest();
    const createdMs = sandbox.clock.nowMs();
    await executedTransactionId(sandbox, 'ExternalAccount:005');
    sandbox.clock.advance(20_000);
    const [pending, processing] = ['PENDING', 'PROCESSING'].map((status) => ({ status, atMs: createdMs }));
    const failed = { status: 'FAILED', atMs: createdMs + 15_000 };
    const quote = { history: [pending, processing, failed] };
    expect(await sandbox.histories()).toMatchObject([
      { failureReason: 'QUOTE_EXECUTION_FAILED', history: [pending, failed], quote },
    ]);
  });

  test('in the slow scenario is CREATED, without reconciliation instructions, and PENDING before its execution', async () => {
    const sandbox = await sandboxForTest();
    const { body: quote } = await sandbox.quote(toAccount('ExternalAccount:007'));
    const created = await sandbox.transaction(quote.transactionId);
    expect(created.status).toBe('CREATED');
    expect(created).not.toHaveProperty('reconciliationInstructions');
    sandbox.clock.advance(30_000);
    const pending = await sandbox.transaction(quote.transactionId);
    expect(pending).toMatchObject({ status: 'PENDING', reconciliationInstructions: { reference: ANY_STRING } });
    expect((await sandbox.post(`/quotes/${quote.id}/execute`)).status).toBe(200);
    expect(await history(sandbox, quote.transactionId, 65_000)).toEqual(['PROCESSING', 'SENT', 'COMPLETED']);
  });

  test('that is not executed expires at expiresAt with its quote', async () => {
    const sandbox = await sandboxForTest({ quoteLifetimeMs: 1000 });
    const { body: quote } = await sandbox.quote();
    sandbox.clock.advance(999);
    expect((await sandbox.transaction(quote.transactionId)).status).toBe('PENDING');
    sandbox.clock.advance(1);
    expect(await sandbox.transaction(quote.transactionId)).toMatchObject({
      status: 'EXPIRED',
      updatedAt: quote.expiresAt,
    });
    const refused = await sandbox.post(`/quotes/${quote.id}/execute`);
    expect(refused).toMatchObject({ status: 409, body: { code: 'QUOTE_EXPIRED' } });
  });

  test('shows the instant of each change in updatedAt, and of its completion in settledAt', async () => {
    const sandbox = await sandboxForTest({ settleMs: 1000 });
    const id = await executedTransactionId(sandbox, 'ExternalAccount:1');
    const { createdAt } = await sandbox.transaction(id);
    sandbox.clock.advance(60_000);
    const settledAt = new Date(Date.parse(createdAt) + 1000).toISOString();
    expect(await sandbox.transaction(id)).toMatchObject({ status: 'COMPLETED', updatedAt: settledAt, settledAt });
  });
});

describe('an incoming payment', () => {
  test.each([
    ['$sender@x.example', ['PENDING', 'COMPLETED']],
    ['$sender004@x.example', ['PENDING', 'REJECTED']],
    ['$sender005@x.example', ['PENDING', 'FAILED']],
    ['$sender006@x.example', ['PENDING', 'COMPLETED', 'REFUNDED']],
    ['$sender007@x.example', ['CREATED', 'PENDING', 'COMPLETED']],
  ])('from %s goes through %j', async (senderUmaAddress, statuses) => {
    const sandbox = await sandboxForTest();
    const { body } = await sandbox.receive({ senderUmaAddress });
    expect(await history(sandbox, body.id, 70_000, 2500)).toEqual(statuses);
    expect((await sandbox.books()).balanced).toBe(true);
  });

  test('by transfer-in is PENDING, then COMPLETED, and its money on the internal account', async () => {
    const sandbox = await sandboxForTest({ accounts: [{ id: 'InternalAccount:b', balance: 0n }] });
    const { status, body } = await sandbox.transferIn('ExternalAccount:a', 'InternalAccount:b', 900);
    expect({ status, type: body.type }).toEqual({ status: 201, type: 'INCOMING' });
    expect(await history(sandbox, body.id, 6000)).toEqual(['PENDING', 'COMPLETED']);
    expect(await sandbox.balanceOf('InternalAccount:b')).toBe(900n);
  });

  test('by transfer-in without an amount has one', async () => {
    const sandbox = await sandboxForTest();
    const { status, body } = await sandbox.post('/transfer-in', { ...TRANSFER, amount: undefined });
    expect(status).toBe(201);
    expect(body.receivedAmount.amount).toBeGreaterThan(0);
  });

  test('can be rejected once while it is PENDING; the money goes back', async () => {
    const sandbox = await sandboxForTest();
    const { body } = await sandbox.receive();
    sandbox.clock.advance(4999);
    const path = `/transactions/${encodeURIComponent(body.id)}/reject`;
    const rejected = await sandbox.post(path, { reason: 'not expected' });
    expect(rejected).toMatchObject({ status: 200, body: { id: body.id, status: 'REJECTED' } });
    const again = await sandbox.post(`/transactions/${body.id}/reject`);
    expect(again).toMatchObject({ status: 409, body: { code: 'TRANSACTION_NOT_PENDING_PLATFORM_APPROVAL' } });
    sandbox.clock.advance(60_000);
    expect((await sandbox.transaction(body.id)).status).toBe('REJECTED');
    const books = await sandbox.books();
    expect(books.balances).toContainEqual({ account: 'uma-network', currency: 'USD', balance: '0' });
    expect((await sandbox.effects()).transactions[body.id]).toEqual({ rejectCalls: 2, rejections: 1 });
  });

  test('cannot be rejected once COMPLETED, nor can an outgoing one', async () => {
    const sandbox = await sandboxForTest();
    const { body: incoming } = await sandbox.receive();
    sandbox.clock.advance(5000);
    const { body: quote } = await sandbox.quote();
    for (const id of [incoming.id, quote.transactionId]) {
      expect((await sandbox.post(`/transactions/${id}/reject`)).status).toBe(409);
    }
  });
});

describe('failures on demand', () => {
  const suffixes = FAILURE_REASONS.map((reason, index) => [`0${11 + index}`, reason] as const);

  test.each(suffixes)('%s makes an outgoing and an incoming payment fail with %s', async (digits, failureReason) => {
    const sandbox = await sandboxForTest();
    const outgoingId = await executedTransactionId(sandbox, `ExternalAccount:${digits}`);
    const { body: transfer } = await sandbox.transferIn(`ExternalAccount:${digits}`);
    const { body: received } = await sandbox.receive({ senderUmaAddress: `$s${digits}@x.example` });
    expect(transfer).not.toHaveProperty('failureReason');
    sandbox.clock.advance(5000);
    for (const id of [outgoingId, transfer.id, received.id]) {
      expect(await sandbox.transaction(id)).toMatchObject({ status: 'FAILED', failureReason });
    }
  });

  test.each([
    ['002', 'INSUFFICIENT_BALANCE'],
    ['003', 'ACCOUNT_CLOSED'],
  ])('%s is refused at once as %s by every operation that names an account', async (digits, code) => {
    const sandbox = await sandboxForTest();
    const answers = [
      await sandbox.quote(toAccount(`ExternalAccount:${digits}`)),
      await sandbox.transferIn(`ExternalAccount:${digits}`),
      await sandbox.receive({ senderUmaAddress: `$s${digits}@x.example` }),
    ];
    for (const answer of answers) expect(answer).toMatchObject({ status: 400, body: { status: 400, code } });
    expect((await sandbox.books()).transactions).toBe(0);
  });
});

test('every incoming payment shows the rate details of a transaction', async () => {
  const sandbox = await sandboxForTest();
  const rateDetails = {
    serviceApiMultiplier: 1,
    serviceApiFixedFee: 0,
    serviceApiVariableFeeRate: 0,
    serviceApiVariableFeeAmount: 0,
  };
  const { body } = await sandbox.receive();
  const rejected = await sandbox.post(`/transactions/${body.id}/reject`);
  for (const shown of [(await sandbox.transferIn()).body, body, rejected.body, await sandbox.transaction(body.id)])
    expect(shown.rateDetails).toEqual(rateDetails);
});
