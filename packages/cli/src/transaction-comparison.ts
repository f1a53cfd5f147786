/**
 * Compares a transaction of the service with the command under decision: which fields agree, differ, or cannot be compared.
 * Pure.
 */
import { earliestSentMs, type Entry } from '../../../src/ledger/entry.ts';
import { keptFields } from '../../../src/ledger/kept-fields.ts';
import { OPERATIONS } from '../../../src/ledger/operations.ts';
import { otherField } from 'payment-processor-contract/command-fields/field-shapes';
import { quoteIdAmong } from 'payment-processor-contract/quote-id';
import type { Transaction } from 'payment-processor-contract/types';

/** How far the service's clock may be behind ours. */
export const CLOCK_DIFFERENCE_MS_MAX = 600_000;

const STATUS = 'status';

export interface Comparison {
  /** Names of fields that agree. */
  readonly agreeing: readonly string[];
  /** At least one agreeing field identifies the payment; a status does not. */
  readonly isAlike: boolean;
  /** Differences in words. */
  readonly differing: readonly string[];
  /** Fields that one side lacks, and which side. */
  readonly open: readonly string[];
}

export function compared(transaction: Transaction, entry: Entry): Comparison {
  const pairs = [...comparableOf(entry, transaction)];
  const agreeing = pairs.filter(([, asked, found]) => asked !== null && asked === found);
  const differing = pairs.filter(([, asked, found]) => asked !== null && found !== null && asked !== found);
  const open = pairs.filter(([, asked, found]) => asked === null || found === null);
  return {
    agreeing: agreeing.map(([what]) => what),
    isAlike: agreeing.some(([what]) => what !== STATUS),
    differing: [
      ...differing.map(
        ([what, asked, found]) => `its ${what} is ${String(found)}, but the command requested ${String(asked)}`,
      ),
      ...tooEarly(transaction, entry),
    ],
    open: open.map(([what, asked]) => `${what} (${asked === null ? 'the command' : 'the service'} does not give it)`),
  };
}

/** The earliest possible time of the first call that may have taken effect; without one, the command's publication. */
export function sentMsOf(entry: Entry): number {
  return earliestSentMs(entry) ?? entry.origin.timestampMs;
}

/** When the last call that may have taken effect ended. An executed quote that came again has no such call. */
export function lastEndedMsOf(entry: Entry): number {
  return entry.lastEndedMs ?? entry.quoted?.receivedMs ?? sentMsOf(entry);
}

/** Whether the command's own call creates a transaction. */
export function isMadeByCall({ commandType }: Pick<Entry, 'commandType'>): boolean {
  return ['create-quote', 'transfer-in', 'simulate-uma-receive'].includes(commandType);
}

/**
 * A transaction that the command's own call creates is not older than that call. A quote's transaction may be, if its
 * execution waited.
 */
function tooEarly({ createdAt }: Transaction, entry: Entry): string[] {
  const sentMs = sentMsOf(entry);
  const isOlder = entry.quoted !== null || !isMadeByCall(entry);
  if (isOlder || !(Date.parse(createdAt ?? '') < sentMs - CLOCK_DIFFERENCE_MS_MAX)) return [];
  return [`it was created at ${createdAt ?? ''}, before the command's first call at ${new Date(sentMs).toISOString()}`];
}

type Said = string | bigint | null;
/** Name, value in the command or its quote, value in the transaction. */
type Comparable = readonly [what: string, asked: Said, found: Said];

function comparableOf(entry: Entry, transaction: Transaction): Comparable[] {
  const { quoted } = entry;
  const shownQuoteId = quoteIdAmong(transaction.otherFieldsJson);
  const ofQuote: Comparable[] =
    quoted === null
      ? []
      : [
          ['id', quoted.transactionId, transaction.id],
          ['quote', quoted.quoteId, shownQuoteId],
        ];
  switch (entry.commandType) {
    case 'create-quote': {
      const fields = keptFields(entry.commandType, entry);
      const isReceiving = fields?.lockedCurrencySide === 'RECEIVING';
      const amount = isReceiving ? fields.lockedCurrencyAmount : null;
      const ofExecution = entry.immediate ? [executionStatus(transaction)] : [];
      return [...ofQuote, ...ofExecution, ...accountsOf(fields, transaction), receivedAmount(amount, transaction)];
    }
    case 'execute-quote': {
      const fields = keptFields(entry.commandType, entry);
      return [
        ['id', fields?.transactionId ?? null, transaction.id],
        ['quote', fields?.quoteId ?? null, shownQuoteId],
        executionStatus(transaction),
      ];
    }
    case 'transfer-in': {
      const fields = keptFields(entry.commandType, entry);
      return [...accountsOf(fields, transaction), receivedAmount(fields?.amount ?? null, transaction)];
    }
    case 'reject-transaction': {
      const fields = keptFields(entry.commandType, entry);
      return [
        ['id', fields?.transactionId ?? null, transaction.id],
        [STATUS, 'REJECTED', transaction.status],
      ];
    }
    case 'simulate-uma-receive': {
      const fields = keptFields(entry.commandType, entry);
      return [
        ['customer', fields?.customerId ?? null, transaction.customerId],
        receivedAmount(fields?.receivingCurrencyAmount ?? null, transaction),
        ['currency', fields?.receivingCurrencyCode ?? null, transaction.receivedAmount?.currency?.code ?? null],
      ];
    }
  }
}

const EXECUTED = 'that of an executed quote';

/** A quote has its transaction before it is executed, so a transaction does not prove the execution. */
function executionStatus(transaction: Transaction): Comparable {
  const isExecuted = OPERATIONS['execute-quote'].lookUp?.finding(transaction) === 'EXECUTED';
  return [STATUS, EXECUTED, isExecuted ? EXECUTED : transaction.status];
}

interface Accounts {
  readonly source: Party;
  readonly destination: Party;
}

interface Party {
  readonly accountId: string | null;
  readonly otherFieldsJson?: string | null;
}

function accountsOf(fields: Accounts | null, transaction: Transaction): Comparable[] {
  return [
    ['source', idOf(fields?.source), idOf(transaction.source)],
    ['destination', idOf(fields?.destination), idOf(transaction.destination)],
  ];
}

function idOf(party: Party | null | undefined): string | null {
  const umaAddress = otherField(party?.otherFieldsJson ?? null, 'umaAddress');
  return party?.accountId ?? (typeof umaAddress === 'string' ? umaAddress : null);
}

/** 0 means an amount that is not known yet: no payment is 0. */
function receivedAmount(asked: bigint | null, { receivedAmount: shown }: Transaction): Comparable {
  const amount = shown?.amount ?? null;
  return ['received amount', asked, amount === 0n ? null : amount];
}
