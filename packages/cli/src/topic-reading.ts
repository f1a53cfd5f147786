/** Reads topics for the commands, up to their current end. */
import { openTopicReader, type TopicReaderOptions } from 'payment-processor-client/internal/kafka/topic-reader';
import { withAdmin } from 'payment-processor-contract/kafka/admin-session';
import { partitionOffsets } from 'payment-processor-contract/kafka/partition-offsets';
import { settledWithin } from 'payment-processor-contract/settled-within';
import { cliKafka, laneIn, type CliSettings } from './context.ts';
import { isoOf } from './event-output.ts';
import { CliFailure } from './exit-codes.ts';
import { heldText, readHeldBack } from './lag.ts';

type Reading = Pick<TopicReaderOptions, 'topics' | 'newest' | 'onRecord'> & {
  /** Reads only this key's lane of each topic. */
  readonly laneOfKey?: string;
  /** Only records with this timestamp or a later one, ms since 1970. */
  readonly sinceMs?: number;
  /** Called with sentences about records that `newest` skipped. */
  readonly onCut?: (cut: string) => void;
};

/**
 * No signal stops it early: operators decide by the records, so a partial reading must not look complete.
 * @returns sentences about records that an open transaction hides, or that were deleted before they were read
 * @throws the Kafka client's error; an Error naming the topics that do not exist; errors of `onRecord`
 */
export async function readTopics(
  settings: CliSettings,
  { laneOfKey, onCut, sinceMs, ...reading }: Reading,
): Promise<readonly string[]> {
  const kafka = cliKafka(settings);
  const lane = laneOfKey === undefined ? undefined : await laneIn(settings, laneOfKey);
  const held = await readHeldBack(kafka, reading.topics, lane);
  const deleted: string[] = [];
  const reader = await openTopicReader(kafka, {
    ...reading,
    ...(lane === undefined ? {} : { lane }),
    start: sinceMs === undefined ? { from: 'beginning' } : { from: 'time', ms: sinceMs },
    untilEnd: true,
    groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
    onDeleted: (topic, partition, offsets) =>
      deleted.push(`the last ${offsets} offsets of ${topic}, partition ${partition}: they were deleted meanwhile`),
    onLeftOut: (topic, partition, offsets) =>
      onCut?.(`${offsets} offsets of ${topic}, partition ${partition}, before the newest ${reading.newest}`),
  });
  await reader.ended.finally(() => reader.close());
  return [...held.map(heldText), ...deleted];
}

/**
 * Whether Kafka may have deleted records of that time or a later one. A partition that still has an older record lost
 * none. The topic's retention proves nothing: somebody may have lowered it for a while.
 * @param lanes undefined: all
 * @returns a sentence for each such partition
 */
export async function deletedSince(
  settings: CliSettings,
  topic: string,
  sinceMs: number,
  lanes?: readonly number[],
): Promise<readonly string[]> {
  const [kept, since] = await withAdmin(cliKafka(settings), async (admin) =>
    Promise.all([partitionOffsets(admin, topic), admin.fetchTopicOffsetsByTimestamp(topic, sinceMs)]),
  );
  const firsts = new Map(since.map(({ offset, partition }) => [partition, BigInt(offset)]));
  const gone = [...kept].filter(
    ([partition, { high, low }]) =>
      lanes?.includes(partition) !== false && low > 0n && (low === high || (firsts.get(partition) ?? low) <= low),
  );
  return gone.map(
    ([partition]) => `${topic}, partition ${partition}: records since ${isoOf(sinceMs)} may have been deleted`,
  );
}

/**
 * Limits a reading's time. After the limit the reading continues in the background, so use it only in processes that end
 * soon.
 * @param reading resolves to what was not read, in words
 * @returns those, or a sentence about the time limit; none: all was read
 */
export async function within(
  forMs: number,
  what: string,
  reading: Promise<readonly string[]>,
): Promise<readonly string[]> {
  return (await settledWithin(reading, forMs)) ? reading : [lateText(what, forMs)];
}

export function lateText(what: string, forMs: number): string {
  return `the end of ${what}: it took longer than ${forMs} ms`;
}

/** For lists: the list may be incomplete, and an empty one proves nothing. @throws CliFailure */
export function requireAllRead(cuts: readonly string[]): void {
  if (cuts.length > 0)
    throw new CliFailure(
      'failed',
      cuts.map((cut) => `not read: ${cut}`),
    );
}

/** For commands that read before they publish. @throws CliFailure */
export function requireNothingHidden(hidden: readonly string[]): void {
  if (hidden.length > 0) throw new CliFailure('failed', `not read: ${hidden.join('; ')}; nothing was sent`);
}
