/**
 * Makes kafkajs clients from the settings. In the processor each consumer and producer has a client of its own: kafkajs
 * shares its offset cache and its connections within a client, and a dropped connection must not harm others.
 */
import type tls from 'node:tls';
import kafkajs, { type Kafka, type KafkaConfig, type SASLOptions } from 'kafkajs';
import type { Config } from '../config.ts';
import { WatchedFile } from '../watched-file.ts';
import type { KafkaLog } from './kafka-log.ts';
import { kafkaLogEvent } from './kafka-log.ts';

const { logLevel } = kafkajs;

/** The settings that a tool needs to reach Kafka. */
export const KAFKA_SETTING_NAMES = [
  'KAFKA_BROKERS',
  'KAFKA_SSL',
  'KAFKA_SSL_CA_FILE',
  'KAFKA_SSL_CERT_FILE',
  'KAFKA_SSL_KEY_FILE',
  'KAFKA_SASL_MECHANISM',
  'KAFKA_SASL_USERNAME',
  'KAFKA_SASL_PASSWORD',
] as const;

export type KafkaSettings = Pick<Config, (typeof KAFKA_SETTING_NAMES)[number]>;

/** Longest wait for a TCP connection. */
const CONNECTION_TIMEOUT_MS = 3_000;
/** Longest wait for a broker's answer; a lane's commits and produces take far less. */
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * For a producer's connections, metadata and coordinators. The producer retries until its deadline, and finds a moved leader
 * within milliseconds.
 */
export const LANE_RETRY = { initialRetryTime: 3, maxRetryTime: 500, retries: 15, factor: 0.2, multiplier: 1.6 };
/**
 * For running consumers. kafkajs retries a lost coordinator until the retries are used up, and finds the new one only when it
 * then restarts the consumer: after about a second, not half a minute.
 */
export const CONSUMER_RETRY = { initialRetryTime: 50, maxRetryTime: 400, retries: 5, factor: 0.2, multiplier: 1.6 };
/**
 * A leader that is cut off from the other brokers answers consumers without an error, and without new records. So
 * consumers refresh the metadata this often: any other broker names the current leaders.
 */
export const CONSUMER_METADATA_MS_MAX = 15_000;
/** For connecting, and for tools: an error surfaces after about half a minute. */
export const PATIENT_RETRY = { initialRetryTime: 50, maxRetryTime: 2_000, retries: 20, factor: 0.2, multiplier: 1.6 };

/** A kafkajs client; `name` identifies its connections in the broker's logs. */
export function createKafka(
  settings: KafkaSettings,
  name: string,
  options: { retry: typeof LANE_RETRY; log?: KafkaLog },
): Kafka {
  process.env['KAFKAJS_NO_PARTITIONER_WARNING'] = '1';
  const config: KafkaConfig = {
    clientId: name,
    brokers: settings.KAFKA_BROKERS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    retry: options.retry,
    logLevel: options.log === undefined ? logLevel.NOTHING : logLevel.WARN,
  };
  const { log } = options;
  if (log !== undefined) {
    config.logCreator = () => (entry) => log(kafkaLogEvent(entry, name));
  }
  if (settings.KAFKA_SSL) config.ssl = tlsOptions(settings);
  if (settings.KAFKA_SASL_MECHANISM !== null) {
    config.sasl = {
      mechanism: settings.KAFKA_SASL_MECHANISM,
      username: settings.KAFKA_SASL_USERNAME ?? '',
      // kafkajs reads it at each authentication: a changed password applies from the next connection on.
      get password() {
        return settings.KAFKA_SASL_PASSWORD ?? '';
      },
    } as SASLOptions;
  }
  return new kafkajs.Kafka(config);
}

/** kafkajs copies these for each connection: a changed file applies from the next one on. */
function tlsOptions(settings: KafkaSettings): tls.ConnectionOptions {
  const options: tls.ConnectionOptions = {};
  const files = {
    ca: settings.KAFKA_SSL_CA_FILE,
    cert: settings.KAFKA_SSL_CERT_FILE,
    key: settings.KAFKA_SSL_KEY_FILE,
  };
  for (const [name, path] of Object.entries(files)) {
    if (path === null) continue;
    const file = new WatchedFile(path);
    Object.defineProperty(options, name, { enumerable: true, get: () => file.text() });
  }
  return options;
}
