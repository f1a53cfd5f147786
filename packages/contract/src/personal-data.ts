/**
 * What of a command, a result or an event may be a person's or an account's: by the names of fields, and by how it looks
 * in the texts of others. For the log and for the command line. Pure.
 */

/** Fields whose values name a person or an account, or may; compared without case, hyphens and underscores. */
const PERSONAL_NAMES = new Set(
  [
    ...['accountId', 'accountNumber', 'accountIdentifier', 'iban', 'clabe', 'pixKey', 'upiId', 'umaAddress'],
    ...['senderUmaAddress', 'receiverUmaAddress', 'senderAccountIdentifier', 'receiverAccountIdentifier'],
    ...['senderCustomerInfo', 'counterpartyInformation', 'customerInfo', 'email', 'phoneNumber', 'fullName'],
    ...['description', 'rawResponse', 'details'],
  ].map(comparableName),
);

/** Accounts and addresses as they look in the texts of others; dates, ports and short offsets stay readable. */
const PERSONAL_PATTERNS = [
  // A value quoted after a sensitive name, as in a piece of JSON.
  /(?<=(?:account|iban|clabe|secret|password|token|email|phone|name)[A-Za-z]*\\?["']?\s*[:=]\s*)\\?["']?[^\s"'\\,;}]+/gi,
  /[^\s"'<>@]+@[^\s"'<>@]+/g,
  /\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b/g,
];

/** Whether the value of a field of this name is masked, whatever it is. */
export function isPersonalName(name: string): boolean {
  return PERSONAL_NAMES.has(comparableName(name));
}

/** Replaces what looks like an account or an address in a text. */
export function maskPersonalIn(text: string, mask: string): string {
  return PERSONAL_PATTERNS.reduce((masked, pattern) => masked.replace(pattern, mask), text);
}

export function comparableName(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, '');
}
