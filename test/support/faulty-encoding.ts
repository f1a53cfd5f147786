/**
 * Preloaded into a processor (`node --import`): an injected bug. Encoding the result of command FAULTY_KEY fails for
 * FAULTY_FOR_MS (default 0), then three more times, after which the message is set aside. Then it works.
 */
import { RecordRegistry } from 'payment-processor-contract/registry';
import { MessageFailures } from '../../src/consumers/message-failures.ts';

const encode = Object.getOwnPropertyDescriptor(RecordRegistry.prototype, 'encode')?.value as RecordRegistry['encode'];
const count = Object.getOwnPropertyDescriptor(MessageFailures.prototype, 'count')?.value as MessageFailures['count'];
const forMs = Number(process.env['FAULTY_FOR_MS'] ?? 0);
let firstMs: number | null = null;
let failuresLeft = 3;

function isOver(): boolean {
  firstMs ??= Date.now();
  return Date.now() - firstMs >= forMs;
}

RecordRegistry.prototype.encode = function (this: RecordRegistry, topic: string, record: object) {
  const isFaulty = 'commandKey' in record && 'outcome' in record && record.commandKey === process.env['FAULTY_KEY'];
  if (isFaulty && failuresLeft > 0) {
    if (isOver()) failuresLeft -= 1;
    throw new TypeError('a bug on purpose');
  }
  return encode.call(this, topic, record);
};

MessageFailures.prototype.count = function (this: MessageFailures, topic: string, offset: bigint) {
  return isOver() && count.call(this, topic, offset);
};
