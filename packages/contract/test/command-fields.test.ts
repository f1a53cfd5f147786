/** What a publisher's JSON means: read as it was written, or refused with a sentence; never guessed, never a crash (I6, I8). */
import avsc from 'avsc';
import { describe, expect, test } from 'vitest';
import { PaymentClientError } from 'payment-processor-client/internal/client-error';
import { checkCommand } from 'payment-processor-client/internal/publisher';
import { canonicalJson, commandFingerprint, readCommandFields } from '../src/command-fields.ts';
import { COMMAND_TYPES, type CommandType } from '../src/commands.ts';
import { JsonMeaningError, parseLossless, parseUnambiguous } from '../src/lossless-json.ts';
import { loadSchema } from '../src/schemas.ts';
import { readerRecord, writerSchema } from '../src/writer-schema.ts';

const QUOTE_MEMBERS =
  '"source":{"accountId":"InternalAccount:1"},"destination":{"accountId":"ExternalAccount:1"},"lockedCurrencySide":"SENDING","lockedCurrencyAmount":100';
const quote = (more: string): string => `{${QUOTE_MEMBERS}${more}}`;
const umaQuote = (more: string): string =>
  quote(`,"lookupId":"L"${more}`).replace('"ExternalAccount:1"', '"E","destinationType":"UMA_ADDRESS"');
/** With a source of another type, which the interface does not show. */
const otherSource = (others: string): string =>
  `{"source":{"sourceType":"X","otherFieldsJson":${JSON.stringify(others)}},"destination":{"accountId":"E"},"lockedCurrencySide":"SENDING","lockedCurrencyAmount":1}`;
const transfer = (amount: string): string =>
  `{"source":{"accountId":"ExternalAccount:1"},"destination":{"accountId":"InternalAccount:1"},"amount":${amount}}`;

/** As the intake does it: text, fields, canonical form, fingerprint. */
function intake(type: CommandType, text: string) {
  const value = parseUnambiguous(text);
  const read = readCommandFields(type, value);
  const canonical = canonicalJson(read.value ?? (value as object));
  return { read, canonical, fingerprint: commandFingerprint(type, canonical) };
}

