/** Compares local stores with the ledger: a store must agree with every record that it says it has read. */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { MemoryIndex } from './memory-index.ts';

/** @param ledger by offset in each lane; only the last record of a key is compared, with stores that have read it */
export function judgeStores(stores: readonly MemoryIndex[], ledger: readonly TopicRecord[]): string[] {
  const last = new Map<string, TopicRecord>();
  for (const record of ledger) last.set(`${record.partition} ${record.key?.toString()}`, record);
  return stores.flatMap((store, slot) =>
    [...last.values()].flatMap(({ key, offset, partition, value }) => {
      const name = key?.toString() ?? '';
      if (offset >= store.checkpoint(partition).nextOffset || isSame(store.value(partition, name), value)) return [];
      return [`the store of slot ${slot} does not have ${name} of lane ${partition} as it is at ${offset}`];
    }),
  );
}

function isSame(stored: Buffer | undefined, written: Buffer | null): boolean {
  return stored === undefined || written === null ? stored === undefined && written === null : stored.equals(written);
}
