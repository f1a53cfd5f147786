/** The public API for services before and behind the processor: publish commands, await results, subscribe to events. */
import './require-node.ts';

export {
  COMMAND_TYPES,
  OUTCOME_NAMES,
  PROCESSOR_ERROR_CODES,
  type CommandType,
  type Outcome,
  type ProcessorErrorCode,
  type SettledBy,
} from 'payment-processor-contract/commands';
export type { FieldProblem } from 'payment-processor-contract/command-fields';
export { keyProblem } from 'payment-processor-contract/keys';
export {
  parseUnambiguous as parseLossless,
  stringifyLossless,
  type JsonValue,
} from 'payment-processor-contract/lossless-json';
export {
  FINAL_STATUSES,
  type FailureReason,
  type FinalStatus,
  type QuoteStatus,
  type TransactionStatus,
  type TransactionType,
} from 'payment-processor-contract/statuses';
export type { Answer, CommandAnswer, CreateAndExecuteAnswer, StandingResult } from './answers.ts';
export { CLIENT_ERROR_CODES, PaymentClientError, type ClientErrorCode } from './client-error.ts';
export type { CommandInput } from './command-input.ts';
export type {
  CommandError,
  CommandResult,
  Envelope,
  PaymentEvent,
  Quote,
  QuoteStatusChanged,
  Stream,
  Transaction,
  TransactionStatusChanged,
} from './events.ts';
export type { HandlerOptions, HandlerRetry } from './handling.ts';
export type { ClientNotice } from './notices.ts';
export type { SeenEvents } from './seen-events.ts';
export { SqliteSeenEvents, type SqliteOptions } from './sqlite-seen-events.ts';
export { PaymentClient, type CreateAndExecuteOptions, type RequestOptions } from './payment-client.ts';
export {
  fingerprintOf,
  PaymentCommandPublisher,
  type PublishedCommand,
  type PublisherOptions,
  type PublishOptions,
} from './publisher.ts';
export { ResultAwaiter, type AwaitedResult, type ExpectOptions } from './result-awaiter.ts';
export type { Settlement, SettlementOptions } from './settlement.ts';
export {
  clientSettings,
  readClientSettings,
  readPublisherSettings,
  type ClientSettings,
  type PlainSettings,
  type PublisherSettings,
} from './settings.ts';
export type { ReaderStart } from './kafka/topic-reader.ts';
export { subscribe, type ConnectionOptions, type Subscription, type SubscriptionOptions } from './subscription.ts';
