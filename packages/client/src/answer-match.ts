/** Whether a result is the answer to what was asked: it must say so itself, by the message's id or by the fingerprint. */
import { FINGERPRINT_HEADER, REPLY_HEADER } from 'payment-processor-contract/cloud-events';
import type { CommandType } from 'payment-processor-contract/commands';
import type { CommandResult, Envelope } from './events.ts';

/** What is known of the message whose answer is awaited. */
export interface Asked {
  /** Its `ce_id`. */
  commandId?: string;
  /** A result of another type is not its answer. */
  type?: CommandType;
  /** Of `fingerprintOf`: the result of an earlier message with the same key and fields is its answer, that of other fields is not. */
  fingerprint?: string;
}

/** @param result of the key that was asked for. Where neither id nor fingerprint is known, any but a CONFLICT will do */
export function isAnswerTo(
  { headers, value }: Pick<Envelope, 'headers'> & { value: Pick<CommandResult, 'commandType' | 'outcome'> },
  asked: Asked,
): boolean {
  if (asked.type !== undefined && asked.type !== value.commandType) return false;
  // A CONFLICT is about one message. One that could not be read has no fingerprint: the key may be the asker's own.
  const isDamaged = asked.fingerprint !== undefined && headers[FINGERPRINT_HEADER] === undefined;
  if (value.outcome === 'CONFLICT') return isAddressedTo(headers, asked) && !isDamaged;
  if (isAddressedTo(headers, asked)) return true;
  if (asked.fingerprint === undefined) return asked.commandId === undefined;
  return asked.fingerprint === headers[FINGERPRINT_HEADER];
}

/** Whether headers alone say that the message is answered. One id can be given to two commands: the fingerprint tells. */
export function isAddressedTo(headers: Envelope['headers'], { commandId, fingerprint }: Asked): boolean {
  if (commandId === undefined || headers[REPLY_HEADER] !== commandId) return false;
  // It is not on results of what could not be read.
  const carried = headers[FINGERPRINT_HEADER];
  return fingerprint === undefined || carried === undefined || carried === fingerprint;
}
