/**
 * A broker that asks who its clients are and what they may: SASL PLAIN and SCRAM, TLS, and TLS with certificates of clients.
 * Its plain listener is the administrator's, who gives and takes rights.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import kafkajs, { type AclEntry, type Admin } from 'kafkajs';
import { installed } from '../../dev/engine/cache.ts';
import { QUICK_START_FLAGS } from '../../dev/engine/jvm.ts';
import { KAFKA_PIN } from '../../dev/engine/pins.ts';
import { freePort, LOOPBACK } from '../../dev/engine/ports.ts';
import { startEngine, type Engine } from '../../dev/engine/start.ts';
import { findJava } from '../../dev/engine/tools.ts';
import { createKafka, LANE_RETRY } from '../../src/producers/kafka-client.ts';
import type { Right } from '../../src/records/rights.ts';
import { plainKafkaSettings } from '../support/kafka-settings.ts';
import { makeCertificates, type Certificates } from './certificates.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

export const USER = 'alice';
export const PASSWORD = 'alice-secret';
/** The principal of the client's certificate. */
export const CERTIFIED = 'CN=client';

export type Door = 'plain' | 'scram' | 'ssl' | 'mtls';

const OPERATIONS = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Create: AclOperationTypes.CREATE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
};
const RESOURCES = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
};

export class SecuredKafka {
  readonly engine: Engine;
  readonly certificates: Certificates;
  readonly admin: Admin;
  readonly #ports: Readonly<Record<Door, number>>;
  readonly #directory: string;

  private constructor(
    engine: Engine,
    certificates: Certificates,
    admin: Admin,
    ports: Record<Door, number>,
    directory: string,
  ) {
    this.engine = engine;
    this.certificates = certificates;
    this.admin = admin;
    this.#ports = ports;
    this.#directory = directory;
  }

  static async start(): Promise<SecuredKafka> {
    const directory = mkdtempSync(join(tmpdir(), 'secured-kafka-'));
    const certificates = makeCertificates(directory);
    const ports = { plain: await freePort(), scram: await freePort(), ssl: await freePort(), mtls: await freePort() };
    const engine = await startEngine({ security: security(ports, certificates) });
    const admin = createKafka(plainKafkaSettings(engine.brokers), 'test-administrator', { retry: LANE_RETRY }).admin();
    await admin.connect();
    return new SecuredKafka(engine, certificates, admin, ports, directory);
  }

  async stop(): Promise<void> {
    await this.admin.disconnect();
    await this.engine.stop();
    rmSync(this.#directory, { recursive: true });
  }

  /** Settings of one who comes in by a listener, with what it wants. */
  environment(door: Door, changed: Readonly<Record<string, string>> = {}): Record<string, string> {
    const { ca, client } = this.certificates;
    const tls = { KAFKA_SSL: 'true', KAFKA_SSL_CA_FILE: ca };
    const user = { KAFKA_SASL_USERNAME: USER, KAFKA_SASL_PASSWORD: PASSWORD };
    const wanted = {
      plain: { ...user, KAFKA_SASL_MECHANISM: 'plain' },
      scram: { ...tls, ...user, KAFKA_SASL_MECHANISM: 'scram-sha-512' },
      ssl: tls,
      mtls: { ...tls, KAFKA_SSL_CERT_FILE: client.cert, KAFKA_SSL_KEY_FILE: client.key },
    };
    return { KAFKA_BROKERS: `${LOOPBACK}:${this.#ports[door]}`, ...wanted[door], ...changed };
  }

  async grant(rights: readonly Right[], principal = `User:${USER}`): Promise<void> {
    await this.admin.createAcls({ acl: rights.map((right) => entryOf(right, principal)) });
  }

  async revoke(right: Right, principal = `User:${USER}`): Promise<void> {
    await this.admin.deleteAcls({ filters: [entryOf(right, principal)] });
  }

  /** Changes the user's password of SCRAM, as `kafka-configs.sh` does: kafkajs has no request for it. Open connections stay. */
  async setScramPassword(password: string): Promise<void> {
    const jars = await installed(KAFKA_PIN, () => undefined);
    await promisify(execFile)(await findJava(), [
      ...[...QUICK_START_FLAGS, '-cp', join(jars, '*'), 'kafka.admin.ConfigCommand'],
      ...['--bootstrap-server', this.engine.brokers.join(','), '--alter', '--entity-type', 'users'],
      ...['--entity-name', USER, '--add-config', `SCRAM-SHA-512=[password=${password}]`],
    ]);
  }

  /** Takes every right from everybody, or from one. */
  async revokeAll(principal?: string): Promise<void> {
    await this.admin.deleteAcls({
      filters: [
        {
          ...(principal === undefined ? {} : { principal }),
          resourceType: AclResourceTypes.ANY,
          resourcePatternType: ResourcePatternTypes.ANY,
          permissionType: AclPermissionTypes.ANY,
          operation: AclOperationTypes.ANY,
        },
      ],
    });
  }
}

function entryOf({ name, operation, pattern, resource }: Right, principal: string): AclEntry {
  return {
    resourceType: RESOURCES[resource],
    resourceName: name,
    resourcePatternType: pattern === 'literal' ? ResourcePatternTypes.LITERAL : ResourcePatternTypes.PREFIXED,
    principal,
    host: '*',
    operation: OPERATIONS[operation],
    permissionType: AclPermissionTypes.ALLOW,
  };
}

function security(
  ports: Readonly<Record<Door, number>>,
  { broker, ca }: Certificates,
): NonNullable<NonNullable<Parameters<typeof startEngine>[0]>['security']> {
  const login = 'org.apache.kafka.common.security';
  return {
    listeners: [
      { name: 'SASLPLAIN', port: ports.plain, protocol: 'SASL_PLAINTEXT' },
      { name: 'SASLSCRAM', port: ports.scram, protocol: 'SASL_SSL' },
      { name: 'ENCRYPTED', port: ports.ssl, protocol: 'SSL' },
      { name: 'CERTIFIED', port: ports.mtls, protocol: 'SSL' },
    ],
    properties: {
      'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
      'super.users': 'User:ANONYMOUS',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.location': broker,
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.location': ca,
      'listener.name.certified.ssl.client.auth': 'required',
      'listener.name.saslplain.sasl.enabled.mechanisms': 'PLAIN',
      'listener.name.saslplain.plain.sasl.jaas.config': `${login}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
      'listener.name.saslscram.sasl.enabled.mechanisms': 'SCRAM-SHA-512',
      'listener.name.saslscram.scram-sha-512.sasl.jaas.config': `${login}.scram.ScramLoginModule required;`,
    },
    scramUsers: [`SCRAM-SHA-512=[name=${USER},password=${PASSWORD}]`],
  };
}
