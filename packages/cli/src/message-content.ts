/** What a message of a command topic asks for, and by which fingerprint the ledger and its result know it. */
import { decodeValue } from '../../../src/consumers/command-intake.ts';
import type { InputMessage } from '../../../src/consumers/input-message.ts';
import { canonicalJson, commandFingerprint, readCommandFields } from 'payment-processor-contract/command-fields';
import type { CommandType } from 'payment-processor-contract/commands';
import type { RecordRegistry } from 'payment-processor-contract/registry';

/** A value that could not be read, and why. */
export interface Unread {
  readonly kind: 'unread';
  readonly problem: string;
}

export type MessageContent =
  /** The fingerprint is of type and fields, as the ledger has it of an entry. */
  { readonly kind: 'fields'; readonly fields: object; readonly fingerprint: string } | Unread;

type Message = Pick<InputMessage, 'headers'> & { readonly topic: string; readonly value: Buffer | null };

export async function messageContent(
  registry: RecordRegistry,
  message: Message,
  commandType: CommandType,
): Promise<MessageContent> {
  const decoded = await decodedMessage(registry, message);
  if (decoded.kind !== 'record') return decoded;
  const fields = readCommandFields(commandType, decoded.value).value ?? (decoded.value as object);
  return { kind: 'fields', fields, fingerprint: commandFingerprint(commandType, canonicalJson(fields)) };
}

export async function decodedMessage(
  registry: RecordRegistry,
  { headers, topic, value }: Message,
): Promise<{ kind: 'record'; value: unknown } | Unread> {
  if (value === null) return { kind: 'unread', problem: 'it has no value' };
  const decoded = await decodeValue({ registry }, topic, { headers }, value);
  return decoded.kind === 'record' ? decoded : { kind: 'unread', problem: decoded.problem };
}
