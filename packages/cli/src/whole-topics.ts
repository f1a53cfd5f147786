/** Topics as the commands read them: from the beginning to the end that they have now. */
import { openTopicReader, type TopicReaderOptions } from 'payment-processor-client/internal/kafka/topic-reader';
import { cliKafka, type CliSettings } from './context.ts';
import { CliFailure } from './exit-codes.ts';
import { heldText, readHeldBack } from './held-back.ts';

type Reading = Pick<TopicReaderOptions, 'topics' | 'laneOfKey' | 'newest' | 'onLeftOut' | 'onRecord'>;

/**
 * No signal ends it early: operators decide on what is read, so a part must not be taken for the whole.
 * @returns what an open transaction hides from it, in sentences
 * @throws the Kafka client's error; an Error naming the topics that do not exist; what `onRecord` throws
 */
export async function readTopics(settings: CliSettings, reading: Reading): Promise<readonly string[]> {
  const { done, hidden } = await beginReading(settings, reading);
  await done;
  return hidden;
}

/** For callers with a limit of time. What fails once the reading has begun rejects `done`. @throws as `readTopics` */
export async function beginReading(
  settings: CliSettings,
  reading: Reading,
): Promise<{ readonly done: Promise<void>; readonly hidden: readonly string[] }> {
  const kafka = cliKafka(settings);
  const held = await readHeldBack(kafka, reading.topics, reading.laneOfKey);
  const reader = await openTopicReader(kafka, {
    ...reading,
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
  });
  return { done: reader.ended.finally(() => reader.close()), hidden: held.map(heldText) };
}

/** For those who list: what they listed may not be all, and an empty list says nothing. @throws CliFailure */
export function requireAllRead(cuts: readonly string[]): void {
  if (cuts.length > 0) throw new CliFailure('failed', cuts.map((cut) => `not read: ${cut}`).join('\n'));
}

/** For those who publish by what they read. @throws CliFailure */
export function requireNothingHidden(hidden: readonly string[]): void {
  if (hidden.length > 0) throw new CliFailure('failed', `not read: ${hidden.join('; ')}; nothing was sent`);
}
