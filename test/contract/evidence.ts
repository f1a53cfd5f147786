/** Which tests show what the interface says, by the lists of interface.ts; an item that is added there has to be added here. */
import type { ENDPOINTS, ENUMERATIONS, FILTERS, LIMITS, RULES } from './interface.ts';

/** A test by its file, below `test/`, and its title as it is written there. */
export interface Evidence {
  file: string;
  title: string;
}

export const VALUES = 'contract/values.test.ts';
const MONEY = 'contract/money-table.test.ts';
const QUOTES = 'sandbox/quotes.test.ts';
const LIFECYCLE = 'sandbox/lifecycle.test.ts';
const LIST = 'sandbox/list.test.ts';
const SERVICE = 'sandbox/service.test.ts';
const API = 'api/sandbox.test.ts';
export const WIRE = 'api/wire.test.ts';
const REQUESTS = 'api/requests.test.ts';

export const by = (file: string, ...titles: string[]): Evidence[] => titles.map((title) => ({ file, title }));

export const ENDPOINT_TESTS: Record<keyof typeof ENDPOINTS, readonly Evidence[]> = {
  'list-transactions': [
    ...by(VALUES, 'a page is read with data, hasMore, nextCursor and totalCount'),
    ...by(API, 'lists are paged through by cursor'),
  ],
  'create-quote': [
    ...by(VALUES, 'create-quote: every field reaches the service'),
    ...by(MONEY, 'an execution takes the sending amount once; the quote before it moved nothing'),
  ],
  'execute-quote': [
    ...by(VALUES, 'execute-quote: the quoteId is in the path, and there is no body'),
    ...by(MONEY, 'an execution takes the sending amount once; the quote before it moved nothing'),
  ],
  'transfer-in': [
    ...by(VALUES, 'transfer-in: every field, with the key of the command as the Idempotency-Key'),
    ...by(MONEY, 'a transfer in arrives once'),
  ],
  'reject-transaction': [
    ...by(
      VALUES,
      'reject-transaction: the transactionId is in the path, the reason in the body, or neither reason nor field',
    ),
    ...by(MONEY, 'a rejected payment goes back to its sender'),
  ],
  'simulate-uma-receive': [
    ...by(VALUES, 'simulate-uma-receive: every field reaches the service'),
    ...by(API, 'a simulated UMA payment arrives and is rejected'),
  ],
};

/** Sent as it is in native execution alone; in two steps the execution is a call of its own. */
export const IMMEDIATE_TESTS: readonly Evidence[] = [
  ...by(VALUES, 'create-quote with immediatelyExecute: the quote, and its execution by its id'),
  ...by(MONEY, 'a quote that the service is asked to execute at once takes the sending amount once'),
  ...by(REQUESTS, 'a quote is created with every optional field'),
];

export const ENUMERATION_TESTS: Record<keyof typeof ENUMERATIONS, readonly Evidence[]> = {
  transactionStatus: [
    ...by(VALUES, 'transaction status %s is in the result and a status event'),
    ...by(LIFECYCLE, 'all nine statuses can be produced'),
  ],
  transactionType: by(VALUES, 'transaction type %s is in the result and the event'),
  quoteStatus: by(VALUES, 'quote status %s is in the result and a status event'),
  failureReason: [
    ...by(VALUES, 'failureReason %s is in the result and the event'),
    ...by(LIFECYCLE, '%s makes an outgoing and an incoming payment fail with %s'),
  ],
  lockedCurrencySide: [
    ...by(VALUES, 'lockedCurrencySide %s reaches the service'),
    ...by(QUOTES, 'from %s to %s keep the locked %s side, and the rate explains the other'),
  ],
  purposeOfPayment: [
    ...by(VALUES, 'purposeOfPayment %s reaches the service'),
    ...by(QUOTES, 'purposeOfPayment is required by one geography, and each purpose is known'),
  ],
  sortOrder: [
    ...by(VALUES, 'the filter $filter is sent as $value'),
    ...by(LIST, 'newest first by default, oldest first if asked, also within one millisecond'),
  ],
  accountType: [
    ...by(VALUES, 'paymentInstructions of %s are told'),
    ...by(QUOTES, 'a quote from %s says how to fund it: %s'),
  ],
  sourceType: by(VALUES, 'create-quote: every field reaches the service', 'the quote of a result has %s'),
  destinationType: by(VALUES, 'create-quote: every field reaches the service', 'the quote of a result has %s'),
  counterpartyKey: by(VALUES, 'counterpartyInformation has %s'),
};

