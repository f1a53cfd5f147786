/** Reads single records: the first committed one at or after an offset, in several partitions at once. */
import { placeName, type RawRecord } from 'payment-processor-client/internal/kafka/raw-record';
import type { Bounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
import { settledWithin } from 'payment-processor-contract/settled-within';
import type { CliKafka } from './context.ts';

/** Time to join a group and fetch once. A slower broker has a problem that other checks report. */
const READ_MS_MAX = 15_000;

/**
 * @param bounds of every partition of the topics: from where to look, and the end
 * @returns the records found, by `placeName`; none for a partition without a committed record in its bounds
 * @throws the client's error if no broker answers, an Error when the time is up
 */
export async function firstRecordsFrom(
  kafka: CliKafka,
  prefix: string,
  bounds: readonly Bounds[],
): Promise<Map<string, RawRecord>> {
  const found = new Map<string, RawRecord>();
  if (bounds.every(({ high, low }) => low >= high)) return found;
  const reader = await openTopicReader(kafka, {
    topics: [...new Set(bounds.map(({ topic }) => topic))],
    start: { from: 'lows', bounds },
    untilEnd: true,
    onlyFirst: true,
    groupPrefix: `${prefix}-cli`,
    onRecord: (record, raw) => void found.set(placeName(record), raw()),
  });
  try {
    if (await settledWithin(reader.ended, READ_MS_MAX)) return found;
    throw new Error(`no records could be read within ${READ_MS_MAX} ms: try again`);
  } finally {
    await reader.close();
  }
}
