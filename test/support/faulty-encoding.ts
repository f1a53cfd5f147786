/**
 * Loaded into a processor before its own code (`node --import`): a bug of our own, on purpose. Encoding the result of the
 * command with the key FAULTY_KEY fails three times, as often as it takes to be set aside; then it works. Each failure
 * takes FAULTY_DELAY_MS, 0 by default.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RecordRegistry } from 'payment-processor-contract/registry';

const encode = Object.getOwnPropertyDescriptor(RecordRegistry.prototype, 'encode')?.value as RecordRegistry['encode'];
let failuresLeft = 3;

RecordRegistry.prototype.encode = async function (this: RecordRegistry, topic: string, record: object) {
  const isFaulty = 'commandKey' in record && 'outcome' in record && record.commandKey === process.env['FAULTY_KEY'];
  if (isFaulty && failuresLeft > 0) {
    failuresLeft -= 1;
    await delay(Number(process.env['FAULTY_DELAY_MS'] ?? 0));
    throw new TypeError('a bug on purpose');
  }
  return encode.call(this, topic, record);
};
