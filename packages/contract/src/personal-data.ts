/**
 * Finds personal and account data in a command, a result or an event: by field name, and by pattern in texts of others. For
 * the log and the command line. Pure.
 */

/** Fields whose values may name a person or an account. Case, hyphens and underscores are ignored. */
const PERSONAL_NAMES = new Set(
  [
    ...['accountId', 'accountNumber', 'accountIdentifier', 'iban', 'clabe', 'pixKey', 'upiId', 'umaAddress'],
    ...['senderUmaAddress', 'receiverUmaAddress', 'senderAccountIdentifier', 'receiverAccountIdentifier'],
    ...['senderCustomerInfo', 'counterpartyInformation', 'customerInfo', 'email', 'phoneNumber', 'fullName'],
    ...['description', 'rawResponse', 'details'],
  ].map(comparableName),
);

/** Patterns of accounts and addresses in texts of others; dates, ports and short offsets stay readable. */
const PERSONAL_PATTERNS = [
  // A quoted value after a sensitive name, as in a piece of JSON.
  /(?<=(?:account|iban|clabe|secret|password|token|email|phone|name)[A-Za-z]*\\?["']?\s*[:=]\s*)\\?["']?[^\s"'\\,;}]+/gi,
  /[^\s"'<>@]+@[^\s"'<>@]+/g,
  /\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b/g,
];

/** Whether to mask any value of a field with this name. */
export function isPersonalName(name: string): boolean {
  return PERSONAL_NAMES.has(comparableName(name));
}

/** Masks text that looks like an account or an address. */
export function maskPersonalIn(text: string, mask: string): string {
  return PERSONAL_PATTERNS.reduce((masked, pattern) => masked.replace(pattern, mask), text);
}

export function comparableName(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}
