/** Kafka settings for tests against brokers without access control. */
import { readSomeSettings } from 'payment-processor-contract/config';
import { KAFKA_SETTING_NAMES, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';

/** Neither TLS nor authentication; everything else is the default. */
export function plainKafkaSettings(brokers: readonly string[]): KafkaSettings {
  const read = readSomeSettings({ KAFKA_BROKERS: brokers.join(',') }, KAFKA_SETTING_NAMES);
  if (!read.ok) throw new Error(read.problems.join('; '));
  return read.config;
}
