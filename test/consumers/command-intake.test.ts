/** How one message of a command topic is read: what it comes to, and what it keeps. */
import { describe, expect, test } from 'vitest';
import { readMessage, type Intake, type IntakeOptions } from '../../src/consumers/command-intake.ts';
import { inputMessage } from '../../src/consumers/input-message.ts';
import { admit } from '../../src/ledger/admission.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { laneOf } from 'payment-processor-contract/keys';
import { aPolicy, entryAt } from '../ledger/entries.ts';

const LANES = 4;
const NOW_MS = 1_000_000;
const AGE_MS = 60_000;
const KEY = 'key-1';
const AWAY = { kind: 'unreachable', detail: 'ECONNREFUSED' } as const;
const options: IntakeOptions = {
  registry: { decode: async () => ({ kind: 'unavailable', problem: 'the registry does not answer', failure: AWAY }) },
  laneCount: LANES,
  maxAgeMs: Object.fromEntries(COMMAND_TYPES.map((type) => [type, AGE_MS])) as Record<CommandType, number>,
};
const FIELDS = { transactionId: 'Transaction:1', reason: null };
const JSON_HEADERS = { 'content-type': Buffer.from('application/json') };

interface Given {
  readonly commandType?: CommandType;
  readonly key?: Buffer | null;
  readonly value?: Buffer | null;
  readonly headers?: Record<string, Buffer>;
  readonly lane?: number;
}

async function read({
  commandType = 'reject-transaction',
  headers,
  key,
  lane = laneOf(KEY, LANES),
  value,
}: Given = {}): Promise<Intake> {
  const message = inputMessage({
    key: key === undefined ? Buffer.from(KEY) : key,
    value: value === undefined ? Buffer.from(JSON.stringify(FIELDS)) : value,
    headers: headers ?? JSON_HEADERS,
    timestamp: String(NOW_MS),
    attributes: 0,
    offset: '17',
  });
  return readMessage(options, { topic: 'commands', lane, commandType }, message, NOW_MS + 5);
}

async function arrived(given: Given = {}): Promise<Extract<Intake, { kind: 'arrival' }>> {
  const intake = await read(given);
  if (intake.kind !== 'arrival') throw new Error(intake.kind);
  return intake;
}

