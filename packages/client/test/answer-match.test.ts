/** Which results of a key are believed to answer a message, and that the processor's fingerprint is the client's. */
import { describe, expect, test } from 'vitest';
import { isAddressedTo, isAnswerTo, type Asked } from '../src/answer-match.ts';
import type { CommandResult, PaymentEvent } from '../src/events.ts';
import { LiveEvents } from '../src/live-events.ts';
import { checkCommand, fingerprintOf } from '../src/publisher.ts';
import { ResultAwaiter } from '../src/result-awaiter.ts';
import { readMessage } from '../../../src/consumers/command-intake.ts';
import { inputMessage } from '../../../src/consumers/input-message.ts';
import { COMMAND_RECORDS, COMMAND_TYPES, type CommandType, type Outcome } from 'payment-processor-contract/commands';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import { loadType } from 'payment-processor-contract/schemas';
import { commandExample } from '../../../dev/generate/asyncapi/examples.ts';
import { transferInOf } from '../../../test/support/commands.ts';
import { clientOf, type Publish } from './client-of.ts';
import { resultOf } from './result-of.ts';

const MINE = { commandId: 'mine', type: 'transfer-in', fingerprint: 'my-fields' } as const satisfies Asked;

interface Given {
  inReplyTo?: string;
  fingerprint?: string;
  outcome?: Outcome;
  commandType?: CommandType;
}

function isMine(
  { commandType = 'transfer-in', fingerprint, inReplyTo, outcome = 'ACCEPTED' }: Given,
  asked: Asked = MINE,
) {
  const headers = {
    ...(inReplyTo === undefined ? {} : { 'in-reply-to': inReplyTo }),
    ...(fingerprint === undefined ? {} : { 'command-fingerprint': fingerprint }),
  };
  return isAnswerTo({ headers, value: { commandType, outcome } }, asked);
}

describe('a result answers a message', () => {
  test('that it names, unless it is of other fields or of another type', () => {
    expect(isMine({ inReplyTo: 'mine', fingerprint: 'my-fields' })).toBe(true);
    expect(isMine({ inReplyTo: 'mine', fingerprint: 'my-fields', outcome: 'CONFLICT' })).toBe(true);
    // Of a processor that writes no fingerprint, or of what could not be read.
    expect(isMine({ inReplyTo: 'mine' })).toBe(true);
    // A damaged copy: the command that has the key may be the one that is asked for.
    expect(isMine({ inReplyTo: 'mine', outcome: 'CONFLICT' })).toBe(false);
    expect(isMine({ inReplyTo: 'mine', outcome: 'CONFLICT' }, { commandId: 'mine' })).toBe(true);
    // Two publishers gave one id to two commands.
    expect(isMine({ inReplyTo: 'mine', fingerprint: 'others' })).toBe(false);
    expect(isMine({ inReplyTo: 'mine', fingerprint: 'others', outcome: 'CONFLICT' })).toBe(false);
    expect(isMine({ inReplyTo: 'mine', commandType: 'create-quote' })).toBe(false);
    expect(isMine({ inReplyTo: 'mine', commandType: 'create-quote', outcome: 'CONFLICT' })).toBe(false);
  });

  test('of the same fields, whichever message it names, but for a CONFLICT', () => {
    for (const inReplyTo of ['another', undefined]) {
      const named = inReplyTo === undefined ? {} : { inReplyTo };
      expect(isMine({ ...named, fingerprint: 'my-fields' })).toBe(true);
      expect(isMine({ ...named, fingerprint: 'my-fields', outcome: 'UNKNOWN' })).toBe(true);
      expect(isMine({ ...named, fingerprint: 'my-fields', outcome: 'CONFLICT' })).toBe(false);
    }
  });

  test('in no other case, though it names no message', () => {
    for (const outcome of ['ACCEPTED', 'REFUSED', 'UNKNOWN', 'CONFLICT'] as const) {
      expect(isMine({ outcome })).toBe(false);
      expect(isMine({ outcome, fingerprint: 'others' })).toBe(false);
      expect(isMine({ outcome, inReplyTo: 'another' })).toBe(false);
      expect(isMine({ outcome, fingerprint: 'my-fields' }, { commandId: 'mine' })).toBe(false);
    }
  });

  test('of which no more than the key is known, unless it is a CONFLICT or of another type', () => {
    expect(isMine({ fingerprint: 'others', inReplyTo: 'another' }, {})).toBe(true);
    expect(isMine({ outcome: 'CONFLICT' }, {})).toBe(false);
    expect(isMine({ commandType: 'create-quote' }, { type: 'transfer-in' })).toBe(false);
  });
});

