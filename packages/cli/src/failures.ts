/** Turns a library's error into a sentence: what failed, where, and the remedy. */
import { PaymentClientError } from 'payment-processor-client/internal/client-error';
import { causesOf, failureInWords, kafkaFailure, kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';
import { PublishError } from 'payment-processor-client/internal/kafka/record-publisher';
import { messageOf } from 'payment-processor-contract/registry-http';
import { RegistryError } from 'payment-processor-contract/registry-failure';
import { CliFailure, unsent } from './exit-codes.ts';

/**
 * @returns the failure to show
 * @throws the error itself if no user caused it: a bug, shown with its stack
 */
export function failureOf(error: unknown): CliFailure {
  if (error instanceof PaymentClientError && error.code === 'INVALID_COMMAND') {
    const lines = error.problems.map(({ path, message }) => `  ${path === '' ? '(the value)' : path}: ${message}`);
    return new CliFailure('usage', ['the command is not valid; nothing was sent:', ...lines]);
  }
  if (error instanceof PaymentClientError && error.code === 'INVALID_OPTION') return unsent('usage', error.message);
  if (error instanceof PaymentClientError && error.code === 'NO_RESULT') {
    return new CliFailure('noResult', error.message);
  }
  if (error instanceof PaymentClientError && error.cause !== undefined) return failureOf(error.cause);
  if (error instanceof PublishError && error.mayBeWritten) return new CliFailure('noResult', error.message);
  if (error instanceof PublishError && kafkaRefusal(error) !== null) {
    return new CliFailure('failed', `${error.message}; ${kafkaMessage(error, error)}`);
  }
  if (error instanceof PublishError || error instanceof RegistryError) return new CliFailure('failed', error.message);
  const kafkaError = [...causesOf(error)].find((cause) => cause.name.startsWith('KafkaJS'));
  if (kafkaError !== undefined) return new CliFailure('failed', kafkaMessage(error, kafkaError));
  if (error instanceof Error && !(error instanceof TypeError) && !(error instanceof ReferenceError)) {
    return new CliFailure('failed', error.message);
  }
  throw error;
}

/**
 * A failure after publishing does not undo the publication: it may still be carried out.
 * @param published as a sentence
 * @throws CliFailure
 */
export async function oncePublished<Value>(published: string, awaited: Promise<Value>): Promise<Value> {
  try {
    return await awaited;
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    throw new CliFailure('noResult', `${published}, but its outcome cannot be read: ${failureOf(error).message}`);
  }
}

/** Why a record was not published; the publisher's own advice is for publishers that use their own key. */
export function reasonOf(error: unknown): string {
  return messageOf(error instanceof PublishError ? (error.cause ?? error) : error);
}

function kafkaMessage(error: unknown, kafkaError: Error): string {
  const brokers = (process.env['KAFKA_BROKERS'] ?? '').split(',');
  const failure = kafkaFailure(error);
  return failureInWords(failure.kind === 'other' ? { ...failure, detail: messagesOf(kafkaError) } : failure, {
    KAFKA_BROKERS: brokers,
  });
}

/** An error about several topics has one error for each. */
function messagesOf(error: Error): string {
  const parts =
    'errors' in error && Array.isArray(error.errors) ? error.errors.filter((part) => part instanceof Error) : [];
  if (parts.length === 0) return error.message;
  return parts
    .map((part) =>
      'topic' in part && typeof part.topic === 'string' ? `${part.topic}: ${part.message}` : part.message,
    )
    .join('; ');
}
