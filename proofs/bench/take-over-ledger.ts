/** A ledger of many remembered keys, written into its topic as lanes write it, and the size of what processes make of it. */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Message, Producer } from 'kafkajs';
import type { LedgerRecord } from '../../src/store/ledger-index.ts';
import { laneOf } from 'payment-processor-contract/keys';
import type { Stack } from '../../test/support/stack.ts';
import { donePhase, entryOf, entryRecord, transactionRecord } from './ledger-records.ts';

export interface LedgerSize {
  keys: number;
  lanes: number;
}

/** Keys of one send: about a megabyte, spread over the lanes. */
const KEYS_PER_SEND = 500;
const PROGRESS_KEYS = 100_000;
/** The oldest is within the default retention, the youngest is at rest. */
const OLDEST_MS = 6.9 * 86_400_000;
const YOUNGEST_MS = 3_600_000;

export const rememberedKey = (index: number): string => `order-${String(index).padStart(9, '0')}-2f6c0a`;

/** Of each key one finished entry and the transaction that it made, as compaction leaves them; oldest first. */
export async function writeLedger(
  stack: Stack,
  { keys, lanes }: LedgerSize,
  onProgress: (line: string) => void,
): Promise<void> {
  const producer = stack.kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const firstMs = Date.now() - OLDEST_MS;
  const stepMs = (OLDEST_MS - YOUNGEST_MS) / keys;
  try {
    for (let first = 0; first < keys; first += KEYS_PER_SEND) {
      const records: LedgerRecord[] = [];
      for (let index = first; index < Math.min(first + KEYS_PER_SEND, keys); index += 1) {
        const atMs = Math.floor(firstMs + index * stepMs);
        const key = rememberedKey(index);
        records.push(entryRecord(entryOf(key, donePhase(key, atMs), atMs), 0n, atMs));
        records.push(transactionRecord(`Transaction:${randomUUID()}`, atMs, 0n));
      }
      await send(producer, stack.topics.ledger, lanes, records);
      if ((first + KEYS_PER_SEND) % PROGRESS_KEYS === 0) onProgress(`${first + KEYS_PER_SEND} keys written`);
    }
  } finally {
    await producer.disconnect();
  }
}

async function send(producer: Producer, topic: string, lanes: number, records: readonly LedgerRecord[]): Promise<void> {
  const messages: Message[] = records.map(({ key, timestampMs, value }) => ({
    key,
    value,
    // Behind the prefix: lanes are those of commands' keys and of transactions' ids.
    partition: laneOf(key.slice(key.indexOf(':') + 1), lanes),
    timestamp: String(timestampMs),
  }));
  await producer.send({ topic, messages });
}

/** Largest store of the state directory, bytes. */
export function storeBytes(stateDirectory: string, processes: number): number {
  const sizes = Array.from({ length: processes }, (_, index) => {
    const file = statSync(join(stateDirectory, String(index), 'data.mdb'), { throwIfNoEntry: false });
    return file?.size ?? 0;
  });
  return Math.max(...sizes);
}
