/**
 * Keeps secrets and personal data out of the log (invariant I9), in three layers. Pure.
 *
 *   fields   lose their values if their names suggest secrets, accounts or bodies, at any depth; in text, what looks like
 *            an account, or an e-mail or UMA address, is masked
 *   errors   keep name, code, message, stack and causes, but no other field (bodies, requests, configurations)
 *   lines    lose the values of our own secrets, and credentials in headers and URLs, wherever they appear
 */
import { comparableName, isPersonalName, maskPersonalIn } from 'payment-processor-contract/personal-data';

export const REDACTED = '[redacted]';

/** Fields whose values are never logged, in addition to personal ones. Case, hyphens and underscores are ignored. */
const SENSITIVE_NAMES = new Set(
  [
    ...['authorization', 'proxyAuthorization', 'cookie', 'setCookie', 'headers', 'token', 'authToken', 'accessToken'],
    ...['clientSecret', 'secret', 'tokenId', 'password', 'passphrase', 'credentials', 'sasl', 'auth', 'privateKey'],
    ...['apiTokenId', 'apiClientSecret', 'kafkaSaslPassword', 'schemaRegistryPassword', 'httpAuthToken'],
    ...['body', 'rawBody', 'requestBody', 'responseBody', 'payload', 'fields', 'fieldsJson', 'value'],
    ...['commandKey', 'idempotencyKey', 'key', 'messageValue', 'messageKey', 'config'],
  ].map(comparableName),
);

/** Limits on the work for one line. No legitimate log field is deeper or wider. */
const DEPTH_MAX = 6;
const ITEMS_MAX = 100;
const CAUSES_MAX = 8;
const TEXT_CHARACTERS_MAX = 500;
const STACK_FRAMES_MAX = 12;
/** Redacting shorter secrets would hit ordinary text. Their fields are still redacted by name. */
const SECRET_CHARACTERS_MIN = 6;

export interface LoggedError {
  readonly name: string;
  readonly code?: string;
  readonly message: string;
  /** The stack without the message. */
  readonly stack?: readonly string[];
  readonly cause?: LoggedError;
}

/** Copies the fields of a line without what must not be logged. */
export function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  return redactObject(fields, 0);
}

/** Name, code, message, stack and causes of a thrown value, and nothing else. */
export function describeError(error: unknown, causesLeft = CAUSES_MAX): LoggedError {
  if (!(error instanceof Error)) {
    return {
      name: typeof error,
      message: maskPersonal(typeof error === 'string' ? error : 'the thrown value is not an Error'),
    };
  }
  const { cause } = error;
  const code = 'code' in error && ['string', 'number'].includes(typeof error.code) ? String(error.code) : null;
  const stack = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    name: error.name,
    ...(code === null ? {} : { code }),
    message: maskPersonal(error.message),
    ...(stack.length === 0 ? {} : { stack: stack.slice(0, STACK_FRAMES_MAX).map((line) => line.trim()) }),
    ...(cause === undefined || causesLeft === 0 ? {} : { cause: describeError(cause, causesLeft - 1) }),
  };
}

/**
 * @returns a function that redacts a log line: the secrets, in plain and encoded forms, and credentials in headers
 *   and URLs
 */
export function secretRedactor(secrets: readonly string[]): (line: string) => string {
  const forms = secrets.filter((secret) => secret.length >= SECRET_CHARACTERS_MIN).flatMap(formsOf);
  // Longest first, because one secret may contain another.
  const unique = [...new Set(forms)].sort((left, right) => right.length - left.length);
  return (line) => {
    let redacted = line
      .replace(CREDENTIALS_OF_HEADERS, `$1 ${REDACTED}`)
      .replace(CREDENTIALS_OF_URLS, `//${REDACTED}@`);
    for (const form of unique) redacted = redacted.replaceAll(form, REDACTED);
    return redacted;
  };
}

/** Masks what looks like an account, or an e-mail or UMA address, and cuts the text to a length that suits a log. */
export function maskText(text: string): string {
  // Cut between words: half a secret would not match, and would stay in the line.
  const cut =
    text.length > TEXT_CHARACTERS_MAX ? `${text.slice(0, TEXT_CHARACTERS_MAX).replace(/\S*$/, '')}[cut]` : text;
  return maskPersonalIn(cut, REDACTED);
}

export function basicCredentials(user: string, password: string): string {
  return Buffer.from(`${user}:${password}`).toString('base64');
}

const CREDENTIALS_OF_HEADERS = /\b(Basic|Bearer) +[A-Za-z0-9+/=._~-]{8,}/gi;
const CREDENTIALS_OF_URLS = /\/\/[^\s/@"\\]+:[^\s/@"\\]*@/g;

/** Only in error messages: our own texts contain offsets of any length. */
const LONG_NUMBERS = /\d{9,}/g;

function maskPersonal(text: string): string {
  return maskText(text).replace(LONG_NUMBERS, REDACTED);
}

function redactObject(object: Record<string, unknown>, depth: number): Record<string, unknown> {
  const pairs = Object.entries(object)
    .slice(0, ITEMS_MAX)
    .map(([name, value]) => [name, isSensitive(name) ? REDACTED : redactValue(value, depth + 1)]);
  return Object.fromEntries(pairs) as Record<string, unknown>;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return describeError(value);
  if (value instanceof Date) return value.toISOString();
  // Bytes are messages or bodies.
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (depth > DEPTH_MAX) return '[nested too deeply]';
  if (Array.isArray(value)) return value.slice(0, ITEMS_MAX).map((item) => redactValue(item, depth + 1));
  if (value instanceof Set) return redactValue([...value], depth);
  if (value instanceof Map) return redactObject(Object.fromEntries(value) as Record<string, unknown>, depth);
  return redactObject(value as Record<string, unknown>, depth);
}

function formsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64');
  return [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), base64, base64.replace(/=+$/, '')];
}

function isSensitive(name: string): boolean {
  return SENSITIVE_NAMES.has(comparableName(name)) || isPersonalName(name);
}
