/** Topics as the commands read them: from the beginning to the end that they have now. */
import { openTopicReader, type TopicReaderOptions } from 'payment-processor-client/internal/kafka/topic-reader';
import { cliKafka, type CliSettings } from './context.ts';
import { CliFailure } from './exit-codes.ts';
import { heldText, readHeldBack } from './lag.ts';

type Reading = Pick<TopicReaderOptions, 'topics' | 'laneOfKey' | 'newest' | 'onRecord'> & {
  /** Only records with this timestamp or a later one, ms since 1970. */
  readonly sinceMs?: number;
  /** Told of what `newest` left out, in sentences. */
  readonly onCut?: (cut: string) => void;
};

/**
 * No signal ends it early: operators decide on what is read, so a part must not be taken for the whole.
 * @returns what an open transaction hides from it, in sentences
 * @throws the Kafka client's error; an Error naming the topics that do not exist; what `onRecord` throws
 */
export async function readTopics(
  settings: CliSettings,
  { onCut, sinceMs, ...reading }: Reading,
): Promise<readonly string[]> {
  const kafka = cliKafka(settings);
  const held = await readHeldBack(kafka, reading.topics, reading.laneOfKey);
  const reader = await openTopicReader(kafka, {
    ...reading,
    start: sinceMs === undefined ? { from: 'beginning' } : { from: 'time', ms: sinceMs },
    untilEnd: true,
    groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
    onLeftOut: (topic, partition, offsets) =>
      onCut?.(`${topic}, partition ${partition}: ${offsets} offsets before the newest ${reading.newest} were not read`),
  });
  await reader.ended.finally(() => reader.close());
  return held.map(heldText);
}

/**
 * A limit of time. The reading goes on behind the caller's back when its time is up: for processes that end soon.
 * @param reading gives what it did not read, in sentences
 * @returns that, or what was not read in time; none: all was read
 */
export async function within(
  forMs: number,
  what: string,
  reading: Promise<readonly string[]>,
): Promise<readonly string[]> {
  const up = Promise.withResolvers<readonly string[]>();
  const sentence = `${what}: not read to their end within ${forMs} ms (--read-for); what follows is not shown`;
  const timer = setTimeout(() => up.resolve([sentence]), forMs);
  try {
    return await Promise.race([reading, up.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** For those who list: what they listed may not be all, and an empty list says nothing. @throws CliFailure */
export function requireAllRead(cuts: readonly string[]): void {
  if (cuts.length > 0) throw new CliFailure('failed', cuts.map((cut) => `not read: ${cut}`).join('\n'));
}

/** For those who publish by what they read. @throws CliFailure */
export function requireNothingHidden(hidden: readonly string[]): void {
  if (hidden.length > 0) throw new CliFailure('failed', `not read: ${hidden.join('; ')}; nothing was sent`);
}
