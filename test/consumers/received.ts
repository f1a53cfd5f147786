/** Messages as the client hands them on. */
import type { KafkaMessage } from 'kafkajs';
import { inputMessage, type InputMessage } from '../../src/consumers/input-message.ts';

export const AS_JSON = { 'content-type': Buffer.from('application/json') };

export function received(value: Buffer | string | null, changes: Partial<KafkaMessage> = {}): KafkaMessage {
  const place = { offset: '17', timestamp: '0', attributes: 0 };
  return {
    key: Buffer.from('key-1'),
    value: value === null ? null : Buffer.from(value),
    headers: {},
    ...place,
    ...changes,
  } as KafkaMessage;
}

/** The same, as its lane takes it. */
export function taken(...given: Parameters<typeof received>): InputMessage {
  return inputMessage(received(...given));
}
