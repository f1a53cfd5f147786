/** What services upstream and downstream of the processor import: publish commands, await results, subscribe to events. */
export { PublishError } from '../producers/outside/record-publisher.ts';
export {
  COMMAND_TYPES,
  OUTCOME_NAMES,
  PROCESSOR_ERROR_CODES,
  type CommandType,
  type Outcome,
  type ProcessorErrorCode,
  type SettledBy,
} from '../records/commands.ts';
export type { FieldProblem } from '../records/command-fields.ts';
export { keyProblem } from '../records/keys.ts';
export { parseLossless, stringifyLossless, type JsonValue } from '../records/lossless-json.ts';
export { RegistryError } from '../records/registry-failure.ts';
export { FINAL_STATUSES, type FinalStatus, type TransactionStatus } from '../records/statuses.ts';
export type { Quote, QuoteStatusChanged, Transaction, TransactionStatusChanged } from '../records/types.ts';
export type { Answer, CommandAnswer, CreateAndExecuteAnswer, StandingResult } from './answers.ts';
export type { CommandInput } from './command-input.ts';
export type { CommandError, CommandResult, Envelope, PaymentEvent, Stream } from './events.ts';
export { HandlingTimeoutError, type HandlerOptions, type HandlerRetry } from './handling.ts';
export { PaymentClient, type CreateAndExecuteOptions, type RequestOptions } from './payment-client.ts';
export {
  fingerprintOf,
  InvalidCommandError,
  PaymentCommandPublisher,
  type PublishedCommand,
  type PublisherOptions,
  type PublishOptions,
} from './publisher.ts';
export { ResultAwaiter, ResultTimeoutError, type AwaitedResult, type ExpectOptions } from './result-awaiter.ts';
export type { Settlement, SettlementOptions } from './settlement.ts';
export { readClientSettings, readPublisherSettings, type ClientSettings, type PublisherSettings } from './settings.ts';
export type { ReaderStart } from '../consumers/outside/topic-reader.ts';
export { subscribe, type ConnectionOptions, type Subscription, type SubscriptionOptions } from './subscription.ts';
