// Generated from schemas/*.avsc by `npm run generate`; edit the schemas, not this file.
// Avro long is bigint; a timestamp-millis is milliseconds since 1970 as bigint.

/** Why a command was not accepted. */
export interface CommandError {
  /** The service's code, or ours: INVALID_COMMAND, UNREADABLE_COMMAND, KEY_REUSED, TOO_OLD, SET_ASIDE, UNDECIDABLE. */
  code: string;
  /** What was wrong, in words. */
  message: string;
  /** JSON: the service's details as received, or a list of problems with their paths. */
  details: string | null;
}

/** What became of a command. */
export interface CommandResult {
  /** The command's key. */
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
  /** Null when ACCEPTED. */
  error: CommandError | null;
  /** What the service answered, or a look-up found. */
  quote: Quote | null;
  /** What the service answered, or a look-up found. */
  transaction: Transaction | null;
  /** The answer's text where it was not understood or is an error; cut past a limit. */
  rawResponse: string | null;
  /** Decisions of operators on earlier revisions, and fields of an accepted answer that were not understood. */
  warnings: string[];
  /** Calls that may have been sent. */
  attempts: number;
  /** Where the command lies; its first place if it was moved. */
  source: CommandSource;
  /** Kafka's timestamp of the command at that place. */
  commandTimestamp: bigint;
  /** When the processor decided. */
  completedAt: bigint;
}

/** Where the command was read. */
export interface CommandSource {
  /** Topic of the command. */
  topic: string;
  /** Partition in it. */
  partition: number;
  /** Offset in the partition. */
  offset: bigint;
}

/** Command: create a quote, and with immediatelyExecute execute it at once. */
export interface CreateQuote {
  /** The account the quote is paid from. */
  source: QuoteRequestSource;
  /** The account or address the quote pays to. */
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
  /** Currency code. */
  code: string | null;
  /** Currency name. */
  name: string | null;
  /** Currency symbol. */
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
  /** The currency of the amount. */
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
  /** With EXECUTED: the transaction that came of the command. Transaction:<id>. */
  transactionId: string | null;
  /** Who decided. */
  operator: string;
  /** Why; it is in the warnings of every later result of the key. */
  reason: string;
}

