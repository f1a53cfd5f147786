/** The local stores held against the ledger: what one says that it has read is in it as the ledger has it. */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import type { MemoryIndex } from './memory-index.ts';

/** @param ledger by offset in each lane; of a key that is written again later, stores that have not read that yet are not judged */
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
