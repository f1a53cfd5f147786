/** Records of a ledger as lanes write them, for measuring: entries and transaction states of the usual sizes. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { UNTOUCHED, type Entry, type Phase } from '../../src/ledger/entry.ts';
import type { LedgerRecord } from '../../src/store/ledger-index.ts';
import { encodeEntry } from '../../src/ledger/entry-record.ts';
import { positionRecords, ENTRY_PREFIX, POSITION_KEY, TRANSACTION_PREFIX } from '../../src/ledger/ledger-records.ts';
import { encodeTransactionState, unseenState } from '../../src/status/transaction-state.ts';

/** An accepted transfer-in as the processor wrote it; ids, times and digests are made anew for each key. */
const RESULT = Buffer.from(
  'AAAAAAYGdC0yFnRyYW5zZmVyLWluAkhiYTkyOWNjNC1jNGYwLTRkZjgtOTlmOC1iZmYzZGJiN2FjM2ECEEFDQ0VQVEVEDEFOU1dFUgKSAwAAAmBUcmFuc2FjdGlvbjowMWExZmZjMy01MGQyLTcwMDAtODAwMC0wMDFlNjI3OWIyMTICDlBFTkRJTkcCEElOQ09NSU5HAgIOQUNDT1VOVAIiSW50ZXJuYWxBY2NvdW50OjICBlVTRAACFEN1c3RvbWVyOjICFHBsYXRmb3JtLTICAoKAgICAgIAgAgIGVVNEAihVbml0ZWQgU3RhdGVzIERvbGxhcgICJAIEAAAAAjAyMDI2LTExLTIxVDIwOjE5OjEyLjcyMloCMDIwMjYtMTEtMjFUMjA6MTk6MTIuNzIyWgAAAgIOQUNDT1VOVAIiRXh0ZXJuYWxBY2NvdW50OjECBlVTRAACAhRSRUYtMDAwMDAwAAAAAAAAAkBwYXltZW50cy5jb21tYW5kcy50cmFuc2Zlci1pbi52MQAA2MGa/L9ossOa/L9o',
  'base64',
);
const COMMAND_ID_AT = 20;
const TRANSACTION_ID_AT = 93;
const ACCOUNT_IDS_AT = [176, 425];

/** Bytes of the result event with ids of its own. */
function resultOf(commandId: string, transactionId: string): Buffer {
  const result = Buffer.from(RESULT);
  result.write(commandId, COMMAND_ID_AT);
  result.write(transactionId, TRANSACTION_ID_AT);
  // Accounts and amounts differ, too.
  for (const at of ACCOUNT_IDS_AT) randomBytes(4).copy(result, Math.min(at, result.length - 4));
  return result;
}

export function entryOf(key: string, phase: Phase, atMs: number, fieldsJson: string | null = null): Entry {
  return {
    key,
    commandType: 'transfer-in',
    revision: 1,
    fingerprint: createHash('sha256').update(key).digest('base64url'),
    fieldsJson,
    commandId: randomUUID(),
    origin: { topic: 'payments.commands.transfer-in.v1', partition: 0, offset: BigInt(atMs % 1e6), timestampMs: atMs },
    carried: {},
    deadlineMs: atMs + 86_400_000,
    expiresAtMs: null,
    isExpiryUnreadable: false,
    step: 'SINGLE',
    immediate: false,
    ...UNTOUCHED,
    attempts: 1,
    phase,
  };
}

export function donePhase(key: string, completedMs: number): Phase {
  const commandId = randomUUID();
  return {
    state: 'DONE',
    outcome: 'ACCEPTED',
    completedMs,
    result: {
      value: resultOf(commandId, randomUUID()),
      headers: {
        ce_specversion: '1.0',
        ce_id: randomUUID(),
        ce_type: 'payments.v1.CommandResult',
        ce_source: 'payment-processor',
        ce_time: new Date(completedMs).toISOString(),
        ce_subject: key,
        'content-type': 'application/avro',
        'in-reply-to': commandId,
      },
    },
  };
}

export function intentPhase(atMs: number): Phase {
  return { state: 'INTENT', attemptId: randomUUID(), processId: randomUUID(), atMs, timeoutMs: 10_000 };
}

export function entryRecord(entry: Entry, offset: bigint, timestampMs: number): LedgerRecord {
  return { key: ENTRY_PREFIX + entry.key, value: encodeEntry(entry), offset, timestampMs };
}

export function transactionRecord(id: string, atMs: number, offset: bigint): LedgerRecord {
  const at = new Date(atMs).toISOString();
  const state = {
    ...unseenState(id),
    status: 'COMPLETED',
    updatedAt: at,
    createdAt: at,
    terminalSinceMs: atMs,
    seenBeganMs: atMs - 3,
    seenEndedMs: atMs,
    seenBy: randomUUID(),
    changes: 3,
    commandKeys: [randomUUID()],
  };
  return {
    key: TRANSACTION_PREFIX + id,
    value: encodeTransactionState(state),
    offset,
    timestampMs: atMs,
  };
}

export function positionRecord(token: string, commit: number, offset: bigint, timestampMs: number): LedgerRecord {
  const next = Object.fromEntries(
    ['transfer-in', 'create-quote', 'execute-quote', 'reject-transaction'].map((type) => [
      `payments.commands.${type}.v1`,
      offset,
    ]),
  );
  return {
    key: POSITION_KEY,
    value: positionRecords.encode({ token, commit, next, topicIds: {}, epochs: {} }),
    offset,
    timestampMs,
  };
}
