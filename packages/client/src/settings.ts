/** The settings that a publisher or subscriber needs; the same names and defaults as the processor's. */
import { readSomeSettings, type Config, type Environment } from 'payment-processor-contract/config';
import { KAFKA_SETTING_NAMES, type KafkaSettings } from 'payment-processor-contract/kafka/kafka-client';
import { RecordRegistry } from 'payment-processor-contract/registry';
import { recordOfTopic, topicNames } from 'payment-processor-contract/topics';
import { PaymentClientError } from './client-error.ts';

export const REGISTRY_SETTING_NAMES = [
  'SCHEMA_REGISTRY_URL',
  'SCHEMA_REGISTRY_USERNAME',
  'SCHEMA_REGISTRY_PASSWORD',
] as const;

/** Without a registry, commands are published as JSON. */
export type PublisherSettings = KafkaSettings &
  Pick<Config, 'TOPIC_PREFIX'> &
  Partial<Pick<Config, (typeof REGISTRY_SETTING_NAMES)[number]>>;

export const CLIENT_SETTING_NAMES = [...KAFKA_SETTING_NAMES, ...REGISTRY_SETTING_NAMES, 'TOPIC_PREFIX'] as const;

export type ClientSettings = Pick<Config, (typeof CLIENT_SETTING_NAMES)[number]>;

/**
 * @param environment such as `process.env`
 * @returns the settings, or every problem with them
 */
export function readClientSettings(
  environment: Environment,
): { ok: true; config: ClientSettings } | { ok: false; problems: string[] } {
  return readSomeSettings(environment, CLIENT_SETTING_NAMES);
}

/**
 * Like readClientSettings, for applications that only publish: SCHEMA_REGISTRY_URL is optional.
 * @param environment such as `process.env`
 */
export function readPublisherSettings(
  environment: Environment,
): { ok: true; config: PublisherSettings } | { ok: false; problems: string[] } {
  const hasRegistry = (environment['SCHEMA_REGISTRY_URL'] ?? '') !== '';
  if (hasRegistry) return readClientSettings(environment);
  return readSomeSettings(environment, [...KAFKA_SETTING_NAMES, 'TOPIC_PREFIX']);
}

/** Settings as plain options; each names its environment setting. Secrets are optional. */
export interface PlainSettings {
  /** `KAFKA_BROKERS` */
  brokers: readonly string[];
  /** `TOPIC_PREFIX` */
  topicPrefix?: string;
  /** `KAFKA_SSL`, and the files of certificates, `KAFKA_SSL_*_FILE` */
  ssl?: boolean | { caFile?: string; certFile?: string; keyFile?: string };
  /** `KAFKA_SASL_*` */
  sasl?: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string };
  /** `SCHEMA_REGISTRY_*`; without it, commands are published as JSON, and reading needs `format: 'json'`, the JSON copies. */
  schemaRegistry?: { url: string; username?: string; password?: string };
}

/**
 * It does not read the environment.
 * @throws PaymentClientError with every problem
 */
export function clientSettings({ brokers, sasl, schemaRegistry, ssl, topicPrefix }: PlainSettings): PublisherSettings {
  const files = typeof ssl === 'object' ? ssl : {};
  const given: Record<string, string | undefined> = {
    KAFKA_BROKERS: brokers.join(','),
    TOPIC_PREFIX: topicPrefix,
    KAFKA_SSL: ssl === undefined ? undefined : String(ssl !== false),
    KAFKA_SSL_CA_FILE: files.caFile,
    KAFKA_SSL_CERT_FILE: files.certFile,
    KAFKA_SSL_KEY_FILE: files.keyFile,
    KAFKA_SASL_MECHANISM: sasl?.mechanism,
    KAFKA_SASL_USERNAME: sasl?.username,
    KAFKA_SASL_PASSWORD: sasl?.password,
    SCHEMA_REGISTRY_URL: schemaRegistry?.url,
    SCHEMA_REGISTRY_USERNAME: schemaRegistry?.username,
    SCHEMA_REGISTRY_PASSWORD: schemaRegistry?.password,
  };
  const read = readPublisherSettings(given);
  if (read.ok) return read.config;
  const [first = ''] = read.problems;
  throw new PaymentClientError('INVALID_OPTION', read.problems.join('; '), { field: first.split(' ')[0] ?? '' });
}

/** Null: the settings name no registry. */
export function registryOf(settings: PublisherSettings): RecordRegistry | null {
  const { SCHEMA_REGISTRY_URL: url } = settings;
  return url === undefined ? null : registryAt(url, settings);
}

/** The codec of every topic under the prefix. */
export function createRegistry(settings: ClientSettings): RecordRegistry {
  return registryAt(settings.SCHEMA_REGISTRY_URL, settings);
}

function registryAt(url: string, settings: PublisherSettings): RecordRegistry {
  return new RecordRegistry({
    url,
    username: settings.SCHEMA_REGISTRY_USERNAME ?? null,
    // Read for each request: the file that holds it may change.
    get password() {
      return settings.SCHEMA_REGISTRY_PASSWORD ?? null;
    },
    records: recordOfTopic(topicNames(settings.TOPIC_PREFIX)),
  });
}
