/** The lag of a group with the age of what waits: one small read at the head of each lane that has lag. */
import { readGroupLag, type LaneLag } from './kafka/group-lag.ts';
import { firstRecordsFrom, placeName } from 'payment-processor-client/internal/kafka/record-at';
import type { CliKafka } from './context.ts';

export interface AgedLag extends LaneLag {
  /** When the oldest command that is not admitted was written; null without one. */
  oldestTimestampMs: number | null;
}

/**
 * @returns one entry per topic and lane, and the topics that do not exist
 * @throws as readGroupLag and firstRecordsFrom
 */
export async function readLagWithAge(
  kafka: CliKafka,
  settings: { readonly KAFKA_GROUP_ID: string; readonly TOPIC_PREFIX: string },
  topics: readonly string[],
): Promise<{ lanes: AgedLag[]; missing: string[] }> {
  const { lanes, missing } = await readGroupLag(kafka, settings.KAFKA_GROUP_ID, topics);
  const places = lanes
    .filter(({ lag }) => lag > 0n)
    .map(({ topic, lane, endOffset, lag }) => ({ topic, partition: lane, offset: endOffset - lag, endOffset }));
  const oldest = await firstRecordsFrom(kafka, `${settings.TOPIC_PREFIX}-cli`, places);
  const aged = lanes.map((lag) => ({
    ...lag,
    oldestTimestampMs: oldest.get(placeName({ topic: lag.topic, partition: lag.lane }))?.timestampMs ?? null,
  }));
  return { lanes: aged, missing };
}
