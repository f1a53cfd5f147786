/** Topics as the commands read them: from the beginning to the end that they have now. */
import type { Config } from 'payment-processor-contract/config';
import { openTopicReader, type TopicReaderOptions } from 'payment-processor-client/internal/kafka/topic-reader';
import type { KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { cliKafka } from './context.ts';

type Settings = KafkaSettings & Pick<Config, 'TOPIC_PREFIX'>;
type Reading = Pick<TopicReaderOptions, 'topics' | 'laneOfKey' | 'newest' | 'onLeftOut' | 'onRecord'>;

/**
 * No signal ends it early: operators decide on what is read, so a part must not be taken for the whole.
 * @throws the Kafka client's error; an Error naming the topics that do not exist; what `onRecord` throws
 */
export async function readTopics(settings: Settings, reading: Reading): Promise<void> {
  const { done } = await beginReading(settings, reading);
  await done;
}

/** For callers with a limit of time. What fails once the reading has begun rejects `done`. @throws as `readTopics` */
export async function beginReading(settings: Settings, reading: Reading): Promise<{ readonly done: Promise<void> }> {
  const reader = await openTopicReader(cliKafka(settings), {
    ...reading,
    start: { from: 'beginning' },
    untilEnd: true,
    groupPrefix: `${settings.TOPIC_PREFIX}-cli`,
  });
  return { done: reader.ended.finally(() => reader.close()) };
}
