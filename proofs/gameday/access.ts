/**
 * The brokers' second listener, which requires authentication, as the processors and their command line or as an
 * administrator. A resource without ACLs is open to everyone; its first ACL closes it to all others.
 */
import type { BrokerSecurity } from 'payment-processor-local-kafka/kafka';
import { LOOPBACK } from 'payment-processor-local-kafka/ports';

const PROCESSOR = 'processor';
const ADMINISTRATOR = 'administrator';
const LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';

function passwordOf(user: string): string {
  return `${user}-secret`;
}

export function securityAt(port: number): BrokerSecurity {
  const users = [PROCESSOR, ADMINISTRATOR].map((user) => `user_${user}="${passwordOf(user)}"`);
  return {
    listeners: [{ name: 'NAMED', port, protocol: 'SASL_PLAINTEXT' }],
    properties: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'allow.everyone.if.no.acl.found': 'true',
      'super.users': `User:ANONYMOUS;User:${ADMINISTRATOR}`,
      'listener.name.named.sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.named.plain.sasl.jaas.config': `${LOGIN} ${users.join(' ')};`,
    },
    scramUsers: [],
    logsAllowed: false,
  };
}

/** Settings of a processor that connects there. */
export function processorAt(port: number): Record<string, string> {
  return {
    KAFKA_BROKERS: `${LOOPBACK}:${port}`,
    KAFKA_SASL_MECHANISM: 'plain',
    KAFKA_SASL_USERNAME: PROCESSOR,
    KAFKA_SASL_PASSWORD: passwordOf(PROCESSOR),
  };
}

/** For Kafka's own tools. */
export const ADMIN_PROPERTIES = [
  'security.protocol=SASL_PLAINTEXT',
  'sasl.mechanism=PLAIN',
  `sasl.jaas.config=${LOGIN} username="${ADMINISTRATOR}" password="${passwordOf(ADMINISTRATOR)}";`,
].join('\n');
