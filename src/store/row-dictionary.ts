/**
 * What rows have in common, for the store's compression (LZ4 looks back into it). A change makes stores of earlier
 * releases unreadable: STORE_FORMAT in lmdb-ledger-index.ts goes up with it.
 */
import { UNTOUCHED, type Entry } from '../ledger/entry.ts';
import { TRANSACTION_PREFIX } from '../ledger/ledger-records.ts';
import type { CommandType, Outcome } from '../records/commands.ts';
import { encodePlain } from '../records/plain-json.ts';
import { doneRow, plainRow } from './stored-row.ts';

/** The dictionary, bytes; about 4 KiB. What is likeliest comes last, where LZ4 finds it with the shortest distance. */
export function rowDictionary(): Buffer {
  return Buffer.concat([
    ...COMMANDS.map(({ type, outcome, result }) => doneRow('', sampleEntry(type, outcome, result))),
    plainRow(TRANSACTION_PREFIX, encodePlain(SAMPLE_TRANSACTION)),
    plainRow(TRANSACTION_PREFIX, encodePlain(SAMPLE_TRANSFER)),
    doneRow('', sampleEntry('transfer-in', 'ACCEPTED', TRANSFER_RESULT)),
  ]);
}

/** Results as they are written, without what differs between any two: the fields and what lies between them. */
const TRANSFER_RESULT = resultOf(
  'transfer-in',
  '\0\0\x02`Transaction:\x02\x0ePENDING\x02\x10INCOMING\x02\x02\x0eACCOUNT\x02"InternalAccount:\x02\x06USD\0\x02\x14Customer:1\x02\x14platform-1\x02\x02\n\x02\x02\x06USD\x02(United States Dollar\x02\x02$\x02\x04\0\0\0\x02002026-01-01T00:00:00.000Z\x02002026-01-01T00:00:00.000Z\0\0\x02\x02\x0eACCOUNT\x02"ExternalAccount:\x02\x06USD\0\x02\x02\x14REF-0000',
);
const QUOTE_RESULT = resultOf(
  'create-quote',
  '\0\x02TQuote:\x02\x0ePENDING\x02\x02002026-01-01T00:00:00.000Z\x02002026-01-01T00:00:00.000Z\x02\x02\x0eACCOUNT\x02"InternalAccount:1\x02\x14Customer:1\0\x02\x02\x0eACCOUNT\x02"ExternalAccount:2\0\x02\x02\x06USD\x02(United States Dollar\x02\x02$\x02\x04\0\x02\x02\x06EUR\x02\x08Euro\x02\x02\x04\0\x02\x02`Transaction:\0\x02\x02(1.000000000000000000\x02\x020\x02\x021\x02\x020\x02\f0.0025\x02\x022',
);
const REFUSED_RESULT = Buffer.from(
  'REFUSED\fANSWER\x02\x06\x02(INSUFFICIENT_BALANCE\0\0\0\x02\x01{"status":400,"code":"INVALID_INPUT","message":"","details":{}}INVALID\x12PROCESSOR\0\x02\x1eINVALID_COMMAND\x01{"problems":[{"path":"","message":"is not"}]}EXPIREDLOOKUPOPERATORREJECTEDPROCESSINGCOMPLETED',
  'latin1',
);

function resultOf(type: CommandType, shown: string): Buffer {
  const begin = `\0\0\0\0\x06\b${type}\x02H\x02\x10ACCEPTED\fANSWER\x02\x03\0\0`;
  return Buffer.from(`${begin}${shown}\0\0\0\0\0\0\x02@payments.commands.${type}.v1\0\0`, 'latin1');
}

const COMMANDS: readonly { type: CommandType; outcome: Outcome; result: Buffer }[] = [
  { type: 'reject-transaction', outcome: 'REFUSED', result: REFUSED_RESULT },
  { type: 'execute-quote', outcome: 'ACCEPTED', result: QUOTE_RESULT },
  { type: 'create-quote', outcome: 'ACCEPTED', result: QUOTE_RESULT },
];

/** Of src/status, which is not for this folder to know: a record of its fields as they are written. */
const SAMPLE_TRANSACTION = {
  id: 'Transaction:0',
  status: 'COMPLETED',
  updatedAt: '2026-01-01T00:00:00.000Z',
  createdAt: '2026-01-01T00:00:00.000Z',
  terminalSinceMs: 1_760_000_000_000,
  unclearSinceMs: null,
  seenBeganMs: 1_760_000_000_000,
  seenEndedMs: 1_760_000_000_000,
  seenBy: '',
  changes: 3,
  quoteId: 'Quote:0',
  quoteStatus: 'COMPLETED',
  quoteIsDerived: true,
  quoteSeenEndedMs: 1_760_000_000_000,
  quoteExpiresAt: '2026-01-01T00:00:00.000Z',
  quoteChanges: 3,
};
const SAMPLE_TRANSFER = {
  ...SAMPLE_TRANSACTION,
  quoteId: null,
  quoteStatus: null,
  quoteIsDerived: false,
  quoteSeenEndedMs: 0,
  quoteExpiresAt: null,
  quoteChanges: 0,
};

function sampleEntry(commandType: CommandType, outcome: Outcome, value: Buffer): Entry {
  return {
    key: '',
    commandType,
    revision: 1,
    fingerprint: '',
    fieldsJson: null,
    commandId: '',
    origin: { topic: `payments.commands.${commandType}.v1`, partition: 0, offset: 0n, timestampMs: 0 },
    carried: {},
    deadlineMs: 0,
    expiresAtMs: null,
    isExpiryUnreadable: false,
    step: 'SINGLE',
    immediate: false,
    ...UNTOUCHED,
    attempts: 1,
    phase: {
      state: 'DONE',
      outcome,
      completedMs: 0,
      result: {
        value,
        headers: {
          ce_specversion: '1.0',
          ce_id: '',
          ce_type: 'payments.v1.CommandResult',
          ce_source: 'payment-processor',
          ce_time: '2026-01-01T00:00:00.000Z',
          ce_subject: '',
          'content-type': 'application/avro',
          'in-reply-to': '',
        },
      },
    },
  };
}
