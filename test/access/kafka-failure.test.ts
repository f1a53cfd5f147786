/** The meaning of the Kafka client's errors: refusals are distinguished from an outage, however deep they are wrapped. */
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { failureInWords, kafkaFailure, kafkaRefusal } from 'payment-processor-contract/kafka/kafka-failure';

const SETTINGS = { KAFKA_BROKERS: ['broker-1:9092'] };

const require = createRequire(import.meta.url);
const { errorCodes } = require('kafkajs/src/protocol/error') as { errorCodes: { type: string; message: string }[] };
type Made = new (problem: unknown, options?: object) => Error;
const { KafkaJSProtocolError, KafkaJSNonRetriableError, KafkaJSNumberOfRetriesExceeded, ...errors } =
  require('kafkajs/src/errors') as Record<string, Made> & {
    KafkaJSProtocolError: Made;
    KafkaJSNonRetriableError: Made;
    KafkaJSNumberOfRetriesExceeded: Made;
  };
const connection = (code: string): Error => {
  const ConnectionError = errors['KafkaJSConnectionError'] ?? Error;
  return new ConnectionError(`Connection error: ${code}`, { broker: 'broker-1:9092', code });
};
const protocol = (type: string): Error =>
  new KafkaJSProtocolError(errorCodes.find((code) => code.type === type) ?? type);
const retried = (error: Error): Error =>
  new KafkaJSNonRetriableError(new KafkaJSNumberOfRetriesExceeded(error, { cause: error }), { cause: error });

describe('a failure of Kafka', () => {
  test.each([
    ['TOPIC_AUTHORIZATION_FAILED', { kind: 'authorization', resource: 'topic', name: null }],
    ['GROUP_AUTHORIZATION_FAILED', { kind: 'authorization', resource: 'group', name: null }],
    ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', { kind: 'authorization', resource: 'transactional id', name: null }],
    ['CLUSTER_AUTHORIZATION_FAILED', { kind: 'authorization', resource: 'cluster', name: null }],
    ['SASL_AUTHENTICATION_FAILED', { kind: 'authentication' }],
    ['ILLEGAL_SASL_STATE', { kind: 'authentication' }],
    ['UNSUPPORTED_SASL_MECHANISM', { kind: 'authentication' }],
  ])('%s is a refusal, bare and wrapped', (type, wanted) => {
    expect(kafkaFailure(protocol(type))).toMatchObject(wanted);
    expect(kafkaRefusal(retried(protocol(type)))).toMatchObject(wanted);
    expect(kafkaRefusal(new AggregateError([new Error('another'), retried(protocol(type))]))).toMatchObject(wanted);
  });

  test.each([
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'broker-certificate', 'KAFKA_SSL_CA_FILE'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'broker-certificate', 'KAFKA_SSL_CA_FILE'],
    ['CERT_HAS_EXPIRED', 'broker-certificate', 'valid now'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'broker-certificate', 'KAFKA_BROKERS'],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'client-certificate', 'KAFKA_SSL_CERT_FILE'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls', 'KAFKA_SSL'],
  ])('%s is a %s, and says what to do', (code, kind, remedy) => {
    const failure = kafkaFailure(retried(connection(code)));
    expect(failure).toMatchObject({ kind, code });
    expect(failureInWords(failure, SETTINGS)).toContain(remedy);
  });

  test.each(['ECONNREFUSED', 'ETIMEDOUT', 'ENOTFOUND'])('%s is an outage, and no refusal', (code) => {
    expect(kafkaFailure(retried(connection(code))).kind).toBe('unreachable');
    expect(kafkaRefusal(retried(connection(code)))).toBeNull();
  });

  test('of one broker is not told of all: the others may answer', () => {
    const settings = { KAFKA_BROKERS: ['broker-1:9092', 'broker-2:9092'] };
    expect(failureInWords(kafkaFailure(retried(connection('ECONNREFUSED'))), settings)).toMatch(
      /^Kafka at broker-1:9092,broker-2:9092, or one of its brokers, does not answer \(.*ECONNREFUSED\): check/,
    );
  });

  test('names the resource that the broker named', () => {
    const error = Object.assign(protocol('GROUP_AUTHORIZATION_FAILED'), { resourceName: 'payments-cli-1' });
    expect(failureInWords(kafkaFailure(error), SETTINGS)).toMatch(
      /broker-1:9092.*group payments-cli-1.*doctor --rights/,
    );
  });

  test('of anything else keeps its words, and an error that is its own cause ends', () => {
    const ring = new Error('round and round');
    ring.cause = ring;
    expect(kafkaFailure(ring)).toEqual({ kind: 'other', detail: 'round and round' });
    expect(kafkaFailure('text')).toEqual({ kind: 'other', detail: 'text' });
  });
});
