/**
 * Content that rows have in common, for the store's compression (LZ4 refers back to it). A change makes stores of earlier releases
 * unreadable, so increase STORE_FORMAT in lmdb-ledger-index.ts with it.
 */
import { encodeEntry } from '../ledger/entry-record.ts';
import { UNTOUCHED, type Entry } from '../ledger/entry.ts';
import type { CommandType } from 'payment-processor-contract/commands';
import { rowOf } from './stored-row.ts';

/**
 * The dictionary, about 1 KiB: each row pays for its length (LZ4 loads it again, 5 us a KiB), and rarer content would not make
 * the store smaller. The most frequent content comes last, where LZ4 finds it at the shortest distance.
 */
export function rowDictionary(): Buffer {
  return Buffer.concat([QUOTE_RESULT, rowOf('', encodeEntry(SAMPLE_ENTRY))]);
}

/** Sample results as written: the common field values, and the bytes between them. What differs between results is left out. */
const TRANSFER_RESULT = resultOf(
  'transfer-in',
  '\0\0\x02`Transaction:\x02\x0ePENDING\x02\x10INCOMING\x02\x02\x0eACCOUNT\x02"InternalAccount:\x02\x06USD\0\x02\x14Customer:1\x02\x14platform-1\x02\x02\n\x02\x02\x06USD\x02(United States Dollar\x02\x02$\x02\x04\0\0\0\x02002026-01-01T00:00:00.000Z\x02002026-01-01T00:00:00.000Z\0\0\x02\x02\x0eACCOUNT\x02"ExternalAccount:\x02\x06USD\0\x02\x02\x14REF-0000',
);
const QUOTE_RESULT = resultOf(
  'create-quote',
  '\0\x02TQuote:\x02\x0ePENDING\x02\x02002026-01-01T00:00:00.000Z\x02002026-01-01T00:00:00.000Z\x02\x02\x0eACCOUNT\x02"InternalAccount:1\x02\x14Customer:1\0\x02\x02\x0eACCOUNT\x02"ExternalAccount:2\0\x02\x02\x06USD\x02(United States Dollar\x02\x02$\x02\x04\0\x02\x02\x06EUR\x02\x08Euro\x02\x02\x04\0\x02\x02`Transaction:\0\x02\x02(1.000000000000000000\x02\x020\x02\x021\x02\x020\x02\f0.0025\x02\x022',
);

function resultOf(type: CommandType, shown: string): Buffer {
  const begin = `\0\0\0\0\x06\b${type}\x02H\x02\x10ACCEPTED\fANSWER\x02\x03\0\0`;
  return Buffer.from(`${begin}${shown}\0\0\0\0\0\0\x02@payments.commands.${type}.v1\0\0`, 'latin1');
}

const SAMPLE_ENTRY: Entry = {
  key: '',
  commandType: 'transfer-in',
  revision: 1,
  fingerprint: '',
  fieldsJson: null,
  commandId: '',
  origin: { topic: 'payments.commands.transfer-in.v1', partition: 0, offset: 0n, timestampMs: 0 },
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
    outcome: 'ACCEPTED',
    completedMs: 0,
    result: {
      value: TRANSFER_RESULT,
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