export const FILTER_TESTS = by(VALUES, 'the filter $filter is sent as $value');
export const FILTER_TESTS_OF_THE_SANDBOX: Record<(typeof FILTERS)[number], readonly Evidence[]> = {
  customerId: by(LIST, 'each parameter finds what it names and nothing else'),
  platformCustomerId: by(LIST, 'each parameter finds what it names and nothing else'),
  senderAccountIdentifier: by(LIST, 'each parameter finds what it names and nothing else'),
  receiverAccountIdentifier: by(LIST, 'each parameter finds what it names and nothing else'),
  status: by(LIST, 'each parameter finds what it names and nothing else'),
  type: by(LIST, 'each parameter finds what it names and nothing else'),
  reference: by(LIST, 'each parameter finds what it names and nothing else'),
  startDate: by(LIST, 'dates are inclusive, to the millisecond, in any zone'),
  endDate: by(LIST, 'dates are inclusive, to the millisecond, in any zone'),
  limit: by(LIST, '20 on a page by default, 100 at most'),
  cursor: by(LIST, 'a cursor that was not issued is refused'),
  sortOrder: by(LIST, 'newest first by default, oldest first if asked, also within one millisecond'),
};

export const LIMIT_TESTS: Record<(typeof LIMITS)[number], readonly Evidence[]> = {
  'limit is at least 1': by('sandbox/strictness.test.ts', 'query parameters that the interface does not allow are 400'),
  'limit is at most 100': [
    ...by('sandbox/strictness.test.ts', 'query parameters that the interface does not allow are 400'),
    ...by(LIST, '20 on a page by default, 100 at most'),
  ],
  'limit is 20 by default': by(LIST, '20 on a page by default, 100 at most'),
  'lockedCurrencyAmount is at most 9000000000000000': [
    ...by(
      VALUES,
      'create-quote: every field reaches the service',
      '%s that the interface does not allow is INVALID, and not sent',
    ),
    ...by(QUOTES, 'the largest quote is taken and covered by the starting balance, with every digit'),
  ],
  'a quote lives 1 to 5 minutes': [
    ...by(QUOTES, 'are all there, and tell source, destination, currencies, times and transaction'),
    ...by(LIFECYCLE, 'that is not executed expires at expiresAt with its quote'),
  ],
  'feesIncluded is at least 0': [
    ...by(QUOTES, 'from %s to %s keep the locked %s side, and the rate explains the other'),
    ...by(
      QUOTES,
      'one of the smallest unit can be sent in one currency; too small or too large to be converted is refused',
    ),
  ],
};

