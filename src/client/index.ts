/** What services upstream and downstream of the processor import: publish commands, await results, subscribe to events. */
export { PublishError } from '../producers/outside/record-publisher.ts';
export { COMMAND_TYPES, type CommandType, type Outcome } from '../records/commands.ts';
export type { FieldProblem } from '../records/command-fields.ts';
export { keyProblem } from '../records/keys.ts';
export { RegistryError } from '../records/registry.ts';
export type { QuoteStatusChanged, TransactionStatusChanged } from '../records/types.ts';
export type { CommandInput } from './command-input.ts';
export type { CommandError, CommandResult, Envelope, PaymentEvent, Stream } from './events.ts';
export { HandlingTimeoutError, type HandlerOptions, type HandlerRetry } from './handling.ts';
export {
  InvalidCommandError,
  PaymentCommandPublisher,
  type PublishedCommand,
  type PublisherOptions,
  type PublishOptions,
} from './publisher.ts';
export { ResultAwaiter, ResultTimeoutError, type AwaitedResult, type ExpectOptions } from './result-awaiter.ts';
export { readClientSettings, type ClientSettings } from './settings.ts';
export { subscribe, type Subscription, type SubscriptionOptions } from './subscription.ts';
