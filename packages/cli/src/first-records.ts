/** Reads single records: the first committed one at or after an offset, in several partitions at once. */
import { placeName, type RawRecord } from 'payment-processor-client/internal/kafka/raw-record';
import type { Bounds } from 'payment-processor-client/internal/kafka/topic-bounds';
import { openTopicReader } from 'payment-processor-client/internal/kafka/topic-reader';
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
  const ends = new Map(bounds.map((one) => [placeName(one), one.high]));
  if (bounds.every(({ high, low }) => low >= high)) return found;
  const reader = await openTopicReader(kafka, {
    topics: [...new Set(bounds.map(({ topic }) => topic))],
    start: { from: 'lows', bounds },
    untilEnd: true,
    onlyFirst: true,
    groupPrefix: `${prefix}-cli`,
    onRecord: (record, raw) => {
      // Written since the bounds were read: nobody asked for it.
      if (record.offset < (ends.get(placeName(record)) ?? 0n)) found.set(placeName(record), raw());
    },
  });
  const isLate = Promise.withResolvers<never>();
  const problem = `no records could be read within ${READ_MS_MAX} ms: try again`;
  const timer = setTimeout(() => isLate.reject(new Error(problem)), READ_MS_MAX);
  try {
    await Promise.race([reader.ended, isLate.promise]);
    return found;
  } finally {
    clearTimeout(timer);
    await reader.close();
  }
}
