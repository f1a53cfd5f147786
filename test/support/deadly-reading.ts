/**
 * Loaded into a processor before its own code (`node --import`): a bug of our own that ends the process, on purpose, as a
 * fault of a native library would. Reading an Avro value that contains the text DEADLY_TEXT kills it.
 */
import { RecordRegistry } from 'payment-processor-contract/registry';

const decode = Object.getOwnPropertyDescriptor(RecordRegistry.prototype, 'decode')?.value as RecordRegistry['decode'];

RecordRegistry.prototype.decode = async function (this: RecordRegistry, topic: string, bytes: Buffer) {
  if (bytes.includes(process.env['DEADLY_TEXT'] ?? '')) process.kill(process.pid, 'SIGKILL');
  return decode.call(this, topic, bytes);
};
