import { describe, expect, test } from 'vitest';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { sandboxForTest, TRANSFER, type Answer, type TestSandbox } from './support.ts';

/** A call of each operation that is new each time it is prepared, and can be sent again and again. */
async function prepared(sandbox: TestSandbox, operation: CommandType): Promise<(key: string) => Promise<Answer>> {
  switch (operation) {
    case 'create-quote':
      return (key) => sandbox.quote({}, key);
    case 'execute-quote': {
      const { body } = await sandbox.quote();
      return (key) => sandbox.post(`/quotes/${body.id}/execute`, undefined, key);
    }
    case 'transfer-in':
      return (key) => sandbox.transferIn('ExternalAccount:a', 'InternalAccount:b', 500, key);
    case 'reject-transaction': {
      const { body } = await sandbox.receive();
      return (key) => sandbox.post(`/transactions/${body.id}/reject`, { reason: 'r' }, key);
    }
    case 'simulate-uma-receive':
      return (key) => sandbox.receive({}, key);
  }
}

const pay = (sandbox: TestSandbox): Promise<Answer> =>
  sandbox.transferIn('ExternalAccount:a', 'InternalAccount:b', 5, 'k');

describe('where the key is honoured', () => {
  test.each(COMMAND_TYPES)('a repeated %s gets the same answer and has one effect', async (operation) => {
    const sandbox = await sandboxForTest({ honourKeys: [...COMMAND_TYPES] });
    const call = await prepared(sandbox, operation);
    const first = await call('k');
    sandbox.clock.advance(10_000);
    const second = await call('k');
    expect(first.status).toBeLessThan(300);
    expect({ status: second.status, text: second.text }).toEqual({ status: first.status, text: first.text });
    expect((await sandbox.effects()).operations[operation]['k']).toMatchObject({ calls: 2, effects: 1 });
  });

  test('requests with one key at the same time have one effect and one answer', async () => {
    const sandbox = await sandboxForTest();
    const answers = await Promise.all(Array.from({ length: 20 }, () => pay(sandbox)));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect((await sandbox.effects()).operations['transfer-in']['k']).toMatchObject({ calls: 20, effects: 1 });
  });

  test('another body gets the same answer, as the interface says, and has no effect', async () => {
    const sandbox = await sandboxForTest();
    const first = await pay(sandbox);
    const other = await sandbox.transferIn('ExternalAccount:c', 'InternalAccount:d', 6, 'k');
    expect({ status: other.status, text: other.text }).toEqual({ status: 201, text: first.text });
    expect((await sandbox.effects()).operations['transfer-in']['k']).toMatchObject({ calls: 2, effects: 1 });
  });

  test('another body is refused where that is set, and the same JSON written otherwise is not another body', async () => {
    const sandbox = await sandboxForTest({ refuseReusedKeys: true });
    const first = await pay(sandbox);
    const refused = { status: 409, body: { code: 'IDEMPOTENCY_KEY_REUSED' } };
    const other = () => sandbox.transferIn('ExternalAccount:a', 'InternalAccount:b', 6, 'k');
    expect(await other()).toMatchObject(refused);
    const rewritten =
      '{ "amount": 5.0, "destination": {"accountId":"InternalAccount:b"}, "source": {"accountId":"ExternalAccount:a"} }';
    expect((await sandbox.post('/transfer-in', rewritten, 'k')).text).toBe(first.text);
    await sandbox.set({ refuseReusedKeys: false });
    expect((await other()).text).toBe(first.text);
    await sandbox.set({ refuseReusedKeys: true });
    expect(await other()).toMatchObject(refused);
  });

  test('a refusal is stored and replayed, even once it would be granted', async () => {
    const sandbox = await sandboxForTest({ accounts: [{ id: 'ExternalAccount:e', currency: 'EUR' }] });
    const refused = await sandbox.transferIn('ExternalAccount:e', 'InternalAccount:e', 5, 'k');
    expect(refused.status).toBe(400);
    expect((await sandbox.transferIn('ExternalAccount:e', 'InternalAccount:e', 5, 'k')).text).toBe(refused.text);
    expect((await pay(sandbox)).text).toBe(refused.text);
  });

  test('an injected 5xx is not stored', async () => {
    const sandbox = await sandboxForTest();
    await sandbox.addFaults({ kind: 'status', httpStatus: 503, count: 1 });
    expect((await pay(sandbox)).status).toBe(503);
    expect((await pay(sandbox)).status).toBe(201);
  });

  test('a key is forgotten after the retention', async () => {
    const sandbox = await sandboxForTest();
    const first = await pay(sandbox);
    sandbox.clock.advance(24 * 3_600_000 - 1);
    expect((await pay(sandbox)).text).toBe(first.text);
    sandbox.clock.advance(1);
    const later = await pay(sandbox);
    expect(later.body.id).not.toBe(first.body.id);
    expect((await sandbox.effects()).operations['transfer-in']['k']).toMatchObject({ calls: 3, effects: 2 });
  });

  test('one key is separate for each operation and each client', async () => {
    const sandbox = await sandboxForTest({ honourKeys: ['transfer-in', 'create-quote'] });
    const first = await pay(sandbox);
    expect((await sandbox.quote({}, 'k')).status).toBe(201);
    const authorization = `Basic ${Buffer.from('other:secret').toString('base64')}`;
    const other = await sandbox.send('POST', '/transfer-in', TRANSFER, { 'idempotency-key': 'k', authorization });
    expect(other.body.id).not.toBe(first.body.id);
  });
});

describe('where the key is not honoured', () => {
  test.each(COMMAND_TYPES)('a repeated %s is performed anew', async (operation) => {
    const sandbox = await sandboxForTest({ honourKeys: [] });
    const call = await prepared(sandbox, operation);
    const first = await call('k');
    expect(first.status).toBeLessThan(300);
    // One-shot operations protect themselves; the others happen twice.
    const isOneShot = operation === 'execute-quote' || operation === 'reject-transaction';
    expect((await call('k')).status).toBe(isOneShot ? 409 : first.status);
    const { operations } = await sandbox.effects();
    expect(operations[operation]['k']).toMatchObject({ calls: 2, effects: isOneShot ? 1 : 2 });
  });

  test('which is so for all but transfer-in by default, and can be changed at run time', async () => {
    const sandbox = await sandboxForTest();
    const quoteId = async (): Promise<string> => (await sandbox.quote({}, 'k')).body.id;
    expect(await quoteId()).not.toBe(await quoteId());
    await sandbox.set({ honourKeys: ['create-quote'] });
    expect(await quoteId()).toBe(await quoteId());
    expect((await pay(sandbox)).body.id).not.toBe((await pay(sandbox)).body.id);
  });
});
