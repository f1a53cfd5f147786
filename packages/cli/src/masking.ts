/** What is shown of personal data and account numbers, unless an operator asks for them. Pure. */
import { isPersonalName, maskPersonalIn } from 'payment-processor-contract/personal-data';

const MASK = '[masked]';
/** Fields that this program does not know may hold anything. */
const UNKNOWN_FIELDS = 'otherFieldsJson';
/** Beside what the log leaves out: who pays, and where to. */
const PAYER_NAMES = new Set([
  'customerId',
  'platformCustomerId',
  'routingNumber',
  'referenceCode',
  'reference',
  'address',
  'invoice',
]);
/** Ids of which the end is shown. */
const IDS = new Set(['accountId', 'customerId']);
/** Of such an id so many characters are shown, so that two can be told apart, where it has many more. */
const SHOWN_CHARACTERS = 4;
const SHOWN_FROM_LENGTH = 12;
const DEPTH_MAX = 20;

/** A copy of plain data in which personal values are masked, at any depth; null stays null. */
export function maskedValue(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return maskedText(value);
  if (typeof value !== 'object' || value === null || 'rawJSON' in value) return value;
  if (depth > DEPTH_MAX) return MASK;
  if (Array.isArray(value)) return value.map((item) => maskedValue(item, depth + 1));
  const members = Object.entries(value).map(([name, member]: [string, unknown]) => {
    if (member === null) return [name, null] as const;
    const isPersonal = isPersonalName(name) || PAYER_NAMES.has(name) || name === UNKNOWN_FIELDS;
    return [name, isPersonal ? maskOf(name, member) : maskedValue(member, depth + 1)] as const;
  });
  return Object.fromEntries(members);
}

/** A text of others without what looks like an account or an address. */
export function maskedText(text: string): string {
  return maskPersonalIn(text, MASK);
}

/** `ExternalAccount:...8f3a`: which kind of account, and enough to tell it from another. */
function maskOf(name: string, value: unknown): string {
  if (!IDS.has(name) || typeof value !== 'string') return MASK;
  const id = value.slice(value.indexOf(':') + 1);
  const kind = value.slice(0, value.length - id.length);
  return id.length < SHOWN_FROM_LENGTH ? `${kind}${MASK}` : `${kind}...${id.slice(-SHOWN_CHARACTERS)}`;
}
