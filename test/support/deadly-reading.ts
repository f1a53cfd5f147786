/**
 * Preloaded into a processor (`node --import`): an injected bug. Reading an Avro value that contains DEADLY_TEXT kills the
 * process, as a crash in a native library would.
 */
import { RecordRegistry } from 'payment-processor-contract/registry';

const decode = Object.getOwnPropertyDescriptor(RecordRegistry.prototype, 'decode')?.value as RecordRegistry['decode'];

RecordRegistry.prototype.decode = async function (this: RecordRegistry, topic: string, bytes: Buffer) {
  if (bytes.includes(process.env['DEADLY_TEXT'] ?? '')) process.kill(process.pid, 'SIGKILL');
  return decode.call(this, topic, bytes);
};
