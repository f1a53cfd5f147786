/**
 * Classifies an error of the Kafka client: Kafka does not answer, or it answers and refuses us. Pure.
 *
 * Only an operator can fix a refusal (authentication, certificate, authorization). An outage passes by itself.
 */
import { certificateRemedy, isCertificateFault, isTlsFault } from '../tls-failure.ts';
import type { KafkaSettings } from './kafka-client.ts';

export type KafkaFailure =
  /** Authentication failed, or the mechanism is not supported. */
  | { readonly kind: 'authentication'; readonly detail: string }
  /** We do not trust the broker's certificate. */
  | { readonly kind: 'broker-certificate'; readonly code: string; readonly detail: string }
  /** The broker does not trust our certificate, or we sent none. */
  | { readonly kind: 'client-certificate'; readonly code: string; readonly detail: string }
  /** The TLS handshake failed, or the port does not speak TLS. */
  | { readonly kind: 'tls'; readonly code: string; readonly detail: string }
  /** Authorization failed. The name is null if the broker's answer does not give it. */
  | {
      readonly kind: 'authorization';
      readonly resource: 'topic' | 'group' | 'transactional id' | 'cluster';
      readonly name: string | null;
      readonly detail: string;
    }
  /** No broker answers, or one that was asked does not: the error of the client is the same. */
  | { readonly kind: 'unreachable'; readonly detail: string }
  | { readonly kind: 'other'; readonly detail: string };

/** A failure that no retry solves. */
export type KafkaRefusal = Exclude<KafkaFailure, { kind: 'unreachable' | 'other' }>;

/** A chain of causes could be a ring. */
const CAUSES_MAX = 10;

const AUTHENTICATION: readonly unknown[] = [
  'SASL_AUTHENTICATION_FAILED',
  'ILLEGAL_SASL_STATE',
  'UNSUPPORTED_SASL_MECHANISM',
];
const AUTHORIZATION = {
  TOPIC_AUTHORIZATION_FAILED: 'topic',
  GROUP_AUTHORIZATION_FAILED: 'group',
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 'transactional id',
  CLUSTER_AUTHORIZATION_FAILED: 'cluster',
} as const;
/** TLS alerts of a broker that rejects our certificate. */
const CLIENT_CERTIFICATE =
  /^ERR_SSL_.*ALERT_(CERTIFICATE_REQUIRED|BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_UNKNOWN|CERTIFICATE_EXPIRED|CERTIFICATE_REVOKED|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)$/;
const CERTIFICATE_REMEDIES = {
  expired: 'the brokers need one that is valid now; also check the clocks',
  name: 'KAFKA_BROKERS and the advertised listeners must use names that it contains',
  authority: 'set KAFKA_SSL_CA_FILE to the certificate authority that signed it',
};
const UNREACHABLE = /^KafkaJS(Connection|BrokerNotFound|NoBrokerAvailable|RequestTimeout|LockTimeout|Timeout)/;

/** Classifies an error by the first of its causes that is conclusive; an aggregate error by its parts. */
export function kafkaFailure(error: unknown): KafkaFailure {
  let unreachable: KafkaFailure | null = null;
  for (const cause of causesOf(error)) {
    const found = failureIn(cause);
    if (found === null) continue;
    if (found.kind !== 'unreachable') return found;
    unreachable ??= found;
  }
  return unreachable ?? { kind: 'other', detail: textOf(error) };
}

/** The refusal, or null if waiting may help. */
export function kafkaRefusal(error: unknown): KafkaRefusal | null {
  const failure = kafkaFailure(error);
  return failure.kind === 'unreachable' || failure.kind === 'other' ? null : failure;
}

/** A sentence with the remedy: a setting to correct, or a right to grant. */
export function failureInWords(failure: KafkaFailure, settings: Pick<KafkaSettings, 'KAFKA_BROKERS'>): string {
  const where = `Kafka at ${settings.KAFKA_BROKERS.join(',')}`;
  switch (failure.kind) {
    case 'authentication':
      return `${where} rejected the login (${failure.detail}): check KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD`;
    case 'broker-certificate':
      return `the certificate of ${where} is not trusted (${failure.code}: ${failure.detail}): ${certificateRemedy(failure.code, CERTIFICATE_REMEDIES)}`;
    case 'client-certificate':
      return `${where} does not accept our certificate (${failure.code}): set KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE to one that its certificate authority has signed and that has not expired`;
    case 'tls':
      return `the TLS handshake with ${where} failed (${failure.code}): check the port, and KAFKA_SSL`;
    case 'authorization': {
      const named = failure.name === null ? `a ${failure.resource}` : `${failure.resource} ${failure.name}`;
      return `${where} does not allow us access to ${failure.resource === 'cluster' ? 'the cluster' : named} (${failure.detail}): grant the right that \`npm run cli -- doctor --rights --role ROLE\` names`;
    }
    case 'unreachable':
      return `${where}, or one of its brokers, does not answer (${failure.detail}): check that Kafka is running, and that KAFKA_BROKERS, KAFKA_SSL and KAFKA_SASL_MECHANISM fit its listeners`;
    case 'other':
      return `${where} refused a request (${failure.detail})`;
  }
}

function failureIn(error: Error): KafkaFailure | null {
  const { code, type } = error as { code?: unknown; type?: unknown };
  const detail = error.message;
  if (typeof type === 'string' && type in AUTHORIZATION) {
    const { resourceName, topic } = error as { resourceName?: unknown; topic?: unknown };
    const name = resourceName ?? topic;
    const resource = AUTHORIZATION[type as keyof typeof AUTHORIZATION];
    return { kind: 'authorization', resource, name: typeof name === 'string' ? name : null, detail: type };
  }
  if (AUTHENTICATION.includes(type) || error.name === 'KafkaJSSASLAuthenticationError')
    return { kind: 'authentication', detail };
  if (typeof code === 'string') {
    if (isCertificateFault(code)) return { kind: 'broker-certificate', code, detail };
    if (CLIENT_CERTIFICATE.test(code)) return { kind: 'client-certificate', code, detail };
    if (isTlsFault(code)) return { kind: 'tls', code, detail };
  }
  return UNREACHABLE.test(error.name) ? { kind: 'unreachable', detail } : null;
}

/** The error and its causes, nearest first. */
export function* causesOf(error: unknown): Generator<Error> {
  const waiting: unknown[] = [error];
  for (let seen = 0; seen < CAUSES_MAX && waiting.length > 0; seen += 1) {
    const current = waiting.shift();
    if (!(current instanceof Error)) continue;
    yield current;
    const { errors } = current as { errors?: unknown };
    waiting.push(current.cause, ...(Array.isArray(errors) ? (errors as unknown[]) : []));
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