describe('a command', () => {
  test('in JSON is valid by its fields, with its place, and a time limit by its age', async () => {
    const { arrival, buriedAs } = await arrived({ headers: { ...JSON_HEADERS, ce_id: Buffer.from('event-1') } });
    expect(buriedAs).toBeNull();
    expect(arrival).toMatchObject({
      key: KEY,
      commandId: 'event-1',
      deadlineMs: NOW_MS + AGE_MS,
      expiresAtMs: null,
      content: { kind: 'valid', fields: FIELDS },
      origin: { topic: 'commands', offset: 17n, timestampMs: NOW_MS },
    });
  });

  test('has the publisher’s time limit where that comes first, and the age’s where that does', async () => {
    for (const [seconds, deadlineMs] of [
      [30, NOW_MS + 30_000],
      [3_600, NOW_MS + AGE_MS],
    ] as const) {
      const expiresAt = new Date(NOW_MS + seconds * 1_000).toISOString();
      const { arrival } = await arrived({ headers: { ...JSON_HEADERS, 'expires-at': Buffer.from(expiresAt) } });
      expect(arrival.deadlineMs).toBe(deadlineMs);
    }
  });

  test('of the same fields has the same fingerprint, however its JSON is written; of others another', async () => {
    const written = async (text: string): Promise<string> =>
      (await arrived({ value: Buffer.from(text) })).arrival.fingerprint;
    const plain = await written('{"transactionId":"Transaction:1"}');
    expect(await written('{ "reason": null, "transactionId": "Transaction:1" }')).toBe(plain);
    expect(await written('{"transactionId":"Transaction:2"}')).not.toBe(plain);
  });

  test('with wrong fields is INVALID, and keeps them', async () => {
    const { arrival, buriedAs } = await arrived({ value: Buffer.from('{"transactionId":7}') });
    expect(buriedAs).toBeNull();
    expect(arrival.content).toMatchObject({ kind: 'invalid', problems: [{ path: 'transactionId' }] });
  });

  test('with text that is not Unicode is INVALID, as JSON says it or as bytes', async () => {
    const escaped = await arrived({ value: Buffer.from('{"transactionId":"T\\ud800"}') });
    expect(escaped.arrival.content).toMatchObject({ kind: 'invalid', problems: [{ path: 'transactionId' }] });
    const bytes = await arrived({ value: Buffer.from('{"transactionId":"T\xed\xa0\x80"}', 'latin1') });
    expect(bytes.arrival.content.kind).toBe('unreadable');
    expect(bytes.buriedAs?.reason).toBe('UNREADABLE');
  });

  test.each([
    ['"description":"\\ud800"', 'HPNjmzg6qyw6yZ4Ndvc2-BvzoMZ2Rn_sVTYFXpgSucY'],
    ['"senderCustomerInfo":{"x":"y"}', 'nuya04cDRJmp635cdwQqsGtEr7b4UA-P3rooywJ8Ksc'],
  ])('that is INVALID by what its fields hold has their fingerprint: %s', async (more, taken) => {
    const text = `{"source":{"accountId":"I"},"destination":{"accountId":"E"},"lockedCurrencySide":"SENDING","lockedCurrencyAmount":1,${more}}`;
    const { arrival } = await arrived({ commandType: 'create-quote', value: Buffer.from(text) });
    expect(arrival).toMatchObject({ content: { kind: 'invalid' }, fingerprint: taken });
    const known = { ...entryAt('create-quote'), fingerprint: taken };
    expect(admit(arrival, known, NOW_MS, aPolicy()).kind).toBe('copy');
    expect(admit(arrival, { ...known, fingerprint: 'other' }, NOW_MS, aPolicy())).toMatchObject({
      kind: 'conflict',
      result: { outcome: 'CONFLICT' },
    });
  });

  test('with a time limit that says nothing is INVALID', async () => {
    const texts = ['', 'tomorrow', '1700000000', '2026-13-45T00:00:00Z', '2099-02-30T00:00:00Z', '2099-01-01T00:00'];
    for (const limit of [null, ...texts.map((text) => Buffer.from(text))]) {
      const { arrival } = await arrived({
        headers: { ...JSON_HEADERS, 'expires-at': limit } as Record<string, Buffer>,
      });
      expect(arrival.content).toMatchObject({ kind: 'invalid', problems: [{ path: 'headers.expires-at' }] });
    }
  });

  test('that cannot be read is INVALID and a dead letter', async () => {
    for (const value of [Buffer.from('{'), Buffer.alloc(0), null]) {
      const { arrival, buriedAs } = await arrived({ value });
      expect(arrival.content.kind).toBe('unreadable');
      expect(buriedAs?.reason).toBe('UNREADABLE');
    }
  });

  test('in Avro waits while the registry cannot be asked', async () => {
    expect(await read({ headers: {} })).toMatchObject({ kind: 'unavailable', problem: 'the registry does not answer' });
  });

  test('without a key is a dead letter alone: nobody could be answered', async () => {
    for (const key of [null, Buffer.alloc(0), Buffer.alloc(300, 'x')])
      expect((await read({ key })).kind).toBe('dead-letter');
  });

  test('on another lane’s partition is moved there, and says where it lay', async () => {
    const lane = (laneOf(KEY, LANES) + 1) % LANES;
    const intake = await read({ lane });
    if (intake.kind !== 'misrouted') throw new Error(intake.kind);
    expect(intake.record).toMatchObject({ topic: 'commands', partition: laneOf(KEY, LANES) });
    expect(String(intake.record.headers['moved-partition'])).toBe(String(lane));
    expect(String(intake.record.headers['moved-offset'])).toBe('17');
  });
});
