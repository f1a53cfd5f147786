/**
 * Decides whether a result answers a request: its headers must name the id or the fingerprint that the request gave.
 */
import { FINGERPRINT_HEADER, REPLY_HEADER } from 'payment-processor-contract/cloud-events';
import type { CommandType } from 'payment-processor-contract/commands';
import type { CommandResult, Envelope } from './events.ts';

/** The message whose answer is awaited. */
export interface Asked {
  /** Its `ce_id`. */
  commandId?: string;
  /** A result of another type is not its answer. */
  type?: CommandType;
  /**
   * From `fingerprintOf`: a result of an earlier message with the same key and fields is an answer; one with other fields is
   * not.
   */
  fingerprint?: string;
}

/** @param result a result of the requested key. Without id and fingerprint, any except a CONFLICT matches */
export function isAnswerTo(
  { headers, value }: Pick<Envelope, 'headers'> & { value: Pick<CommandResult, 'commandType' | 'outcome'> },
  asked: Asked,
): boolean {
  if (asked.type !== undefined && asked.type !== value.commandType) return false;
  // A CONFLICT concerns one message. For an unreadable message it has no fingerprint, so the key may still be the caller's.
  const isOfUnreadable = asked.fingerprint !== undefined && headers[FINGERPRINT_HEADER] === undefined;
  if (value.outcome === 'CONFLICT') return isAddressedTo(headers, asked) && !isOfUnreadable;
  if (isAddressedTo(headers, asked)) return true;
  if (asked.fingerprint === undefined) return asked.commandId === undefined;
  return asked.fingerprint === headers[FINGERPRINT_HEADER];
}

/** Whether the headers alone identify the answer. Two commands may share an id; the fingerprint then decides. */
export function isAddressedTo(headers: Envelope['headers'], { commandId, fingerprint }: Asked): boolean {
  if (commandId === undefined || headers[REPLY_HEADER] !== commandId) return false;
  // Results of unreadable messages lack this header.
  const answered = headers[FINGERPRINT_HEADER];
  return fingerprint === undefined || answered === undefined || answered === fingerprint;
}
