/** Invariant I3: one terminal result per key and revision; a copy gets the same event again. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fingerprintOf } from 'payment-processor-client';
import { createQuoteOf, transferInOf } from '../support/commands.ts';
import { eventId, eventIdNames } from 'payment-processor-contract/cloud-events';
import { useStack } from '../support/test-stack.ts';

// No key can be trusted: a lost answer of a transfer in is left to an operator.
const stack = useStack({ name: 'one-result', settings: { API_IDEMPOTENT_OPERATIONS: '', API_TIMEOUT_MS: '15000' } });

beforeAll(async () => {
  await stack().startProcessor();
});
afterEach(async () => {
  await stack().service.clearFaults();
});

describe('a copy', () => {
  test('of a command that is done gets the same event again, marked, in reply to itself', async () => {
    const { publisher, journal } = stack();
    const fingerprint = fingerprintOf('transfer-in', 'done', transferInOf('done'));
    await publisher.publish('transfer-in', 'done', transferInOf('done'), { commandId: 'done-1', correlationId: 'cid' });
    const original = await journal.result('done');
    await publisher.publish('transfer-in', 'done', transferInOf('done'), { commandId: 'done-2' });
    const [, replay] = await journal.resultsOf('done', 2);
    expect(original.headers['replayed']).toBeUndefined();
    expect(original.headers).toMatchObject({ 'in-reply-to': 'done-1', 'command-fingerprint': fingerprint });
    expect(original.value).toMatchObject({ revision: 1, commandId: 'done-1', outcome: 'ACCEPTED' });
    expect(replay?.id).toBe(original.id);
    expect(replay?.value).toEqual(original.value);
    expect(replay?.headers).toEqual({ ...original.headers, replayed: 'true', 'in-reply-to': 'done-2' });
  });

  test('that comes while the call is under way is answered with the result', async () => {
    const { publisher, journal, service } = stack();
    await service.addFaults({ kind: 'delay', operation: 'transfer-in', key: 'early', delayMs: 800 });
    for (const commandId of ['early-1', 'early-2', 'early-3']) {
      await publisher.publish('transfer-in', 'early', transferInOf('early'), { commandId });
    }
    const results = await journal.resultsOf('early', 3);
    expect(new Set(results.map(({ id }) => id)).size).toBe(1);
    expect(results.map(({ headers }) => [headers['in-reply-to'], headers['replayed']])).toEqual([
      ['early-1', undefined],
      ['early-2', 'true'],
      ['early-3', 'true'],
    ]);
    expect((await service.effects()).operations['transfer-in']['early']?.calls).toBe(1);
  });

  test('is one whether it came as Avro or as JSON, with defaults spelled out or left out', async () => {
    const { journal, publisher, publishRaw } = withRaw();
    await publisher.publish('create-quote', 'formats', createQuoteOf('formats'), { commandId: 'formats-1' });
    const original = await journal.result('formats');
    const json =
      '{"lockedCurrencyAmount":1000,"immediatelyExecute":false,"description":null,"lockedCurrencySide":"SENDING",' +
      '"source":{"accountId":"InternalAccount:formats-x"},"destination":{"accountId":"ExternalAccount:payee-x"}}';
    const headers = { 'content-type': 'application/json', ce_id: 'formats-2' };
    await publishRaw('create-quote', { key: 'formats', value: json, headers });
    const [, replay] = await journal.resultsOf('formats', 2);
    expect(replay?.id).toBe(original.id);
    expect(replay?.headers).toMatchObject({ replayed: 'true', 'in-reply-to': 'formats-2' });
  });
});

describe('a conflict', () => {
  test('is the answer to other content under the same key; the result of the first command stands', async () => {
    const { publisher, journal, service } = stack();
    await publisher.publish('transfer-in', 'content', transferInOf('content', 100n), { commandId: 'content-1' });
    const original = await journal.result('content');
    await publisher.publish('transfer-in', 'content', transferInOf('content', 101n), { commandId: 'content-2' });
    const [, conflict] = await journal.resultsOf('content', 2);
    expect(conflict?.value).toMatchObject({
      outcome: 'CONFLICT',
      commandId: 'content-2',
      error: { code: 'KEY_REUSED' },
    });
    const fingerprint = fingerprintOf('transfer-in', 'content', transferInOf('content', 101n));
    expect(conflict?.headers).toMatchObject({ 'in-reply-to': 'content-2', 'command-fingerprint': fingerprint });
    expect(conflict?.id).not.toBe(original.id);
    await publisher.publish('transfer-in', 'content', transferInOf('content', 100n), { commandId: 'content-3' });
    const [, , replay] = await journal.resultsOf('content', 3);
    expect(replay?.id).toBe(original.id);
    expect((await service.effects()).operations['transfer-in']['content']).toMatchObject({ calls: 1, effects: 1 });
  });

  test('is the answer to a command of another type under the same key', async () => {
    const { publisher, journal, service } = stack();
    await publisher.publish('transfer-in', 'type', transferInOf('type'), { commandId: 'type-1' });
    await journal.result('type');
    const published = await publisher.publish('create-quote', 'type', createQuoteOf('type'), { commandId: 'type-2' });
    const [, conflict] = await journal.resultsOf('type', 2);
    expect(conflict?.value).toMatchObject({ outcome: 'CONFLICT', commandType: 'create-quote' });
    expect(conflict?.id).toBe(eventId(eventIdNames.conflict(published.topic, published.partition, published.offset)));
    expect((await service.effects()).operations['create-quote']['type']).toBeUndefined();
  });

  test('is the answer to an unreadable copy of a key that is known; its bytes go to the dead letters', async () => {
    const { journal, publisher, publishRaw } = withRaw();
    await publisher.publish('transfer-in', 'torn', transferInOf('torn'));
    await journal.result('torn');
    await publishRaw('transfer-in', { key: 'torn', value: Buffer.from([0, 0, 0]), headers: { ce_id: 'torn-2' } });
    const [, conflict] = await journal.resultsOf('torn', 2);
    expect(conflict?.value).toMatchObject({ outcome: 'CONFLICT', commandId: 'torn-2' });
    expect(conflict?.headers).not.toHaveProperty('command-fingerprint');
    await journal.deadLetter((record) => record.key?.toString() === 'torn', 'torn');
    expect((await stack().service.effects()).operations['transfer-in']['torn']).toMatchObject({ calls: 1, effects: 1 });
  });

  test('has an id of its own, whatever place the headers of the message claim', async () => {
    const { journal, publishRaw } = withRaw();
    const json = (amount: number): string =>
      JSON.stringify({
        amount,
        source: { accountId: 'ExternalAccount:claims' },
        destination: { accountId: 'InternalAccount:claims' },
      });
    const claim = { 'moved-partition': '0', 'moved-offset': '1', 'moved-timestamp': String(Date.now()) };
    for (const amount of [1, 2, 3]) {
      const headers = { 'content-type': 'application/json', ...claim };
      await publishRaw('transfer-in', { key: 'claims', value: json(amount), headers });
    }
    const results = await journal.resultsOf('claims', 3);
    expect(results.map(({ value }) => value.outcome).sort()).toEqual(['ACCEPTED', 'CONFLICT', 'CONFLICT']);
    expect(new Set(results.map(({ id }) => id)).size).toBe(3);
  });
});

test('the id of a result follows from its key and revision alone', async () => {
  const { publisher, journal, settings } = stack();
  await publisher.publish('transfer-in', 'id', transferInOf('id'));
  const { id } = await journal.result('id');
  expect(id).toBe(eventId(eventIdNames.result(settings.TOPIC_PREFIX, 'id', 1)));
  expect(id?.[14]).toBe('5');
});

function withRaw() {
  const open = stack();
  return { journal: open.journal, publisher: open.publisher, publishRaw: open.publishRaw.bind(open) };
}
