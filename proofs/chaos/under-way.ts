/** Reads from the ledger which calls lost their process. */
import type { TopicRecord } from 'payment-processor-client/internal/kafka/topic-reader';
import { decodeEntry } from '../../src/ledger/entry-record.ts';
import { ownerRecords, ENTRY_PREFIX, OWNER_KEY } from '../../src/ledger/ledger-records.ts';

/** Intents that a new owner found in its lane: their process was killed or counted out between intent and outcome. */
export function underWayAtKills(ledger: readonly TopicRecord[]): Set<string> {
  const found = new Set<string>();
  const intents = new Map<string, { partition: number; processId: string }>();
  for (const { key, value, partition } of ledger) {
    if (key === null || value === null) continue;
    const name = key.toString();
    if (name === OWNER_KEY) {
      const { processId } = ownerRecords.decode(value);
      for (const [command, intent] of intents) {
        if (intent.partition === partition && intent.processId !== processId) found.add(command);
      }
    } else if (name.startsWith(ENTRY_PREFIX)) {
      const { key: command, phase } = decodeEntry(value);
      if (phase.state === 'INTENT') intents.set(command, { partition, processId: phase.processId });
      else intents.delete(command);
    }
  }
  return found;
}
