// Generated from schemas/*.avsc by `npm run generate`; edit the schemas, not this file.
// Avro long is bigint; a timestamp-millis is milliseconds since 1970 as bigint.

/** Why a command was not accepted. */
export interface CommandError {
  /** The service's code, or ours: INVALID_COMMAND, UNREADABLE_COMMAND, KEY_REUSED, TOO_OLD, SET_ASIDE, UNDECIDABLE. */
  code: string;
  message: string;
  /** JSON: the service's details as received, or a list of problems with their paths. */
  details: string | null;
}

/** What became of a command. */
export interface CommandResult {
  commandKey: string;
  /** create-quote, execute-quote, transfer-in, reject-transaction or simulate-uma-receive. */
  commandType: string;
  /** The command's ce_id. */
  commandId: string | null;
  /** 1 for the processor's own result; an operator's decision makes the next; 0 on a CONFLICT. */
  revision: number;
  /** ACCEPTED, REFUSED, INVALID, EXPIRED, FAILED, CONFLICT or UNKNOWN. */
  outcome: string;
  /** ANSWER, LOOKUP, OPERATOR or PROCESSOR. */
  settledBy: string;
  /** Status of the answer that settled it. */
  httpStatus: number | null;
  error: CommandError | null;
  quote: Quote | null;
  transaction: Transaction | null;
  /** The answer's text where it was not understood or is an error; cut past a limit. */
  rawResponse: string | null;
  warnings: string[];
  /** Calls that may have been sent. */
  attempts: number;
  source: CommandSource;
  commandTimestamp: bigint;
  completedAt: bigint;
}

/** Where the command was read. */
export interface CommandSource {
  topic: string;
  partition: number;
  offset: bigint;
}

/** Command: create a quote, and with immediatelyExecute execute it at once. */
export interface CreateQuote {
  source: QuoteRequestSource;
  destination: QuoteRequestDestination;
  /** SENDING or RECEIVING: the side whose amount is fixed. */
  lockedCurrencySide: string;
  /** Smallest unit of the locked currency; at most 9000000000000000. */
  lockedCurrencyAmount: bigint;
  /** Lookup:<id> of an earlier receiver look-up; required for UMA destinations. */
  lookupId: string | null;
  /** Execute the quote at creation. */
  immediatelyExecute: boolean;
  /** Memo of the transfer. */
  description: string | null;
  /** GIFT, SELF, GOODS_OR_SERVICES, EDUCATION, HEALTH_OR_MEDICAL, REAL_ESTATE_PURCHASE, TAX_PAYMENT, LOAN_PAYMENT, UTILITY_BILL, DONATION, TRAVEL or OTHER. */
  purposeOfPayment: string | null;
  /** Payer data that the counterparty asked for; UMA destinations only. */
  senderCustomerInfo: Record<string, string> | null;
}

