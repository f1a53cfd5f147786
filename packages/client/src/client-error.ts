/** The client's only error class; docs/client.md lists its codes. */
import { kafkaFailure } from 'payment-processor-contract/kafka/kafka-failure';
import { TopicsMissingError } from './kafka/topic-bounds.ts';
import { PublishError } from './kafka/record-publisher.ts';
import type { FieldProblem } from 'payment-processor-contract/command-fields';
import { instantMs } from 'payment-processor-contract/instants';
import { keyProblem } from 'payment-processor-contract/keys';
import { RegistryError } from 'payment-processor-contract/registry-failure';
import { messageOf } from 'payment-processor-contract/registry-http';

/**
 * Whether a retry may succeed, by code. While the processor remembers the key, a retry is safe: key and fields pay
 * once.
 */
const IS_RETRYABLE = {
  INVALID_COMMAND: false,
  INVALID_OPTION: false,
  NO_REGISTRY: false,
  SCHEMA_MISSING: false,
  REGISTRY_REFUSED: false,
  REGISTRY_UNAVAILABLE: true,
  TOPIC_MISSING: false,
  KAFKA_REFUSED: false,
  KAFKA_UNAVAILABLE: true,
  KAFKA_FAILED: true,
  KAFKAJS_UNPATCHED: false,
  NOT_WRITTEN: false,
  NOT_CONFIRMED: true,
  TOO_MANY: true,
  CLOSED: false,
  NO_RESULT: true,
  RESULT_UNREADABLE: false,
  HANDLER_FAILED: false,
  HANDLER_TIMEOUT: false,
  UNEXPECTED: false,
} as const satisfies Record<string, boolean>;

export type ClientErrorCode = keyof typeof IS_RETRYABLE;
export const CLIENT_ERROR_CODES = Object.keys(IS_RETRYABLE) as ClientErrorCode[];

export class PaymentClientError extends Error {
  readonly code: ClientErrorCode;
  /** The invalid input: an option's name, the dotted path of a command's field, `key` or `type`. Null: none of them. */
  readonly field: string | null;
  /** For INVALID_COMMAND: every problem by its path. */
  readonly problems: readonly FieldProblem[];
  readonly retryable: boolean;
  /** One of the tries may have written the command. */
  readonly mayBeWritten: boolean;

  constructor(
    code: ClientErrorCode,
    message: string,
    { cause, field, problems = [] }: { field?: string; problems?: readonly FieldProblem[]; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.name = 'PaymentClientError';
    this.code = code;
    this.field = field ?? null;
    this.problems = problems;
    this.retryable = IS_RETRYABLE[code];
    this.mayBeWritten = code === 'NOT_CONFIRMED';
  }
}

/** Converts any error into a client error and keeps it as the cause. */
export function clientError(error: unknown): PaymentClientError {
  if (error instanceof PaymentClientError) return error;
  return new PaymentClientError(codeOf(error), messageOf(error), { cause: error });
}

/** Runs work and converts its errors. @throws PaymentClientError */
export async function withClientErrors<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    throw clientError(error);
  }
}

function codeOf(error: unknown): ClientErrorCode {
  if (error instanceof RegistryError) {
    if (error.failure === null) return 'NO_REGISTRY';
    if (error.missing) return 'SCHEMA_MISSING';
    return error.refused ? 'REGISTRY_REFUSED' : 'REGISTRY_UNAVAILABLE';
  }
  if (error instanceof TopicsMissingError) return 'TOPIC_MISSING';
  const { kind } = kafkaFailure(error);
  if (error instanceof PublishError && (error.reason !== 'NOT_WRITTEN' || kind === 'other')) return error.reason;
  if (kind === 'unreachable') return 'KAFKA_UNAVAILABLE';
  if (kind !== 'other') return 'KAFKA_REFUSED';
  return error instanceof Error && error.name.startsWith('KafkaJS') ? 'KAFKA_FAILED' : 'UNEXPECTED';
}

/** @throws PaymentClientError naming the option that is not a valid number */
export function requireWhole(field: string, value: unknown, min: number, max: number): void {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return;
  throw invalidOption(field, value, `a whole number from ${min} to ${Math.floor(max)}`);
}

export function requireDate(field: string, value: unknown): void {
  if (value === undefined || (value instanceof Date && !Number.isNaN(value.getTime()))) return;
  throw invalidOption(field, value, 'a valid Date');
}

/** An instant that the processor can read. */
export function requireInstant(field: string, value: unknown): void {
  requireDate(field, value);
  if (!(value instanceof Date) || instantMs(value.toISOString()) !== null) return;
  throw invalidOption(field, value.toISOString(), 'in a year from 0 to 9999');
}

export function requireSignal(field: string, value: unknown): void {
  if (value === undefined || value instanceof AbortSignal) return;
  throw invalidOption(field, value, 'an AbortSignal');
}

export function requireOneOf(field: string, value: unknown, allowed: readonly string[]): void {
  if (typeof value === 'string' && allowed.includes(value)) return;
  throw invalidOption(field, value, `one of ${allowed.join(', ')}`);
}

export function requireText(field: string, value: unknown): void {
  if (value === undefined || (typeof value === 'string' && value !== '')) return;
  throw invalidOption(field, value, 'a text with at least one character');
}

/** Requires a key that a command can have: no other key has a result. */
export function requireKey(value: unknown): void {
  const problem = typeof value === 'string' ? keyProblem(value) : 'the key must be a text';
  if (problem !== null) throw new PaymentClientError('INVALID_OPTION', problem, { field: 'key' });
}

export function requireFunction(field: string, value: unknown): void {
  if (typeof value === 'function') return;
  throw invalidOption(field, value, 'a function');
}

/**
 * Checks what the caller's function returned. From JavaScript it may be anything, such as a count or an object.
 * @throws TypeError
 */
export function requireBoolean(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new TypeError(`${name} returned ${typeof value}, not true or false`);
}

function invalidOption(field: string, value: unknown, wanted: string): PaymentClientError {
  return new PaymentClientError('INVALID_OPTION', `${field} is ${String(value)}; it must be ${wanted}`, { field });
}

/** Beyond this, a Node timer fires at once. */
export const TIMER_MS_MAX = 2 ** 31 - 1;
