/** What a message of a command topic keeps: its time limit, and the fingerprint of what is INVALID. Every kind of message: i6-fuzz. */
import { expect, test } from 'vitest';
import { readMessage, type IntakeOptions } from '../../src/consumers/command-intake.ts';
import { inputMessage } from '../../src/consumers/input-message.ts';
import { movedRecord, originalMessage, sizeProblem } from '../../src/consumers/message-origin.ts';
import { admit, type Arrival } from '../../src/ledger/admission.ts';
import { decideByOperator } from '../../src/ledger/operator.ts';
import { doneEntry } from '../../src/ledger/transitions.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { aPolicy, entryAt } from '../ledger/entries.ts';
import { AS_JSON, received, taken } from './received.ts';

const NOW_MS = 1_000_000;
const AGE_MS = 60_000;
const options: IntakeOptions = {
  registry: { decode: () => Promise.reject(new Error('it is JSON')) },
  laneCount: 1,
  maxAgeMs: Object.fromEntries(COMMAND_TYPES.map((type) => [type, AGE_MS])) as Record<CommandType, number>,
};

async function arrivalOf(commandType: CommandType, text: string, expiresAt?: Buffer | null): Promise<Arrival> {
  const headers = { ...AS_JSON, ...(expiresAt === undefined ? {} : { 'expires-at': expiresAt as Buffer }) };
  const message = taken(text, { headers, timestamp: String(NOW_MS) });
  const intake = await readMessage(options, { topic: 'commands', lane: 0, commandType }, message, NOW_MS + 5);
  if (intake.kind !== 'arrival') throw new Error(intake.kind);
  return intake.arrival;
}

const REJECTION = '{"transactionId":"Transaction:1"}';

test.each([
  ['the publisher’s time limit where that comes first', 30_000, 30_000],
  ['the age’s where that does', 3_600_000, AGE_MS],
])('a command has %s', async (_which, limitMs, countsMs) => {
  const expiresAt = Buffer.from(new Date(NOW_MS + limitMs).toISOString());
  expect((await arrivalOf('reject-transaction', REJECTION, expiresAt)).deadlineMs).toBe(NOW_MS + countsMs);
});

test('a command that is INVALID by its fields keeps the publisher’s time limit: a RETRY must not call after it', async () => {
  const expiresAt = Buffer.from(new Date(NOW_MS + 30_000).toISOString());
  const arrival = await arrivalOf('reject-transaction', '{"transactionId":"Transaction:1","memo":"later"}', expiresAt);
  expect(arrival).toMatchObject({ content: { kind: 'invalid' }, expiresAtMs: NOW_MS + 30_000 });
});

test('an Avro command with a field that only its publisher knows is INVALID, also when an operator retries it', async () => {
  const fields = { source: { accountId: 'E' }, destination: { accountId: 'I' }, amount: 1000n };
  // As the registry decodes it: see evolution.test.ts of the contract.
  const value = { ...fields, amont: { unreadAvro: ['Ag=='] } };
  const registry = { decode: async () => ({ kind: 'record' as const, value }) };
  const headers = { 'content-type': Buffer.from('application/avro') };
  const message = taken(Buffer.from([0, 0, 0, 0, 1]), { headers, timestamp: String(NOW_MS) });
  const place = { topic: 'commands', lane: 0, commandType: 'transfer-in' as const };
  const intake = await readMessage({ ...options, registry }, place, message, NOW_MS);
  if (intake.kind !== 'arrival') throw new Error(intake.kind);
  expect(intake.arrival.content).toMatchObject({ kind: 'invalid', problems: [{ path: 'amont' }] });
  const admission = admit(intake.arrival, undefined, NOW_MS, aPolicy());
  if (admission.kind !== 'finish') throw new Error(admission.kind);
  const done = doneEntry(admission.entry, 'INVALID', NOW_MS, { value: Buffer.alloc(0), headers: {} });
  const by = { operator: 'ada', reason: 'why', id: null };
  const order = { decision: 'RETRY', expectedRevision: 1, transactionId: null, ...by };
  expect(decideByOperator(done, order, NOW_MS, aPolicy())).toMatchObject({
    decision: { kind: 'finish', result: { outcome: 'INVALID', revision: 2, attempts: 0 } },
  });
});

test.each([
  ['"description":"\\ud800"', 'HPNjmzg6qyw6yZ4Ndvc2-BvzoMZ2Rn_sVTYFXpgSucY'],
  ['"senderCustomerInfo":{"x":"y"}', 'nuya04cDRJmp635cdwQqsGtEr7b4UA-P3rooywJ8Ksc'],
])('a command that is INVALID by what its fields hold has their fingerprint: %s', async (more, taken) => {
  const text = `{"source":{"accountId":"I"},"destination":{"accountId":"E"},"lockedCurrencySide":"SENDING","lockedCurrencyAmount":1,${more}}`;
  const arrival = await arrivalOf('create-quote', text);
  expect(arrival).toMatchObject({ content: { kind: 'invalid' }, fingerprint: taken });
  const known = { ...entryAt('create-quote'), fingerprint: taken };
  expect(admit(arrival, known, NOW_MS, aPolicy()).kind).toBe('copy');
  expect(admit(arrival, { ...known, fingerprint: 'other' }, NOW_MS, aPolicy())).toMatchObject({
    kind: 'conflict',
    result: { outcome: 'CONFLICT' },
  });
});

test.each([
  null,
  ...['', 'tomorrow', '1700000000', '2026-13-45T00:00:00Z', '2099-02-30T00:00:00Z', '2099-01-01T00:00'].map((text) =>
    Buffer.from(text),
  ),
])('a command with a time limit that says nothing is INVALID: %s', async (limit) => {
  const { content } = await arrivalOf('reject-transaction', REJECTION, limit);
  expect(content).toMatchObject({ kind: 'invalid', problems: [{ path: 'headers.expires-at' }] });
});

const PLACE = { topic: 'commands', lane: 0, commandType: 'transfer-in' } as const;

test('a batch that cannot be read is no message', async () => {
  const unreadableBatch = { firstOffset: '5', records: Buffer.from('bytes'), error: new Error('cannot be expanded') };
  const read = await readMessage(options, PLACE, inputMessage({ ...received(null), unreadableBatch }), 0);
  expect(read).toMatchObject({ kind: 'dead-letter', letter: { reason: 'UNREADABLE_BATCH' } });
});

test('names of headers count in bytes: a message of long names is not kept whole', () => {
  const { cut } = taken(null, { headers: { ['漢'.repeat(400_000)]: Buffer.from('x') } });
  expect(cut).not.toBeNull();
});

test('a message beyond the limit of a command is moved to its lane by reference', () => {
  const message = taken(Buffer.alloc(500_000));
  const moved = movedRecord(1, originalMessage(PLACE, 2, message), sizeProblem(message) !== null);
  expect(moved.value?.length).toBeLessThan(250_000);
});