/** A currency as the service describes it. */
export interface Currency {
  code: string | null;
  name: string | null;
  symbol: string | null;
  /** Decimal places of the currency. */
  decimals: number | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** An amount with its currency. */
export interface CurrencyAmount {
  /** Smallest unit of the currency. */
  amount: bigint | null;
  currency: Currency | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Command: execute an existing quote. */
export interface ExecuteQuote {
  /** Quote:<id>. */
  quoteId: string;
  /** Transaction:<id> of the quote. Send it: without it a lost answer can often not be settled. */
  transactionId: string | null;
}

/** A person's decision on a command's result. */
export interface OperatorDecision {
  /** EXECUTED, NOT_EXECUTED or RETRY. */
  decision: string;
  /** The revision that the decision is about. */
  expectedRevision: number;
  transactionId: string | null;
  /** Who decided. */
  operator: string;
  reason: string;
}

/** How to fund a quote. */
export interface PaymentInstruction {
  /** US_ACCOUNT, SPARK_WALLET, or a value added since. */
  accountType: string | null;
  accountNumber: string | null;
  routingNumber: string | null;
  bankName: string | null;
  referenceCode: string | null;
  address: string | null;
  invoice: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** A quote as the service returned it. Only id is certain: the service may leave out or add fields. */
export interface Quote {
  /** Quote:<id>. */
  id: string;
  /** PENDING, PROCESSING, COMPLETED, FAILED, EXPIRED, or a value added since. */
  status: string | null;
  /** ISO 8601, as received. */
  createdAt: string | null;
  /** ISO 8601, as received. */
  expiresAt: string | null;
  source: QuoteSource | null;
  destination: QuoteDestination | null;
  sendingCurrency: Currency | null;
  receivingCurrency: Currency | null;
  /** Smallest unit of the sending currency. */
  totalSendingAmount: bigint | null;
  /** Smallest unit of the receiving currency. */
  totalReceivingAmount: bigint | null;
  /** Sending currency units per receiving currency unit; the decimal as received. */
  exchangeRate: string | null;
  /** Smallest unit of the sending currency. */
  feesIncluded: bigint | null;
  /** Transaction:<id> created from the quote. */
  transactionId: string | null;
  paymentInstructions: PaymentInstruction[] | null;
  rateDetails: RateDetails | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Destination of a quote. */
export interface QuoteDestination {
  destinationType: string | null;
  accountId: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** The account or address a quote pays to. */
export interface QuoteRequestDestination {
  /** ACCOUNT, or a variant that the interface does not show, such as UMA_ADDRESS. */
  destinationType: string;
  /** Account identifier; set for ACCOUNT. */
  accountId: string | null;
  /** Further fields of another variant, as one JSON object, sent as they are. */
  otherFieldsJson: string | null;
}

/** The account a quote is paid from. */
export interface QuoteRequestSource {
  /** ACCOUNT, or a variant that the interface does not show. */
  sourceType: string;
  /** Account identifier; set for ACCOUNT. */
  accountId: string | null;
  /** Further fields of another variant, as one JSON object, sent as they are. */
  otherFieldsJson: string | null;
}

/** Source of a quote. */
export interface QuoteSource {
  sourceType: string | null;
  accountId: string | null;
  customerId: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** A quote's status changed, or was seen for the first time. */
export interface QuoteStatusChanged {
  quoteId: string;
  /** Null when first seen. */
  previousStatus: string | null;
  status: string;
  transactionId: string | null;
  /** ISO 8601, as received. */
  expiresAt: string | null;
  /** Key of the last command that had an effect on the quote or its transaction; null where none is known. */
  commandKey: string | null;
  observedAt: bigint;
  /** True when the status follows from the transaction's. */
  derivedFromTransaction: boolean;
}

/** Rates and fees; every number as the decimal that the service sent, all digits kept. */
export interface RateDetails {
  counterpartyMultiplier: string | null;
  counterpartyFixedFee: string | null;
  serviceApiMultiplier: string | null;
  serviceApiFixedFee: string | null;
  serviceApiVariableFeeRate: string | null;
  serviceApiVariableFeeAmount: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** How to match the payment in the books. */
export interface ReconciliationInstructions {
  reference: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Command: reject a pending incoming payment. */
export interface RejectTransaction {
  /** Transaction:<id>. */
  transactionId: string;
  /** For debugging or the platform's own use. */
  reason: string | null;
}

/** Command, in a sandbox only: simulate an incoming UMA payment. */
export interface SimulateUmaReceive {
  /** UMA address of a sandbox sender. */
  senderUmaAddress: string;
  /** Currency code of the receiving amount. */
  receivingCurrencyCode: string;
  /** Smallest unit of the currency. */
  receivingCurrencyAmount: bigint;
  /** Receiver; may be left out when customerId is given. */
  receiverUmaAddress: string | null;
  /** Customer:<id> of the receiver; may be left out when receiverUmaAddress is given. */
  customerId: string | null;
}

/** A transaction as the service returned it. Only id is certain: the service may leave out or add fields. */
export interface Transaction {
  /** Transaction:<id>. */
  id: string;
  /** CREATED, PENDING, PROCESSING, SENT, COMPLETED, REJECTED, FAILED, REFUNDED, EXPIRED, or a value added since. */
  status: string | null;
  /** INCOMING or OUTGOING. */
  type: string | null;
  destination: TransactionDestination | null;
  customerId: string | null;
  platformCustomerId: string | null;
  receivedAmount: CurrencyAmount | null;
  /** ISO 8601, as received. */
  settledAt: string | null;
  /** ISO 8601, as received. */
  createdAt: string | null;
  /** ISO 8601, as received. */
  updatedAt: string | null;
  description: string | null;
  counterpartyInformation: Record<string, string> | null;
  source: TransactionSource | null;
  reconciliationInstructions: ReconciliationInstructions | null;
  rateDetails: RateDetails | null;
  /** LNURLP_FAILED, PAY_REQUEST_FAILED, PAYMENT_APPROVAL_WEBHOOK_ERROR, PAYMENT_APPROVAL_TIMED_OUT, OFFRAMP_FAILED, MISSING_MANDATORY_PAYEE_DATA, QUOTE_EXPIRED, QUOTE_EXECUTION_FAILED, or a value added since. */
  failureReason: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Destination account of a transaction. */
export interface TransactionDestination {
  destinationType: string | null;
  accountId: string | null;
  /** Currency code. */
  currency: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Source account of a transaction. */
export interface TransactionSource {
  sourceType: string | null;
  accountId: string | null;
  /** Currency code. */
  currency: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** A transaction's status changed, or was seen for the first time. */
export interface TransactionStatusChanged {
  transactionId: string;
  type: string | null;
  /** Null when first seen. */
  previousStatus: string | null;
  status: string;
  failureReason: string | null;
  customerId: string | null;
  platformCustomerId: string | null;
  quoteId: string | null;
  /** Key of the last command that had an effect on the transaction; null where none is known. */
  commandKey: string | null;
  /** All of them, first to last; of more than 16 the first and the latest. */
  commandKeys: string[];
  /** The service's updatedAt, as received. */
  changedAt: string | null;
  observedAt: bigint;
  /** COMMAND or POLL. */
  observedBy: string;
  transaction: Transaction | null;
}

/** Command: move funds from an external account to an internal account. */
export interface TransferIn {
  /** The external account. */
  source: TransferInAccount;
  /** The internal account. */
  destination: TransferInAccount;
  /** Smallest unit of the currency. */
  amount: bigint | null;
}

/** One side of a transfer-in. */
export interface TransferInAccount {
  /** Account identifier. */
  accountId: string;
}
