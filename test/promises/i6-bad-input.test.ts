/**
 * Invariant I6: what cannot be read goes to the dead letters, bytes intact, and is answered where it has a usable key. Every kind of
 * bad message is in the kit (i6-fuzz.test.ts); what records, headers and books say of it is here. What a publisher's own schema may
 * say is in packages/contract/test, what `expires-at` may say in test/consumers/command-intake.test.ts.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { accountOf, keysOfLane, transferInOf } from '../support/commands.ts';
import { faultyFor, LANES, type RawMessage } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { laneOf } from 'payment-processor-contract/keys';

const stack = useStack({ name: 'bad-input' });
const JSON_HEADERS = { 'content-type': 'application/json' };

beforeAll(async () => {
  await stack().startProcessor(faultyFor('bug'));
});

/** Nothing behind the bad message waits: a good command on the same partition is answered. */
async function expectLaneGoesOn(lane: number): Promise<void> {
  const [key = ''] = keysOfLane(`good-${randomUUID()}`, lane, 1);
  await stack().publisher.publish('transfer-in', key, transferInOf(key));
  expect((await stack().journal.result(key)).value.outcome).toBe('ACCEPTED');
}

const json = (key: string, amount = '100'): string =>
  `{"source":{"accountId":"ExternalAccount:payer-x"},"destination":{"accountId":"${accountOf(key)}"},"amount":${amount}}`;

describe('a message with a usable key that cannot be read', () => {
  const unreadable: [string, RawMessage['value'], string, Record<string, string>?][] = [
    ['no value', null, 'UNREADABLE'],
    ['JSON cut off', json('x').slice(0, 40), 'UNREADABLE', JSON_HEADERS],
    ['an unknown schema id', Buffer.from([0, 0x7f, 0xff, 0xff, 0xf0, 2, 3]), 'UNKNOWN_SCHEMA'],
    ['a value that is too large', `{"x":"${'y'.repeat(70 * 1024)}"}`, 'TOO_LARGE', JSON_HEADERS],
  ];

  test.each(
    unreadable.map((row, index) => ({ name: row[0], value: row[1], reason: row[2], more: row[3] ?? {}, index })),
  )('is a dead letter with its bytes, and INVALID: $name', async ({ value, reason, more, index }) => {
    const key = `unreadable-${index}`;
    const headers = { ...more, ce_id: `${key}-id`, 'my-own': 'kept' };
    await stack().publishRaw('transfer-in', { key, value, headers });
    const result = await stack().journal.result(key);
    expect(result.value).toMatchObject({
      outcome: 'INVALID',
      commandId: `${key}-id`,
      settledBy: 'PROCESSOR',
      error: { code: 'UNREADABLE_COMMAND' },
      attempts: 0,
    });
    expect((await stack().service.effects()).operations['transfer-in'][key]).toBeUndefined();
    const letter = await stack().journal.deadLetter((record) => record.key?.toString() === key, key);
    expect(letter.value).toEqual(value === null ? null : Buffer.from(value as string));
    expect(letter.headers).toMatchObject({
      ...headers,
      'dlq-reason': reason,
      'dlq-topic': stack().topics.commands['transfer-in'],
      'dlq-partition': String(laneOf(key, LANES)),
      'dlq-offset': result.value.source.offset.toString(),
    });
    expect(letter.headers['dlq-message']).not.toBe('');
    expect(letter.headers['dlq-timestamp']).not.toBe(undefined);
    await expectLaneGoesOn(laneOf(key, LANES));
  });
});

test('a JSON command may have a charset in its content-type, and keeps all digits of int64', async () => {
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  await stack().publishRaw('transfer-in', { key: 'digits', value: json('digits', '9007199254740993'), headers });
  const result = await stack().journal.result('digits');
  expect(result.value.outcome).toBe('ACCEPTED');
  expect(result.value.transaction?.receivedAmount?.amount).toBe(9007199254740993n);
});

test('a create-quote asks the service with a text of its sender whatever it is named, and however it looks', async () => {
  const value = `{"source":{"accountId":"InternalAccount:payer-y"},"lookupId":"Lookup:any",
      "destination":{"destinationType":"UMA_ADDRESS","otherFieldsJson":"{\\"umaAddress\\":\\"$you@there.example\\"}"},
      "lockedCurrencySide":"SENDING","lockedCurrencyAmount":100,"senderCustomerInfo":{"otherFieldsJson":"hello","constructor":"c"}}`;
  await stack().publishRaw('create-quote', { key: 'named', value, headers: JSON_HEADERS });
  expect((await stack().journal.result('named')).value).toMatchObject({ outcome: 'ACCEPTED', settledBy: 'ANSWER' });
  await expectLaneGoesOn(laneOf('named', LANES));
});

test('a command on another partition than that of its key is moved to its lane, and answered as from its first place', async () => {
  const key = 'moved';
  const partition = (laneOf(key, LANES) + 1) % LANES;
  await stack().publishRaw('transfer-in', { key, value: json(key), headers: JSON_HEADERS, partition });
  const result = await stack().journal.result(key);
  expect(result.value).toMatchObject({ outcome: 'ACCEPTED', source: { partition } });
  expect(result.partition).toBe(laneOf(key, LANES));
  expect((await stack().service.effects()).operations['transfer-in'][key]).toMatchObject({ calls: 1, effects: 1 });
});

test('a bug of our own that an answer brings out sets its command aside as UNKNOWN, and stops no lane', async () => {
  await stack().publisher.publish('transfer-in', 'bug', transferInOf('bug'));
  await expectLaneGoesOn(laneOf('bug', LANES));
  const { value } = await stack().journal.result('bug');
  expect(value).toMatchObject({ outcome: 'UNKNOWN', error: { code: 'UNDECIDABLE' } });
  expect((await stack().service.effects()).operations['transfer-in']['bug']).toMatchObject({ effects: 1 });
});
