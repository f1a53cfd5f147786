/** Every row of the table of answers: which class an answer falls into. */
import { describe, expect, test } from 'vitest';
import { readAnswer, RAW_RESPONSE_MAX_CHARACTERS, RETRY_AFTER_MAX_MS } from '../../src/api/reading.ts';
import type { Answer, Reading } from '../../src/api/types.ts';
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { TRANSACTION_BODY } from './payment-api-in-test.ts';

const NOW_MS = Date.parse('2026-03-01T12:00:00Z');

interface Given {
  body?: string;
  cut?: boolean;
  retryAfter?: string | null;
  location?: string | null;
  operation?: CommandType;
}

function read(httpStatus: number, given: Given = {}): Reading {
  const { body = '', cut = false, retryAfter = null, location = null, operation = 'transfer-in' } = given;
  const answer: Answer = { kind: 'response', httpStatus, body, cut, retryAfter, location };
  return readAnswer(operation, answer, NOW_MS);
}

const ERROR_BODY = '{"status":400,"code":"INVALID_INPUT","message":"no","details":{"limit":9007199254740993}}';

describe('a 2xx', () => {
  test.each([200, 201, 202, 204, 299])('%i with a JSON object that has a text id is accepted', (httpStatus) => {
    for (const operation of COMMAND_TYPES) {
      const reading = read(httpStatus, { body: '{"id":"X:1"}', operation });
      expect(reading).toMatchObject({ kind: 'accepted', httpStatus });
      const isQuote = operation === 'create-quote' || operation === 'execute-quote';
      expect(reading).toMatchObject(
        isQuote ? { quote: { id: 'X:1' }, transaction: null } : { quote: null, transaction: { id: 'X:1' } },
      );
    }
  });

  test('that is understood carries no raw response and no warning', () => {
    expect(read(200, { body: TRANSACTION_BODY })).toMatchObject({ warnings: [], rawResponse: null });
  });

  test('whose fields are not all understood is accepted with warnings and its raw response', () => {
    const body = TRANSACTION_BODY.replace('"PENDING"', '17');
    expect(read(200, { body })).toMatchObject({
      kind: 'accepted',
      warnings: ['status is not text'],
      rawResponse: body,
    });
  });

  test.each([
    ['nothing', ''],
    ['a page', '<html><body>Welcome</body></html>'],
    ['half of it', '{"id":"Transaction:1"'],
    ['a list', '[{"id":"Transaction:1"}]'],
    ['text', '"Transaction:1"'],
    ['a number', '1'],
    ['null', 'null'],
    ['an object without an id', '{"status":"PENDING"}'],
    ['an empty id', '{"id":""}'],
    ['a number as its id', '{"id":1}'],
    ['nesting beyond any stack', '['.repeat(400_000)],
  ])('with %s is doubt', (_name, body) => {
    expect(read(200, { body })).toMatchObject({ kind: 'doubt', httpStatus: 200 });
  });

  test('that was cut is doubt even where its JSON is whole', () => {
    expect(read(200, { body: TRANSACTION_BODY, cut: true })).toMatchObject({
      kind: 'doubt',
      rawResponse: TRANSACTION_BODY,
    });
  });
});

test.each([100, 199, 300, 304, 305, 306, 399, 408, 460, 499, 500, 502, 503, 504, 507, 511, 520, 599, 600, 999])(
  '%i is doubt',
  (httpStatus) => {
    expect(read(httpStatus, { body: ERROR_BODY })).toMatchObject({
      kind: 'doubt',
      httpStatus,
      rawResponse: ERROR_BODY,
    });
  },
);

test('lost is doubt without a status, never sent is never sent', () => {
  expect(readAnswer('transfer-in', { kind: 'lost', reason: 'ECONNRESET' }, NOW_MS)).toEqual({
    kind: 'doubt',
    httpStatus: null,
    reason: 'ECONNRESET',
    rawResponse: null,
  });
  expect(readAnswer('transfer-in', { kind: 'never-sent', reason: 'ECONNREFUSED' }, NOW_MS)).toEqual({
    kind: 'never-sent',
    reason: 'ECONNREFUSED',
  });
});

test.each([301, 302, 303, 307, 308])('%i is redirected', (httpStatus) => {
  expect(read(httpStatus)).toMatchObject({ kind: 'redirected', httpStatus });
});

test('a redirect names the origin that it points to and nothing secret of it', () => {
  const reading = read(302, { location: 'https://user:password@login.example/path?token=secret' });
  expect(reading).toMatchObject({ reason: expect.stringContaining('https://login.example') as string });
  expect(JSON.stringify(reading)).not.toMatch(/password|secret/);
});

test('401 is unauthorized', () => {
  expect(read(401, { body: ERROR_BODY })).toMatchObject({ kind: 'unauthorized', httpStatus: 401 });
});

test.each([403, 404, 405])('%i is not here, with the code of an error object', (httpStatus) => {
  expect(read(httpStatus, { body: ERROR_BODY })).toMatchObject({ kind: 'not-here', error: { code: 'INVALID_INPUT' } });
});

