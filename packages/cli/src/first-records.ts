/** Reads single records: the first committed one at or after an offset, in several partitions at once. */
import { placeName, type RawRecord } from 'payment-processor-client/internal/kafka/raw-record';
import type { Bounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import type { CliKafka } from './context.ts';

/**
 * @param bounds of every partition of the topics: from where to look, and the end
 * @returns the records found, by `placeName`; none for a partition without a committed record in its bounds
 * @throws the client's error if no broker answers
 */
export async function firstRecordsFrom(
  kafka: CliKafka,
  prefix: string,
  bounds: readonly Bounds[],
): Promise<Map<string, RawRecord>> {
  const found = new Map<string, RawRecord>();
  const reader = await openTopicReader(kafka, {
    topics: [...new Set(bounds.map(({ topic }) => topic))],
    start: { from: 'lows', bounds },
    untilEnd: true,
    onlyFirst: true,
    groupPrefix: `${prefix}-cli`,
    onRecord: (record, raw) => void found.set(placeName(record), raw()),
  });
  await reader.ended.finally(() => reader.close());
  return found;
}
