/** A message's content, and the fingerprint by which the ledger and the result identify a command. */
import { decodeValue } from '../../../src/consumers/command-intake.ts';
import type { InputMessage } from '../../../src/consumers/input-message.ts';
import { canonicalJson, commandFingerprint, readCommandFields } from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';
import type { RecordRegistry } from 'payment-processor-contract/registry';

/** A value, or why it could not be read. */
export type Content<Value> =
  { readonly value: Value; readonly problem: null } | { readonly value: null; readonly problem: string };

type Message = Pick<InputMessage, 'headers'> & { readonly topic: string; readonly value: Buffer | null };

/** The fingerprint of type and fields, as in a ledger entry; null: unreadable. */
export async function messageContent(
  registry: RecordRegistry,
  message: Message,
  commandType: CommandType,
): Promise<Content<object> & { readonly fingerprint: string | null }> {
  const content = await decodedMessage(registry, message);
  if (content.problem !== null) return { ...content, fingerprint: null };
  const value = readCommandFields(commandType, content.value).value ?? (content.value as object);
  return { value, problem: null, fingerprint: commandFingerprint(commandType, canonicalJson(value)) };
}

export async function decodedMessage(
  registry: RecordRegistry,
  { headers, topic, value }: Message,
): Promise<Content<unknown>> {
  if (value === null) return { value, problem: 'the message has no value' };
  const decoded = await decodeValue({ registry }, topic, { headers }, value);
  return decoded.kind === 'record'
    ? { value: decoded.value, problem: null }
    : { value: null, problem: decoded.problem };
}