test.each([
  ['nothing', ''],
  ['a page', '<!DOCTYPE html><html></html>'],
  ['a code that is a number', '{"code":404,"message":"x"}'],
  ['an empty code', '{"code":"","message":"x"}'],
  ['a list', '[]'],
])('404 with %s has no code', (_name, body) => {
  expect(read(404, { body })).toMatchObject({ kind: 'not-here', error: { code: null } });
});

test('404 with a code whose body was cut has no code', () => {
  expect(read(404, { body: ERROR_BODY, cut: true })).toMatchObject({ kind: 'not-here', error: { code: null } });
});

describe('425 and 429 mean that the call must wait', () => {
  test.each([
    ['120', 120_000],
    ['0', 0],
    [' 7 ', 7000],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['99999999999999999999', RETRY_AFTER_MAX_MS],
    ['Mon, 01 Mar 2027 12:00:00 GMT', RETRY_AFTER_MAX_MS],
    ['-1', null],
    ['1.5', null],
    ['soon', null],
    ['Sun, 99 Mar 2026 12:00:30 GMT', null],
    ['2026-03-01T12:00:30Z', null],
    ['', null],
    [null, null],
  ])('Retry-After %j is %j ms', (retryAfter, retryAfterMs) => {
    for (const httpStatus of [425, 429]) {
      expect(read(httpStatus, { retryAfter })).toMatchObject({ kind: 'told-to-wait', httpStatus, retryAfterMs });
    }
  });
});

test('an execution that is answered with its quote, EXPIRED, is a conflict; any other status is accepted', () => {
  const answered = (status: string): Reading =>
    read(200, { body: JSON.stringify({ id: 'Quote:1', status }), operation: 'execute-quote' });
  expect(answered('EXPIRED')).toMatchObject({
    kind: 'conflict',
    httpStatus: 200,
    error: { code: 'QUOTE_EXPIRED', message: 'the answer shows the quote as EXPIRED' },
  });
  for (const status of ['PENDING', 'PROCESSING', 'COMPLETED', 'FAILED']) expect(answered(status).kind).toBe('accepted');
  const created = read(200, { body: JSON.stringify({ id: 'Quote:1', status: 'EXPIRED' }), operation: 'create-quote' });
  expect(created.kind).toBe('accepted');
});

test('409 is a conflict', () => {
  expect(read(409, { body: ERROR_BODY })).toMatchObject({ kind: 'conflict', error: { code: 'INVALID_INPUT' } });
});

test.each([400, 402, 406, 410, 413, 415, 418, 422, 451, 501])('%i is refused', (httpStatus) => {
  expect(read(httpStatus, { body: ERROR_BODY })).toEqual({
    kind: 'refused',
    httpStatus,
    error: { code: 'INVALID_INPUT', message: 'no', details: '{"limit":9007199254740993}' },
    rawResponse: ERROR_BODY,
  });
});

describe('an error body', () => {
  test.each([
    ['{"code":"A","message":"m"}', { code: 'A', message: 'm', details: null }],
    ['{"error":{"message":"inner"}}', { code: null, message: 'inner', details: null }],
    ['{"error":"plain"}', { code: null, message: 'plain', details: null }],
    ['{"title":"t","detail":"d"}', { code: null, message: 'd', details: null }],
    [
      '{"code":"A","details":[1.10,null]}',
      { code: 'A', message: 'HTTP 400 without a message', details: '[1.10,null]' },
    ],
    ['', { code: null, message: 'HTTP 400 with an empty body', details: null }],
    ['<html>', { code: null, message: 'HTTP 400 with an HTML or XML page instead of JSON', details: null }],
    ['upstream said no', { code: null, message: 'HTTP 400 with a body that is not JSON', details: null }],
    ['["x"]', { code: null, message: 'HTTP 400 with a JSON body that is not an object', details: null }],
  ])('%s is read', (body, error) => {
    expect(read(400, { body })).toMatchObject({ kind: 'refused', error, rawResponse: body });
  });

  test('that was cut says so', () => {
    expect(read(400, { body: '{"code":"A"', cut: true })).toMatchObject({
      kind: 'refused',
      error: { code: null, message: 'HTTP 400 with a body that was cut off' },
    });
  });

  test('of any length is bounded, with no half of a character', () => {
    const long = '😀'.repeat(10_000);
    const reading = read(400, { body: JSON.stringify({ code: long, message: `x${long}`, details: long }) });
    if (reading.kind !== 'refused') throw new Error(reading.kind);
    expect(reading.rawResponse.length).toBe(RAW_RESPONSE_MAX_CHARACTERS);
    expect(reading.error.message.length).toBe(1000);
    expect(reading.error.message.isWellFormed()).toBe(true);
    expect(reading.rawResponse.isWellFormed()).toBe(true);
    expect(reading.error.details).toBeNull();
  });
});
