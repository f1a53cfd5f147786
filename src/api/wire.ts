/**
 * The service's transactions and quotes, read into records (invariant I8).
 *
 * Nothing here fails. A value of the wrong type becomes null, and a warning names its path. The received value stays in
 * `otherFieldsJson` of its record, with the fields that the schema does not name. Enumerations are plain text, so new values pass.
 * Rates keep every digit as text.
 */
import { isJsonObject, type JsonObject, type JsonValue } from 'payment-processor-contract/lossless-json';
import type {
  Currency,
  CurrencyAmount,
  PaymentInstruction,
  Quote,
  RateDetails,
  Transaction,
} from 'payment-processor-contract/types';
import {
  decimal,
  id,
  int32,
  int64,
  listOf,
  readRecord,
  recordOf,
  text,
  textMap,
  type RecordShape,
} from './wire-fields.ts';

export interface Read<Value> {
  value: Value;
  warnings: string[];
}

const currency: RecordShape<Currency> = { fields: { code: text, name: text, symbol: text, decimals: int32 } };
const currencyAmount: RecordShape<CurrencyAmount> = { fields: { amount: int64, currency: recordOf(currency) } };
const rateDetails: RecordShape<RateDetails> = {
  fields: {
    counterpartyMultiplier: decimal,
    counterpartyFixedFee: decimal,
    serviceApiMultiplier: decimal,
    serviceApiFixedFee: decimal,
    serviceApiVariableFeeRate: decimal,
    serviceApiVariableFeeAmount: decimal,
  },
};
const paymentInstruction: RecordShape<PaymentInstruction> = {
  fields: {
    accountType: text,
    accountNumber: text,
    routingNumber: text,
    bankName: text,
    referenceCode: text,
    address: text,
    invoice: text,
  },
  // Services send the fields beside accountType, or in an object of their own.
  nestedUnder: 'accountOrWalletInfo',
};

const transactionShape: RecordShape<Transaction> = {
  fields: {
    id: text,
    status: text,
    type: text,
    destination: recordOf({ fields: { destinationType: text, accountId: id, currency: text } }),
    customerId: id,
    platformCustomerId: text,
    receivedAmount: recordOf(currencyAmount),
    settledAt: text,
    createdAt: text,
    updatedAt: text,
    description: text,
    counterpartyInformation: textMap,
    source: recordOf({ fields: { sourceType: text, accountId: id, currency: text } }),
    reconciliationInstructions: recordOf({ fields: { reference: text } }),
    rateDetails: recordOf(rateDetails),
    failureReason: text,
  },
};
const TRANSACTION_REQUIRED: readonly (keyof Transaction)[] = [
  'status',
  'type',
  'destination',
  'customerId',
  'platformCustomerId',
];
/** The service's API description lists only the fields of incoming transactions; an outgoing one may have no received amount yet. */
const INCOMING_REQUIRED: readonly (keyof Transaction)[] = [...TRANSACTION_REQUIRED, 'receivedAmount'];

const quoteShape: RecordShape<Quote> = {
  fields: {
    id: text,
    status: text,
    createdAt: text,
    expiresAt: text,
    source: recordOf({ fields: { sourceType: text, accountId: id, customerId: id } }),
    destination: recordOf({ fields: { destinationType: text, accountId: id } }),
    sendingCurrency: recordOf(currency),
    receivingCurrency: recordOf(currency),
    totalSendingAmount: int64,
    totalReceivingAmount: int64,
    exchangeRate: decimal,
    feesIncluded: int64,
    transactionId: id,
    paymentInstructions: listOf(paymentInstruction),
    rateDetails: recordOf(rateDetails),
  },
};
const QUOTE_REQUIRED: readonly (keyof Quote)[] = [
  'status',
  'createdAt',
  'expiresAt',
  'source',
  'destination',
  'sendingCurrency',
  'receivingCurrency',
  'totalSendingAmount',
  'totalReceivingAmount',
  'exchangeRate',
  'feesIncluded',
  'transactionId',
];

/** Reads a transaction; null if it has no text `id`. */
export function readTransaction(value: JsonValue): Read<Transaction> | null {
  if (!isIdentified(value)) return null;
  const required = value['type'] === 'INCOMING' ? INCOMING_REQUIRED : TRANSACTION_REQUIRED;
  return readResource(transactionShape, required, value);
}

/** A transaction of which only the id is known. */
export function transactionWithId(id: string): Transaction {
  return readRecord(transactionShape, { id }, '', []);
}

/** Reads a quote; null if it has no text `id`. */
export function readQuote(value: JsonValue): Read<Quote> | null {
  return isIdentified(value) ? readResource(quoteShape, QUOTE_REQUIRED, value) : null;
}

function isIdentified(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && typeof value['id'] === 'string' && value['id'] !== '';
}

function readResource<Resource>(
  shape: RecordShape<Resource>,
  required: readonly string[],
  value: JsonObject,
): Read<Resource> {
  const warnings: string[] = [];
  const resource = readRecord(shape, value, '', warnings);
  for (const name of required) {
    if ((value[name] ?? null) === null) warnings.push(`${name} is missing`);
  }
  return { value: resource, warnings };
}
