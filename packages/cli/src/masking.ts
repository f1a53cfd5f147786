/** Masks personal data and account numbers, unless an operator asks to see them. Pure. */
import { isPersonalName, maskPersonalIn } from 'payment-processor-contract/personal-data';

const MASK = '[masked]';
/** Unknown fields may hold anything. */
const UNKNOWN_FIELDS = 'otherFieldsJson';
/** In addition to the fields that the log omits: payer and destination. */
const PAYER_NAMES = new Set([
  'customerId',
  'platformCustomerId',
  'routingNumber',
  'referenceCode',
  'reference',
  'address',
  'invoice',
]);
/** Ids whose last characters are shown. */
const IDS = new Set(['accountId', 'customerId']);
/** Characters of such an id to show, so that ids can be distinguished; only if the id is much longer. */
const SHOWN_CHARACTERS = 4;
const SHOWN_FROM_LENGTH = 12;
const DEPTH_MAX = 20;

/** A copy of plain data in which personal values are masked, at any depth; null stays null. */
function maskedValue(value: unknown, depth = 0): unknown {
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

/** A text of others with accounts and addresses masked. */
export function maskedText(text: string): string {
  return maskPersonalIn(text, MASK);
}

/** How to show data and texts that others wrote. */
export interface Masks {
  readonly value: (value: unknown) => unknown;
  readonly text: (text: string) => string;
}

export function masksOf(isUnmasked: boolean): Masks {
  return isUnmasked ? { value: (value) => value, text: (text) => text } : { value: maskedValue, text: maskedText };
}

/** `ExternalAccount:...8f3a`: the kind of account, and enough to distinguish it. */
function maskOf(name: string, value: unknown): string {
  if (!IDS.has(name) || typeof value !== 'string') return MASK;
  const id = value.slice(value.indexOf(':') + 1);
  const kind = value.slice(0, value.length - id.length);
  return id.length < SHOWN_FROM_LENGTH ? `${kind}${MASK}` : `${kind}...${id.slice(-SHOWN_CHARACTERS)}`;
}