test('a copy that another publisher damaged does not make a request a conflict while it is being paid', async () => {
  const live = new LiveEvents();
  const [key, fields] = ['paid', transferInOf('paid')];
  const put = (outcome: Outcome, headers: Record<string, string>): void => {
    const value = resultOf(key, { outcome, revision: outcome === 'CONFLICT' ? 0 : 1 });
    const place = { topic: 'results', partition: 0, offset: 0n, timestampMs: 0, id: outcome };
    live.take({ ...place, key, headers, kind: 'result', value, isReplayed: false } as PaymentEvent);
  };
  const publish: Publish = async (_type, _key, _fields, options) => {
    const commandId = options?.commandId ?? 'none';
    const fingerprint = fingerprintOf('transfer-in', key, fields);
    setImmediate(() => put('CONFLICT', { 'in-reply-to': commandId }));
    setImmediate(() => put('ACCEPTED', { 'in-reply-to': commandId, 'command-fingerprint': fingerprint }));
    return { key, commandId, topic: 'commands', partition: 0, offset: 0n };
  };
  const client = clientOf(publish, { results: new ResultAwaiter(live) });
  const answer = await client.request('transfer-in', key, fields, { timeoutMs: 60_000 });
  expect(answer).toMatchObject({ kind: 'result', result: { value: { outcome: 'ACCEPTED' } } });
});

test('headers alone tell of a result that cannot be read only where they name the message', () => {
  expect(isAddressedTo({ 'in-reply-to': 'mine' }, MINE)).toBe(true);
  expect(isAddressedTo({ 'in-reply-to': 'mine', 'command-fingerprint': 'others' }, MINE)).toBe(false);
  expect(isAddressedTo({ 'command-fingerprint': 'my-fields' }, MINE)).toBe(false);
  expect(isAddressedTo({}, {})).toBe(false);
});

test('an answer does not stand once a later event of its key cannot be read', async () => {
  const live = new LiveEvents();
  const awaited = new ResultAwaiter(live).expect('k', { ...MINE, timeoutMs: 60_000 });
  const place = { topic: 'results', partition: 0, timestampMs: 1, key: 'k', id: null, uniqueId: null };
  const expired = resultOf('k', { outcome: 'EXPIRED' }) as CommandResult;
  const ofMine = { 'in-reply-to': 'mine', 'command-fingerprint': 'my-fields' };
  live.take({ ...place, offset: 1n, headers: ofMine, kind: 'result', isReplayed: true, value: expired });
  // The revision that an operator's RETRY made: its message is the first one, which another publisher sent.
  const headers = { ...ofMine, 'in-reply-to': 'first' };
  live.take({ ...place, offset: 2n, headers, kind: 'unreadable', problem: 'a later release', bytes: null });
  await expect(awaited).rejects.toMatchObject({ code: 'RESULT_UNREADABLE' });
});

describe.each(COMMAND_TYPES)('the fingerprint of %s', (commandType) => {
  const { payload } = commandExample(commandType, 'application/json');
  const fields = checkCommand(commandType, 'key', payload);
  const record = loadType(COMMAND_RECORDS[commandType]);

  test.each([
    ['JSON', 'application/json', Buffer.from(stringifyLossless(fields))],
    ['Avro', 'application/avro', record.toBuffer(fields)],
  ])('is that of the processor, which reads it as %s', async (_format, contentType, value) => {
    const message = inputMessage({
      key: Buffer.from('key'),
      value,
      headers: { 'content-type': Buffer.from(contentType) },
      timestamp: '1',
      attributes: 0,
      offset: '0',
    });
    const options = {
      registry: { decode: async () => ({ kind: 'record' as const, value: record.fromBuffer(value) as unknown }) },
      laneCount: 1,
      maxAgeMs: Object.fromEntries(COMMAND_TYPES.map((type) => [type, 1_000])) as Record<CommandType, number>,
    };
    const intake = await readMessage(options, { topic: 'commands', lane: 0, commandType }, message, 1);
    expect(intake).toMatchObject({ arrival: { fingerprint: fingerprintOf(commandType, 'key', payload) } });
  });
});
