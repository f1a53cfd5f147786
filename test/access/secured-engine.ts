/**
 * One broker for all tests of access: SASL PLAIN and SCRAM, TLS, and TLS with certificates of clients. Its plain listener is
 * the administrators'. Each test file has a user of its own, whose rights and password it may change.
 */
import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { installed } from 'payment-processor-local-kafka/cache';
import {
  newClusterId,
  prepareBroker,
  startBroker,
  type BrokerNode,
  type BrokerSecurity,
} from 'payment-processor-local-kafka/kafka';
import { kafkaPin } from 'payment-processor-local-kafka/pins';
import { freePort, LOOPBACK } from 'payment-processor-local-kafka/ports';
import { brokerProbe } from 'payment-processor-local-kafka/readiness';
import { Server } from 'payment-processor-local-kafka/server';
import { findJava } from 'payment-processor-local-kafka/tools';
import { makeCertificates, type Certificates } from './certificates.ts';

/** One for each test file. */
export const USERS = ['commands', 'door', 'password-change', 'rights', 'rotation', 'whole-roles'] as const;
export type User = (typeof USERS)[number];

/** Listeners by what they want; `gated` is SCRAM without TLS, so that a KafkaGate can stand before it. */
const DOORS = ['plain', 'scram', 'gated', 'ssl', 'mtls'] as const;
export type Door = (typeof DOORS)[number];

export interface SecuredEngine {
  /** The administrators' listener, host:port. */
  readonly brokers: string[];
  readonly ports: Readonly<Record<Door, number>>;
  readonly certificates: Certificates<User>;
  /** Of the broker; the authorizer logs there what it allows. */
  readonly logFile: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    secured: SecuredEngine;
  }
}

export function passwordOf(user: User): string {
  return `${user}-secret`;
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = mkdtempSync(join(tmpdir(), 'secured-kafka-'));
  mkdirSync(join(directory, 'logs'));
  const certificates = makeCertificates(directory, USERS);
  const ports = {} as Record<Door, number>;
  for (const door of DOORS) ports[door] = await freePort();
  const places = { java: await findJava(), jars: await installed(kafkaPin(), console.log), directory };
  const node: BrokerNode = { nodeId: 1, port: await freePort(), controllerPort: await freePort() };
  await prepareBroker(places, node, [node], newClusterId(), securityOf(ports, certificates));
  const broker = new Server('The secured broker', () => startBroker(places, node), brokerProbe(node.port, 1, 1));
  await broker.start();
  const logFile = join(directory, 'logs', 'broker-1.log');
  project.provide('secured', { brokers: [`${LOOPBACK}:${node.port}`], ports, certificates, logFile });
  return async () => {
    await broker.kill();
    rmSync(directory, { recursive: true, force: true });
  };
}

function securityOf(ports: Readonly<Record<Door, number>>, { broker, ca }: Certificates): BrokerSecurity {
  const login = 'org.apache.kafka.common.security';
  const scram = {
    'sasl.enabled.mechanisms': 'SCRAM-SHA-512',
    'scram-sha-512.sasl.jaas.config': `${login}.scram.ScramLoginModule required;`,
  };
  const plainUsers = USERS.map((user) => `user_${user}="${passwordOf(user)}"`).join(' ');
  return {
    listeners: [
      { name: 'SASLPLAIN', port: ports.plain, protocol: 'SASL_PLAINTEXT' },
      { name: 'SASLSCRAM', port: ports.scram, protocol: 'SASL_SSL' },
      { name: 'GATED', port: ports.gated, protocol: 'SASL_PLAINTEXT' },
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
      'listener.name.saslplain.plain.sasl.jaas.config': `${login}.plain.PlainLoginModule required ${plainUsers};`,
      ...ofListener('saslscram', scram),
      ...ofListener('gated', scram),
    },
    scramUsers: USERS.map((user) => `SCRAM-SHA-512=[name=${user},password=${passwordOf(user)}]`),
    logsAllowed: true,
  };
}

function ofListener(name: string, settings: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [`listener.name.${name}.${key}`, value]));
}
