/** The settings that a publisher or subscriber needs; the same names and defaults as the processor's. */
import { readSomeSettings, type Config, type Environment } from '../config.ts';
import { KAFKA_SETTING_NAMES, type KafkaSettings } from '../producers/kafka-client.ts';
import { RecordRegistry } from '../records/registry.ts';
import { recordOfTopic, topicNames } from '../records/topics.ts';

export type ClientSettings = KafkaSettings &
  Pick<Config, 'SCHEMA_REGISTRY_URL' | 'SCHEMA_REGISTRY_USERNAME' | 'SCHEMA_REGISTRY_PASSWORD' | 'TOPIC_PREFIX'>;

export const CLIENT_SETTING_NAMES = [
  ...KAFKA_SETTING_NAMES,
  'SCHEMA_REGISTRY_URL',
  'SCHEMA_REGISTRY_USERNAME',
  'SCHEMA_REGISTRY_PASSWORD',
  'TOPIC_PREFIX',
] as const;

/**
 * @param environment as `process.env`
 * @returns the settings, or every problem with them
 */
export function readClientSettings(
  environment: Environment,
): { ok: true; config: ClientSettings } | { ok: false; problems: string[] } {
  return readSomeSettings(environment, CLIENT_SETTING_NAMES);
}

/** The codec of every topic under the prefix. */
export function createRegistry(settings: ClientSettings): RecordRegistry {
  return new RecordRegistry({
    url: settings.SCHEMA_REGISTRY_URL,
    username: settings.SCHEMA_REGISTRY_USERNAME,
    password: settings.SCHEMA_REGISTRY_PASSWORD,
    records: recordOfTopic(topicNames(settings.TOPIC_PREFIX)),
  });
}
