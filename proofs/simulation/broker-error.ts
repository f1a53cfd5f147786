/** What kafkajs throws when a broker answers with an error code. */
import { createRequire } from 'node:module';
import kafkajs from 'kafkajs';

const { errorCodes } = createRequire(import.meta.url)('kafkajs/src/protocol/error') as {
  errorCodes: readonly (Error & { type: string })[];
};
const NO_SUCH_ERROR = 'no such error of the protocol: ';

export class BrokerError extends kafkajs.KafkaJSProtocolError {}

/** One error per type: making their stacks takes long and has no use. */
const brokerErrors = new Map<string, BrokerError>();

/** @param type name of the error in the protocol */
export function brokerError(type: string): BrokerError {
  const known = brokerErrors.get(type);
  if (known !== undefined) return known;
  const made = new BrokerError(errorCodes.find((error) => error.type === type) ?? NO_SUCH_ERROR + type);
  brokerErrors.set(type, made);
  return made;
}