describe('JSON with more than one meaning', () => {
  test.each([
    ['{"amount":1,"amount":2}', 'amount'],
    ['{"amount":1,"amo\\u0075nt":2}', 'amount'],
    ['{"a":[1,{"b":{"c":1,"d":2,"c":3}}]}', 'a[1].b.c'],
    ['{"":1,"":2}', '""'],
    ['{"__proto__":1,"__proto__":2}', '__proto__'],
    ['{"x":{"y":1}, "x" : null}', 'x'],
    ['{"\\ud800":1,"\\ud800":2}', 'twice'],
  ])('is refused with the member named: %s', (text, named) => {
    expect(() => parseUnambiguous(text)).toThrow(JsonMeaningError);
    expect(() => parseUnambiguous(text)).toThrow(named);
    // The service's answers are read all the same.
    expect(parseLossless(text)).toBeTypeOf('object');
  });

  test.each([
    '{"a":{"x":1},"b":{"x":1}}',
    '[{"x":1},{"x":1}]',
    '{"a":"a","b":"a: \\"a\\": {","c":["a","a"]}',
    '{"constructor":1,"toString":2,"hasOwnProperty":3,"__proto__":4}',
  ])('is not what has each member once: %s', (text) => {
    expect(JSON.stringify(parseUnambiguous(text))).toBe(text);
  });

  test.each([100, 5_000, 30_000, 1_000_000])('is not what is nested %d deep, which is refused', (depth) => {
    for (const text of ['['.repeat(depth) + ']'.repeat(depth), '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)]) {
      if (depth <= 100) expect(parseUnambiguous(text)).toBeTypeOf('object');
      else expect(() => parseUnambiguous(text)).toThrow(/nested more than 100 deep/);
    }
  });

  test('is looked for in linear time', () => {
    const hostile = [
      `{"a":"${'\\"'.repeat(30_000)}"`,
      `{${Array.from({ length: 8_000 }, (_, index) => `"${index}":1`).join(',')}}`,
      '"'.repeat(65_000),
      '{"'.repeat(30_000),
    ];
    for (const text of hostile) {
      try {
        parseUnambiguous(text);
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
      }
    }
  });
});

describe('the intake of a command', () => {
  test.each(COMMAND_TYPES.flatMap((type) => ['hello', '{', '[1', '', '{"a":1,"a":2}'].map((text) => [type, text])))(
    'is total for a member otherFieldsJson anywhere: %s %s',
    (type, text) => {
      const member = `"otherFieldsJson":${JSON.stringify(text)}`;
      for (const body of [
        `{${member}}`,
        quote(`,"senderCustomerInfo":{${member}}`),
        quote(`,"x":[{${member}}]`),
        `{"source":{${member}},"destination":{${member}},"amount":1}`,
      ]) {
        expect(intake(type as CommandType, body).fingerprint).toHaveLength(43);
      }
    },
  );

  test('compares otherFieldsJson of source and destination by what it says, and texts of others by their letters', () => {
    const one = intake('create-quote', otherSource('{"a":1,"b":2}'));
    expect(one.read.ok).toBe(true);
    expect(intake('create-quote', otherSource('{ "b":2, "a":1 }')).fingerprint).toBe(one.fingerprint);
    expect(intake('create-quote', otherSource('{"a":1,"b":3}')).fingerprint).not.toBe(one.fingerprint);
    const sender = (text: string): string =>
      intake('create-quote', quote(`,"senderCustomerInfo":{"otherFieldsJson":${JSON.stringify(text)}}`)).fingerprint;
    expect(sender('{"a":1}')).not.toBe(sender('{ "a":1}'));
  });

  test.each([
    ['twice', '{"a":1,"a":2}', /a.*twice/],
    ['deep', '{"a":'.repeat(5_000) + '1' + '}'.repeat(5_000), /nested/],
    ['no object', '[]', /one JSON object/],
    ['no JSON', '{', /one JSON object/],
  ])('refuses otherFieldsJson with a sentence: %s', (_what, others, message) => {
    const { read } = intake('create-quote', otherSource(others));
    expect(read).toMatchObject({ ok: false, problems: [{ path: 'source.otherFieldsJson' }] });
    expect(read.ok ? '' : read.problems[0]?.message).toMatch(message);
  });

  test('refuses otherFieldsJson that contradicts a field beside it, and takes what says the same', () => {
    const problemsOf = (others: string): unknown => {
      const { read } = intake('create-quote', otherSource(others).replace('"sourceType":"X"', '"accountId":"A"'));
      return read.ok ? [] : read.problems.map(({ path }) => path);
    };
    expect(problemsOf('{"accountId":"B"}')).toEqual(['source.otherFieldsJson']);
    expect(problemsOf('{"account\\u0049d":"B"}')).toEqual(['source.otherFieldsJson']);
    expect(problemsOf('{"sourceType":"UMA_ADDRESS"}')).toEqual(['source.otherFieldsJson']);
    expect(problemsOf('{"accountId":"A","more":"x"}')).toEqual([]);
  });

  test('never drops a member for its name', () => {
    const names = intake('create-quote', umaQuote(',"senderCustomerInfo":{"constructor":"c","toString":"t"}'));
    expect(names.read).toMatchObject({ ok: true });
    expect(names.canonical).toContain('"senderCustomerInfo":{"constructor":"c","toString":"t"}');
    for (const more of [
      ',"senderCustomerInfo":{"__proto__":"x"}',
      ',"__proto__":{"a":1}',
      ',"source2":{"__proto__":null}',
    ]) {
      const { read } = intake('create-quote', quote(more));
      expect(read.ok).toBe(false);
    }
    expect(intake('create-quote', quote(',"senderCustomerInfo":{"__proto__":"x"}')).read).toMatchObject({
      problems: [{ path: 'senderCustomerInfo.__proto__' }],
    });
    expect(({} as Record<string, unknown>)['a']).toBe(undefined);
    const one = intake('create-quote', quote(',"__proto__":1')).fingerprint;
    expect(intake('create-quote', quote(',"__proto__":2')).fingerprint).not.toBe(one);
  });

  test('keeps what is wrong when an operator has an INVALID command tried again', () => {
    for (const more of [',"senderCustomerInfo":{"__proto__":"x"}', ',"__proto__":1', ',"amont":1']) {
      const { canonical } = intake('create-quote', umaQuote(more));
      expect(readCommandFields('create-quote', parseLossless(canonical)).ok).toBe(false);
    }
  });

  test('says a bounded number of problems, each of bounded length, and how many more there are', () => {
    const unknown = Array.from({ length: 8_281 }, (_, index) => `,"f${index}":1`).join('');
    const { read } = intake('transfer-in', `{"amount":1${unknown}}`);
    if (read.ok) throw new Error('valid?');
    expect(read.problems).toHaveLength(51);
    expect(read.problems[50]).toEqual({ path: '', message: 'has 8233 more problems' });
    const long = intake('transfer-in', `{"${'n'.repeat(60_000)}":1,"${'\\u0001'.repeat(5_000)}":1}`).read;
    if (long.ok) throw new Error('valid?');
    for (const { path, message } of long.problems) {
      expect(path.length).toBeLessThanOrEqual(201);
      expect(message.length).toBeLessThanOrEqual(400);
    }
    expect(JSON.stringify(read.problems).length + JSON.stringify(long.problems).length).toBeLessThan(20_000);
  });

  test.each(['1000.0', '1e3', '1E3', '"1000"', '9223372036854775808', '1.5', 'true', '[]', '{}'])(
    'says how an int64 is to be written: not %s',
    (amount) => {
      const { read } = intake('transfer-in', transfer(amount));
      expect(read).toMatchObject({ ok: false, problems: [{ path: 'amount' }] });
      expect(read.ok ? '' : read.problems[0]?.message).toMatch(/integer within int64.*only in digits/);
    },
  );

  test.each([
    ['-0', 0n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9223372036854775807', 2n ** 63n - 1n],
  ])('takes %s as an int64', (amount, value) => {
    expect(intake('transfer-in', transfer(amount)).read).toMatchObject({ ok: true, value: { amount: value } });
  });

  test.each(['\\ud800', '\\udc00\\ud800', '\\u0000', '\\u0000'.repeat(10_000)])('is total for odd text', (text) => {
    for (const type of COMMAND_TYPES) {
      intake(type, `{"transactionId":"${text}","reason":"${text}","quoteId":"${text}","${text}":"${text}"}`);
      intake(type, quote(`,"description":"${text}","senderCustomerInfo":{"${text}":"${text}"}`));
    }
  });
});

describe('text that is not Unicode', () => {
  const HALF = '\\ud800';
  const others = (text: string): string => JSON.stringify(JSON.stringify({ deep: [{ a: text }] }));
  test.each<[CommandType, string, string]>([
    ['create-quote', quote('').replace('InternalAccount:1', HALF), 'source.accountId'],
    ['create-quote', quote('').replace('ExternalAccount:1', `a${HALF}b`), 'destination.accountId'],
    ['create-quote', quote(`,"description":"${HALF}"`), 'description'],
    ['create-quote', quote(`,"lookupId":"${HALF}"`), 'lookupId'],
    ['create-quote', umaQuote(`,"senderCustomerInfo":{"x":"${HALF}"}`), 'senderCustomerInfo.x'],
    ['create-quote', umaQuote(`,"senderCustomerInfo":{"${HALF}":"x"}`), 'senderCustomerInfo.\ud800'],
    ...['\ud800', '\udc00\ud800'].map((text): [CommandType, string, string] => [
      'create-quote',
      quote('').replace('"InternalAccount:1"', `"I","otherFieldsJson":${others(text)}`),
      'source.otherFieldsJson',
    ]),
    [
      'create-quote',
      quote('').replace('"ExternalAccount:1"', `"E","otherFieldsJson":${JSON.stringify(`{"${HALF}":1}`)}`),
      'destination.otherFieldsJson',
    ],
    ['execute-quote', `{"quoteId":"${HALF}"}`, 'quoteId'],
    ['execute-quote', `{"quoteId":"Q","transactionId":"${HALF}"}`, 'transactionId'],
    ['transfer-in', transfer('1').replace('InternalAccount:1', HALF), 'destination.accountId'],
    ['reject-transaction', `{"transactionId":"${HALF}"}`, 'transactionId'],
    ['reject-transaction', `{"transactionId":"T","reason":"${HALF}"}`, 'reason'],
    [
      'simulate-uma-receive',
      `{"senderUmaAddress":"${HALF}","receivingCurrencyCode":"USD","receivingCurrencyAmount":1,"customerId":"C"}`,
      'senderUmaAddress',
    ],
  ])('makes a %s INVALID, for the client as for the processor: %s', (type, text, path) => {
    const { read } = intake(type, text);
    expect(read.ok ? [] : read.problems).toEqual([
      { path, message: 'is not Unicode: it contains half of a surrogate pair' },
    ]);
    expect(() => checkCommand(type, 'key', parseUnambiguous(text))).toThrow(PaymentClientError);
  });

  test('is not what is written as pairs, or as the sign for what could not be read', () => {
    for (const text of ['\\ud83d\\ude00', '\\ufffd', '\ufffd', '\u{1f600}']) {
      expect(intake('transfer-in', transfer('1').replace('InternalAccount:1', text)).read.ok).toBe(true);
    }
  });
});

test('an execution that names an empty transaction is INVALID: a look-up would never find it', () => {
  const { read } = intake('execute-quote', '{"quoteId":"Q","transactionId":""}');
  expect(read.ok ? [] : read.problems).toEqual([{ path: 'transactionId', message: 'must not be empty' }]);
});

describe('senderCustomerInfo', () => {
  const to = (destination: string): string =>
    quote(',"lookupId":"L","senderCustomerInfo":{"x":"y"}').replace('{"accountId":"ExternalAccount:1"}', destination);

  test('is INVALID where the destination is an account, even empty', () => {
    const accounts = [to('{"accountId":"E"}'), to('{"destinationType":"ACCOUNT","accountId":"E"}')];
    for (const text of [...accounts, quote(',"senderCustomerInfo":{}')]) {
      const { read } = intake('create-quote', text);
      expect(read).toMatchObject({ ok: false, problems: [{ path: 'senderCustomerInfo' }] });
      expect(() => checkCommand('create-quote', 'key', parseUnambiguous(text))).toThrow(/UMA destinations only/);
    }
  });

  test('is taken for a UMA address, and for a type that the interface does not show, which may be one', () => {
    const destinations = [
      '{"destinationType":"UMA_ADDRESS","otherFieldsJson":"{}"}',
      '{"accountId":"E","otherFieldsJson":"{\\"umaAddress\\":\\"$a@b.c\\"}"}',
      '{"destinationType":"NEWER"}',
    ];
    for (const destination of destinations) expect(intake('create-quote', to(destination)).read.ok).toBe(true);
    expect(intake('create-quote', quote(',"senderCustomerInfo":null')).read.ok).toBe(true);
  });
});

test('a field that is not there is said to be required, one of another type what it must be', () => {
  const problems = (type: CommandType, text: string): Record<string, string> => {
    const { read } = intake(type, text);
    if (read.ok) throw new Error('it is valid');
    return Object.fromEntries(read.problems.map(({ path, message }) => [path, message]));
  };
  expect(problems('transfer-in', '{"source":{}}')).toEqual({
    'source.accountId': 'is required: text',
    destination: 'is required: an object',
  });
  expect(problems('transfer-in', '{"source":"5","destination":{"accountId":null}}')).toEqual({
    source: 'must be an object',
    'destination.accountId': 'must be text',
  });
  expect(problems('transfer-in', '{"source":5,"destination":{"accountId":"I"}}')).toEqual({
    source: 'must be an object',
  });
  expect(problems('create-quote', quote(',"senderCustomerInfo":5'))).toEqual({
    senderCustomerInfo: 'must be an object',
  });
  expect(problems('create-quote', quote(',"immediatelyExecute":"yes"'))).toEqual({
    immediatelyExecute: 'must be true or false',
  });
  expect(problems('create-quote', '{}')['lockedCurrencySide']).toBe('is required: text');
});

test('a field of a publisher\u2019s schema that ours does not have makes a command INVALID', () => {
  const ours = loadSchema('TransferIn');
  const schema = { ...ours, fields: [...ours.fields, { name: 'ammount', type: 'long' }] };
  const account = { accountId: 'InternalAccount:1' };
  const command = { source: account, destination: account, amount: null, ammount: 1_000 };
  const bytes = avsc.Type.forSchema(schema as unknown as avsc.Schema).toBuffer(command);
  const decoded = writerSchema([JSON.stringify(schema)], readerRecord('TransferIn', true)).read(bytes);
  expect(readCommandFields('transfer-in', decoded)).toMatchObject({ ok: false, problems: [{ path: 'ammount' }] });
});