export const RULE_TESTS: Record<(typeof RULES)[number], readonly Evidence[]> = {
  'every endpoint requires the Authorization header': [
    ...by(VALUES, 'every endpoint is called with the same credentials, under the version segment'),
    ...by(SERVICE, 'are wanted by every endpoint below the version, and nothing happens without'),
  ],
  'the credential is token id and client secret, joined and encoded for Basic': by(
    VALUES,
    'transfer-in: every field, with the key of the command as the Idempotency-Key',
  ),
  'the sandbox endpoint uses the same header': by(
    VALUES,
    'every endpoint is called with the same credentials, under the version segment',
  ),
  'the version is a path segment, and all endpoints are under it': [
    ...by(VALUES, 'every endpoint is called with the same credentials, under the version segment'),
    ...by(API, 'wrong credentials and a wrong version segment are told apart'),
    ...by(SERVICE, 'another version, and paths that the interface does not have, are 404'),
  ],
  'amounts are integers of the smallest unit, int64': [
    ...by(
      'promises/i8-exact.test.ts',
      'an int64 goes out with all its digits',
      'a quote keeps every digit, unknown fields and unknown values',
    ),
    ...by('promises/i6-bad-input.test.ts', 'is INVALID with the path of what is wrong, and no dead letter: %s'),
  ],
  'ids are a resource type, a colon and a unique id': [
    ...by(QUOTES, 'are all there, and tell source, destination, currencies, times and transaction'),
    ...by(REQUESTS, 'an id %j stays one segment of the path'),
  ],
  'exchangeRate is sending units per receiving unit': by(
    QUOTES,
    'from %s to %s keep the locked %s side, and the rate explains the other',
  ),
  'creating a quote creates a transaction, whose id is in the quote': by(
    QUOTES,
    'and of its transaction show the quote, both amounts, fees and rate',
  ),
  'lockedCurrencySide is the side whose amount is fixed': by(
    QUOTES,
    'from %s to %s keep the locked %s side, and the rate explains the other',
  ),
  'executing a quote initiates the transfer and updates its status': [
    ...by('promises/i4-each-change-once.test.ts', 'a quote is seen PENDING, then PROCESSING when it is executed'),
    ...by(MONEY, 'an execution takes the sending amount once; the quote before it moved nothing'),
  ],
  'executing takes no request body': by(VALUES, 'execute-quote: the quoteId is in the path, and there is no body'),
  'a quote can be executed at its creation': [
    ...by(MONEY, 'a quote to be executed at once takes the sending amount once'),
    ...by(API, 'a quote is executed at its creation'),
  ],
  'immediatelyExecute is false by default': by(VALUES, 'create-quote: every field reaches the service'),
  'immediatelyExecute is for internal accounts and those with direct pull': by(
    QUOTES,
    'with immediatelyExecute happens at creation, for internal accounts and those with direct pull alone',
  ),
  'lookupId is required for UMA destinations': [
    ...by(VALUES, '%s that the interface does not allow is INVALID, and not sent'),
    ...by(QUOTES, 'need a lookup, and are shown as they were named'),
  ],
  'senderCustomerInfo has what the lookup requires, for UMA destinations alone': [
    ...by(VALUES, '%s that the interface does not allow is INVALID, and not sent'),
    ...by(
      QUOTES,
      'senderCustomerInfo must hold what the lookup asked for, is left out where it asked for nothing, and is for UMA alone',
    ),
  ],
  'purposeOfPayment may be required by geographies': by(
    QUOTES,
    'purposeOfPayment is required by one geography, and each purpose is known',
  ),
  'paymentInstructions are not required with an internal account source': by(
    QUOTES,
    'are all there, and tell source, destination, currencies, times and transaction',
  ),
  'reconciliationInstructions come with all statuses but CREATED': by(
    LIFECYCLE,
    'in the slow scenario is CREATED, without reconciliation instructions, and PENDING before its execution',
  ),
  'failureReason is present when the transaction failed': by(
    LIFECYCLE,
    '%s makes an outgoing and an incoming payment fail with %s',
  ),
  'counterpartyInformation is for UMA transactions alone': by(
    QUOTES,
    'need a lookup, and are shown as they were named',
    'names sender, receiver, customer and counterparty',
  ),
  'the amount of a transfer-in is optional': [
    ...by(VALUES, 'transfer-in: every field, with the key of the command as the Idempotency-Key'),
    ...by(LIFECYCLE, 'by transfer-in without an amount has one'),
  ],
  'a transfer-in is an incoming transaction': by(
    'promises/i4-each-change-once.test.ts',
    'the status that an answer shows is one event with the transaction, its command and the headers it carries',
  ),
  'the same Idempotency-Key gets the same response': [
    ...by('promises/i10-honest.test.ts', 'a transfer in, whose key the service honours, is repeated where %s'),
    ...by('sandbox/idempotency.test.ts', 'a repeated %s gets the same answer and has one effect'),
  ],
  'a pending incoming payment can be rejected': [
    ...by(MONEY, 'a rejection of a payment that cannot be rejected any more'),
    ...by(LIFECYCLE, 'can be rejected once while it is PENDING; the money goes back'),
  ],
  'the reason of a rejection is optional': by(
    VALUES,
    'reject-transaction: the transactionId is in the path, the reason in the body, or neither reason nor field',
  ),
  'receiverUmaAddress or customerId names the receiver': [
    ...by(
      VALUES,
      'a simulated payment without receiverUmaAddress and customerId is INVALID, with either of them it is sent',
    ),
    ...by(QUOTES, 'needs a receiver or a customer'),
  ],
  'customerId is the sender of outgoing and the recipient of incoming transactions': by(
    LIST,
    'each parameter finds what it names and nothing else',
  ),
  'the list has incoming and outgoing transactions': by(LIST, 'each parameter finds what it names and nothing else'),
  'startDate and endDate are inclusive': by(LIST, 'dates are inclusive, to the millisecond, in any zone'),
  'sortOrder is desc by default': by(
    LIST,
    'newest first by default, oldest first if asked, also within one millisecond',
  ),
  'nextCursor is present only when hasMore is true': by(LIST, 'a last page that is full has no cursor'),
  'totalCount counts without pagination': by(LIST, '20 on a page by default, 100 at most'),
  'values and fields that are not shown are preserved': [
    ...by(
      'promises/i8-exact.test.ts',
      'a transaction keeps every digit, unknown fields and unknown values',
      'a quote keeps every digit, unknown fields and unknown values',
    ),
    ...by(WIRE, 'new enumeration values pass'),
  ],
  'error bodies and status codes are not shown: any is read': [
    ...by(
      'api/answer-properties.test.ts',
      'any answer has a reading that the record schemas take, and only a whole 2xx object with an id is accepted',
    ),
    ...by('api/answer-table.test.ts', '%i is refused'),
  ],
};
