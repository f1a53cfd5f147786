/** Dead letters: the original bytes and headers, with the reason and the place in headers of our own. */
import type { OutgoingRecord } from './lane-producer.ts';

export type DeadLetterReason =
  'UNREADABLE' | 'UNKNOWN_SCHEMA' | 'NO_KEY' | 'INVALID_KEY' | 'TOO_LARGE' | 'SET_ASIDE' | 'REFUSED_DECISION';

/** A message as it was read, with its first place. */
export interface OriginalMessage {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestampMs: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string | Buffer>>;
}

export interface DeadLetter extends OriginalMessage {
  readonly reason: DeadLetterReason;
  readonly message: string;
}

export function deadLetterRecord(topic: string, lane: number, letter: DeadLetter): OutgoingRecord {
  return {
    topic,
    partition: lane,
    key: letter.key,
    value: letter.value,
    headers: {
      ...letter.headers,
      'dlq-reason': letter.reason,
      'dlq-message': letter.message,
      'dlq-topic': letter.topic,
      'dlq-partition': String(letter.partition),
      'dlq-offset': letter.offset.toString(),
      'dlq-timestamp': new Date(letter.timestampMs).toISOString(),
    },
  };
}