/** How to fund a quote. */
export interface PaymentInstruction {
  /** US_ACCOUNT, SPARK_WALLET, or a value added since. */
  accountType: string | null;
  /** Of a US_ACCOUNT. */
  accountNumber: string | null;
  /** Of a US_ACCOUNT. */
  routingNumber: string | null;
  /** Of a US_ACCOUNT. */
  bankName: string | null;
  /** Of a US_ACCOUNT. */
  referenceCode: string | null;
  /** Of a SPARK_WALLET. */
  address: string | null;
  /** Of a SPARK_WALLET. */
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
  /** The account the quote is paid from. */
  source: QuoteSource | null;
  /** The account the quote pays to. */
  destination: QuoteDestination | null;
  /** Currency of the sending amount. */
  sendingCurrency: Currency | null;
  /** Currency of the receiving amount. */
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
  /** How to fund the quote; not required with an internal account as source. */
  paymentInstructions: PaymentInstruction[] | null;
  /** Rates and fees of the quote. */
  rateDetails: RateDetails | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Destination of a quote. */
export interface QuoteDestination {
  /** ACCOUNT, or a variant that the interface does not show. */
  destinationType: string | null;
  /** Account identifier. */
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
  /** ACCOUNT, or a variant that the interface does not show. */
  sourceType: string | null;
  /** Account identifier. */
  accountId: string | null;
  /** Customer:<id>. */
  customerId: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** A quote's status changed, or was seen for the first time. */
export interface QuoteStatusChanged {
  /** Quote:<id>. */
  quoteId: string;
  /** Null when first seen. */
  previousStatus: string | null;
  /** PENDING, PROCESSING, COMPLETED, FAILED, EXPIRED, or a value added since. */
  status: string;
  /** The transaction of the quote. Transaction:<id>. */
  transactionId: string | null;
  /** ISO 8601, as received. */
  expiresAt: string | null;
  /** Key of the last command that had an effect on the quote or its transaction; null where none is known. */
  commandKey: string | null;
  /** When the processor saw it. */
  observedAt: bigint;
  /** True when the status follows from the transaction's. */
  derivedFromTransaction: boolean;
}

/** Rates and fees; every number as the decimal that the service sent, all digits kept. */
export interface RateDetails {
  /** A decimal as received; the interface says no more than its name. */
  counterpartyMultiplier: string | null;
  /** A decimal as received; the interface says no more than its name. */
  counterpartyFixedFee: string | null;
  /** A decimal as received; the interface says no more than its name. */
  serviceApiMultiplier: string | null;
  /** A decimal as received; the interface says no more than its name. */
  serviceApiFixedFee: string | null;
  /** A decimal as received; the interface says no more than its name. */
  serviceApiVariableFeeRate: string | null;
  /** A decimal as received; the interface says no more than its name. */
  serviceApiVariableFeeAmount: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** How to match the payment in the books. */
export interface ReconciliationInstructions {
  /** Reference of the payment. */
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
  /** The account that is paid. */
  destination: TransactionDestination | null;
  /** Sender of an outgoing, recipient of an incoming payment. Customer:<id>. */
  customerId: string | null;
  /** The platform's own id of that customer. */
  platformCustomerId: string | null;
  /** Amount received, in the recipient's currency. */
  receivedAmount: CurrencyAmount | null;
  /** ISO 8601, as received. */
  settledAt: string | null;
  /** ISO 8601, as received. */
  createdAt: string | null;
  /** ISO 8601, as received. */
  updatedAt: string | null;
  /** Memo of the payment. */
  description: string | null;
  /** What is known of the counterparty of a UMA payment, by name. */
  counterpartyInformation: Record<string, string> | null;
  /** The account that pays. */
  source: TransactionSource | null;
  /** How to match the payment in the books; not while the status is CREATED. */
  reconciliationInstructions: ReconciliationInstructions | null;
  /** Rates and fees of the transaction. */
  rateDetails: RateDetails | null;
  /** LNURLP_FAILED, PAY_REQUEST_FAILED, PAYMENT_APPROVAL_WEBHOOK_ERROR, PAYMENT_APPROVAL_TIMED_OUT, OFFRAMP_FAILED, MISSING_MANDATORY_PAYEE_DATA, QUOTE_EXPIRED, QUOTE_EXECUTION_FAILED, or a value added since. */
  failureReason: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Destination account of a transaction. */
export interface TransactionDestination {
  /** ACCOUNT, or a variant that the interface does not show. */
  destinationType: string | null;
  /** Account identifier. */
  accountId: string | null;
  /** Currency code. */
  currency: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** Source account of a transaction. */
export interface TransactionSource {
  /** ACCOUNT, or a variant that the interface does not show. */
  sourceType: string | null;
  /** Account identifier. */
  accountId: string | null;
  /** Currency code. */
  currency: string | null;
  /** Fields that this schema does not name, as one JSON object, exactly as received. */
  otherFieldsJson: string | null;
}

/** A transaction's status changed, or was seen for the first time. */
export interface TransactionStatusChanged {
  /** Transaction:<id>. */
  transactionId: string;
  /** INCOMING or OUTGOING. */
  type: string | null;
  /** Null when first seen. */
  previousStatus: string | null;
  /** CREATED, PENDING, PROCESSING, SENT, COMPLETED, REJECTED, FAILED, REFUNDED, EXPIRED, or a value added since. */
  status: string;
  /** Why a transaction failed, as the service says it. */
  failureReason: string | null;
  /** Sender of an outgoing, recipient of an incoming payment. Customer:<id>. */
  customerId: string | null;
  /** The platform's own id of that customer. */
  platformCustomerId: string | null;
  /** The quote of the transaction, where it is known. Quote:<id>. */
  quoteId: string | null;
  /** Key of the last command that had an effect on the transaction; null where none is known. */
  commandKey: string | null;
  /** All of them, first to last; of more than 16 the first and the latest. */
  commandKeys: string[];
  /** The service's updatedAt, as received. */
  changedAt: string | null;
  /** When the processor saw it. */
  observedAt: bigint;
  /** COMMAND or POLL. */
  observedBy: string;
  /** The transaction as it was seen. */
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
