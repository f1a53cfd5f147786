/**
 * Messages drawn at random: good ones of every type, changed in their bytes, keys, headers and sizes, some not at all.
 * The same draws make the same message.
 */
import { COMMAND_TYPES, type CommandType } from 'payment-processor-contract/commands';
import { stringifyLossless } from 'payment-processor-contract/lossless-json';
import type { Draws } from '../simulation/draws.ts';
import { JSON_HEADER, type PoisonInput } from '../../test/support/poison/kinds.ts';
import { observationBytes } from '../../test/support/poison/observation-kinds.ts';
import type { HeaderList } from '../../test/support/record-batch.ts';

/** Which topic a message is for. */
export interface RandomTarget {
  readonly input: PoisonInput;
  readonly commandType: CommandType;
}

export interface RandomMessage {
  /** The given one, unless it was changed. */
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: HeaderList;
}

const KIB = 1024;
/** Sizes that something ends at: of a command, of a dead letter that is whole, of a batch. */
const LIMITS_BYTES = [1 * KIB, 64 * KIB] as const;
const LARGE_LIMITS_BYTES = [1024 * KIB, 4096 * KIB] as const;
const LARGE_SHARE = 0.03;
const CHANGES_MAX = 5;

/** Pieces of JSON, and what only looks like it. */
const PIECES: readonly string[] = [
  ...String.raw`null true [] {} 0 -1 1e999 1e-999 -0 9223372036854775807 9223372036854775808`.split(' '),
  ...String.raw`"\ud800" "\u0000" "" "hello" "__proto__":1, "constructor":{}, "toString":null, "amount":1,`.split(' '),
  ...String.raw`"otherFieldsJson":"hello", "otherFieldsJson":"{}", "otherFieldsJson":"[", "toJSON":1,`.split(' '),
  ...String.raw`"rawJSON":"1", {"$int64":"x"} {"$int64":"1"} {"rawJSON":"1"} , : " \ [ ] { }`.split(' '),
  ...['\u0000', '\ufeff', 'é', '�'],
];
const NAMES: readonly (Buffer | string)[] = [
  ...'x constructor __proto__ toString hasOwnProperty valueOf content-type ce_id ce_type expires-at'.split(' '),
  ...'correlation-id traceparent tracestate moved-partition moved-offset moved-timestamp dlq-reason'.split(' '),
  ...'dlq-by-reference dlq-value-bytes replayed in-reply-to é'.split(' '),
  ...['', Buffer.from([0xff]), 'x'.repeat(2_000)],
];
const TEXTS: readonly (Buffer | string | null)[] = [
  ...'x application/json application/avro 0 -1 1 2 1e3 0x10 4294967296 true'.split(' '),
  ...'2026-01-01T00:00:00Z 2100-01-01T00:00:00Z'.split(' '),
  ...['application/json; charset=utf-8', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  ...[null, '', '\u0000', 'a\r\nb', Buffer.from([0xff, 0xfe]), '9'.repeat(18), '9'.repeat(19)],
  ...['x'.repeat(1_024), 'x'.repeat(1_025), 'x'.repeat(70_000)],
];

/** Good records. */
const COMMANDS: Readonly<Record<CommandType, object>> = {
  'transfer-in': {
    source: { accountId: 'ExternalAccount:a-x' },
    destination: { accountId: 'InternalAccount:b-x' },
    amount: 100n,
  },
  'create-quote': {
    source: { sourceType: 'ACCOUNT', accountId: 'InternalAccount:a-x', otherFieldsJson: '{}' },
    destination: { destinationType: 'UMA_ADDRESS', accountId: null, otherFieldsJson: '{"umaAddress":"$b@b.c"}' },
    lockedCurrencySide: 'SENDING',
    lockedCurrencyAmount: 100n,
    lookupId: 'Lookup:1',
    immediatelyExecute: true,
    description: 'x',
    purposeOfPayment: 'GIFT',
    senderCustomerInfo: { otherFieldsJson: 'hello' },
  },
  'execute-quote': { quoteId: 'Quote:1', transactionId: 'Transaction:1' },
  'reject-transaction': { transactionId: 'Transaction:1', reason: null },
  'simulate-uma-receive': {
    senderUmaAddress: '$a@example.com',
    receivingCurrencyCode: 'USD',
    receivingCurrencyAmount: 1n,
    receiverUmaAddress: null,
    customerId: 'Customer:1',
  },
};
const DECISION = { decision: 'RETRY', expectedRevision: 1, transactionId: null, operator: 'fuzz', reason: 'x' };

export function randomTarget(draws: Draws): RandomTarget {
  const input = draws.pick<PoisonInput>(['command', 'command', 'command', 'command', 'decision', 'observation']);
  return { input, commandType: draws.pick(COMMAND_TYPES) };
}

/** @param encode a record of the target in the wire format */
export async function randomMessage(
  draws: Draws,
  { commandType, input }: RandomTarget,
  key: string,
  encode: (record: object) => Promise<Buffer> | Buffer,
): Promise<RandomMessage> {
  const isAvro = draws.chance(0.3) && input !== 'observation';
  const record = input === 'decision' ? DECISION : COMMANDS[commandType];
  const good = isAvro ? Buffer.from(await encode(record)) : Buffer.from(stringifyLossless(record));
  let value: Buffer | null = input === 'observation' ? observationBytes(key) : good;
  let headers: HeaderList = isAvro || input === 'observation' ? [] : [JSON_HEADER];
  let messageKey: Buffer | null = Buffer.from(key);
  const changes = draws.below(CHANGES_MAX + 1);
  for (let change = 0; change < changes; change += 1) {
    const what = draws.random();
    if (what < 0.65) value = changedValue(draws, value);
    else if (what < 0.95) headers = changedHeaders(draws, headers);
    else messageKey = changedKey(draws, messageKey);
  }
  return { key: messageKey, value, headers };
}

function changedValue(draws: Draws, value: Buffer | null): Buffer | null {
  if (value === null) return Buffer.from(draws.pick(PIECES));
  const from = draws.below(value.length + 1);
  const to = Math.min(value.length, from + draws.below(40));
  const head = value.subarray(0, from);
  const tail = value.subarray(to);
  switch (draws.below(11)) {
    case 0:
      return null;
    case 1:
      return head;
    case 2:
      return Buffer.concat([head, tail]);
    case 3:
      return Buffer.concat([value.subarray(0, to), value.subarray(from)]);
    case 4:
    case 5:
      return Buffer.concat([head, Buffer.from(draws.pick(PIECES)), value.subarray(from)]);
    case 6:
      return Buffer.concat([head, Buffer.from(draws.pick(PIECES)), tail]);
    case 7: {
      const flipped = Buffer.from(value);
      if (from < flipped.length) flipped[from] = (flipped[from] ?? 0) ^ (1 << draws.below(8));
      return flipped;
    }
    case 8:
      return Buffer.concat([
        head,
        Buffer.from(Array.from({ length: 1 + draws.below(16) }, () => draws.below(256))),
        tail,
      ]);
    case 9: {
      const depth = 10 ** (1 + draws.below(4));
      const [open, close] = draws.pick([
        ['[', ']'],
        ['{"a":', '}'],
        ['{"otherFieldsJson":', '}'],
      ] as const);
      return Buffer.concat([head, Buffer.from(open.repeat(depth) + '1' + close.repeat(depth)), tail]);
    }
    default: {
      const bytes = draws.pick(draws.chance(LARGE_SHARE) ? LARGE_LIMITS_BYTES : LIMITS_BYTES) + draws.below(3) - 1;
      return value.length >= bytes ? value : Buffer.concat([Buffer.alloc(bytes - value.length, ' '), value]);
    }
  }
}

function changedHeaders(draws: Draws, headers: HeaderList): HeaderList {
  const header = [draws.pick(NAMES), draws.pick(TEXTS)] as const;
  switch (draws.below(6)) {
    case 0:
      return headers.slice(1);
    case 1:
      return [header, ...headers];
    case 2:
      return Array.from(
        { length: 10 ** draws.below(4) },
        (_, index) => [`${draws.pick(NAMES).toString('latin1')}${index}`, header[1]] as const,
      );
    case 3:
      return [...headers, ...Array.from({ length: 10 ** draws.below(3) }, () => header)];
    default:
      return [...headers, header];
  }
}

function changedKey(draws: Draws, key: Buffer | null): Buffer | null {
  switch (draws.below(6)) {
    case 0:
      return null;
    case 1:
      return Buffer.alloc(0);
    case 2:
      return Buffer.alloc(1 + draws.below(300), 0x61);
    case 3:
      return Buffer.from(Array.from({ length: 1 + draws.below(20) }, () => draws.below(256)));
    case 4:
      return Buffer.concat([key ?? Buffer.alloc(0), Buffer.from('.execute')]);
    default:
      return Buffer.alloc(70_000, 0x61);
  }
}
