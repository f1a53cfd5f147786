/** The broker with authentication and authorization, as one test file uses it: with a user of its own. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import kafkajs, { type AclEntry, type Admin } from 'kafkajs';
import { afterAll, beforeAll, inject } from 'vitest';
import { installed } from 'payment-processor-local-kafka/cache';
import { QUICK_START_FLAGS } from 'payment-processor-local-kafka/jvm';
import { kafkaPin } from 'payment-processor-local-kafka/pins';
import { LOOPBACK } from 'payment-processor-local-kafka/ports';
import { findJava } from 'payment-processor-local-kafka/tools';
import { createKafka, LANE_RETRY } from 'payment-processor-contract/kafka/kafka-client';
import { rightsOf, type Right, type Role } from 'payment-processor-contract/rights';
import { plainKafkaSettings } from '../support/kafka-settings.ts';
import type { Stack, StackOptions } from '../support/stack.ts';
import { useStack } from '../support/test-stack.ts';
import { eventually } from '../support/watch.ts';
import { passwordOf, type Door, type SecuredEngine, type User } from './secured-engine.ts';

export type { Door } from './secured-engine.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

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

const ANY_RIGHT = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
  operation: AclOperationTypes.ANY,
};

export class SecuredKafka {
  readonly user: User;
  readonly password: string;
  /** Of the user, by password. */
  readonly principal: string;
  /** Of the user's certificate. */
  readonly certified: string;
  readonly engine: SecuredEngine;
  readonly #admin: Admin;

  private constructor(user: User, engine: SecuredEngine, admin: Admin) {
    this.user = user;
    this.password = passwordOf(user);
    this.principal = `User:${user}`;
    this.certified = `User:CN=${user}`;
    this.engine = engine;
    this.#admin = admin;
  }

  static async open(user: User): Promise<SecuredKafka> {
    const engine = inject('secured');
    const admin = createKafka(plainKafkaSettings(engine.brokers), 'test-administrator', { retry: LANE_RETRY }).admin();
    await admin.connect();
    return new SecuredKafka(user, engine, admin);
  }

  async close(): Promise<void> {
    await this.#admin.disconnect();
  }

  /** Settings of one who comes in by a listener, with what it wants. */
  environment(door: Door, changed: Readonly<Record<string, string>> = {}): Record<string, string> {
    const { ca, clients } = this.engine.certificates;
    const tls = { KAFKA_SSL: 'true', KAFKA_SSL_CA_FILE: ca };
    const user = { KAFKA_SASL_USERNAME: this.user, KAFKA_SASL_PASSWORD: this.password };
    const own = clients[this.user];
    const wanted = {
      plain: { ...user, KAFKA_SASL_MECHANISM: 'plain' },
      scram: { ...tls, ...user, KAFKA_SASL_MECHANISM: 'scram-sha-512' },
      gated: { ...user, KAFKA_SASL_MECHANISM: 'scram-sha-512' },
      ssl: tls,
      mtls: { ...tls, KAFKA_SSL_CERT_FILE: own.cert, KAFKA_SSL_KEY_FILE: own.key },
    };
    return { KAFKA_BROKERS: this.address(door), ...wanted[door], ...changed };
  }

  /** host:port */
  address(door: Door): string {
    return `${LOOPBACK}:${this.engine.ports[door]}`;
  }

  async grant(rights: readonly Right[], principal = this.principal): Promise<void> {
    const entries = rights.map((right) => entryOf(right, principal));
    await this.#admin.createAcls({ acl: entries });
    await this.#inForce(principal, (held) => entries.every((entry) => held.has(nameOf(entry))));
  }

  async revoke(right: Right): Promise<void> {
    const entry = entryOf(right, this.principal);
    await this.#admin.deleteAcls({ filters: [entry] });
    await this.#inForce(this.principal, (held) => !held.has(nameOf(entry)));
  }

  /** Takes every right from the user, by whichever listener, or from one of the principals. */
  async revokeAll(principals = [this.principal, this.certified]): Promise<void> {
    for (const principal of principals) {
      await this.#admin.deleteAcls({ filters: [{ ...ANY_RIGHT, principal }] });
      await this.#inForce(principal, (held) => held.size === 0);
    }
  }

  /** The broker goes by a change a little after the administrator was answered. */
  async #inForce(principal: string, isRight: (held: ReadonlySet<string>) => boolean): Promise<void> {
    await eventually(
      async () => {
        const { resources } = await this.#admin.describeAcls({ ...ANY_RIGHT, principal });
        return new Set(resources.flatMap(({ acls, ...of }) => acls.map((acl) => nameOf({ ...of, ...acl }))));
      },
      isRight,
      `the rights of ${principal} to change`,
    );
  }

  /** Changes the user's password of SCRAM, as `kafka-configs.sh` does: kafkajs has no request for it. Open connections stay. */
  async setScramPassword(password: string): Promise<void> {
    const jars = await installed(kafkaPin(), () => undefined);
    await promisify(execFile)(await findJava(), [
      ...[...QUICK_START_FLAGS, '-cp', join(jars, '*'), 'kafka.admin.ConfigCommand'],
      ...['--bootstrap-server', this.engine.brokers.join(','), '--alter', '--entity-type', 'users'],
      ...['--entity-name', this.user, '--add-config', `SCRAM-SHA-512=[password=${password}]`],
    ]);
  }
}

/** The broker, and a stack on it, for the tests of one file. */
export function useSecured(
  user: User,
  options: Pick<StackOptions, 'sandbox' | 'settings'> = {},
): { secured: () => SecuredKafka; stack: () => Stack } {
  const stack = useStack({ name: user, ...options }, () => ({
    kafkaBrokers: inject('secured').brokers,
    schemaRegistryUrl: inject('schemaRegistryUrl'),
  }));
  let secured: SecuredKafka | null = null;
  beforeAll(async () => {
    secured = await SecuredKafka.open(user);
  });
  afterAll(() => secured?.close());
  return {
    stack,
    secured: () => {
      if (secured === null) throw new Error('the broker is not open yet');
      return secured;
    },
  };
}

export function rightsOfRoles({ environment }: Stack, ...roles: readonly Role[]): Right[] {
  const { KAFKA_GROUP_ID = '', TOPIC_PREFIX = '' } = environment;
  return roles.flatMap((role) => rightsOf(role, { TOPIC_PREFIX, KAFKA_GROUP_ID, SANDBOX_COMMANDS: true }));
}

type Entry = Pick<AclEntry, 'resourceType' | 'resourceName' | 'resourcePatternType' | 'operation'>;

function nameOf({ operation, resourceName, resourcePatternType, resourceType }: Entry): string {
  return `${resourceType} ${resourceName} ${resourcePatternType} ${operation}`;
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
