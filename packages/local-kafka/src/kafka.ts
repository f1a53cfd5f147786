/**
 * Kafka brokers in KRaft mode; each is also a controller.
 *
 * Stages of a broker: storage formatted (once per directory) -> started -> ready (it and all earlier ones answer) -> ended.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from './errors.ts';
import { archiveFlags, QUICK_START_FLAGS } from './jvm.ts';
import { LOOPBACK } from './ports.ts';
import { logTail, startProcess, type SupervisedProcess } from './supervised-process.ts';

/** Formatting takes one JVM start: several seconds on a loaded machine. */
const FORMAT_MS_MAX = 60_000;

/** As in production: more brokers only spread the partitions. */
const REPLICATION_FACTOR_MAX = 3;

/** The first use of an internal topic creates all its partitions; the default of 50 makes that slow. */
const INTERNAL_TOPIC_PARTITIONS = 8;

/**
 * How long a dead broker stays registered; failover and its restart wait for this. The default is 9 s. Long enough that a
 * starved machine does not lose a live broker.
 */
const BROKER_SESSION_TIMEOUT_MS = 4_000;
const BROKER_HEARTBEAT_INTERVAL_MS = 500;

const MESSAGE_BYTES_MAX = 12 * 1024 * 1024;

export interface BrokerNode {
  /** From 1. */
  readonly nodeId: number;
  readonly port: number;
  readonly controllerPort: number;
}

/** A listener with authentication and authorization, in addition to the plain one that the engine itself uses. */
export interface BrokerSecurity {
  readonly listeners: readonly {
    readonly name: string;
    readonly port: number;
    readonly protocol: 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL';
  }[];
  /** Server settings: certificates, authentication, the authorizer. */
  readonly properties: Readonly<Record<string, string>>;
  /** Users to create with the storage, in the format of Kafka's formatting tool: `SCRAM-SHA-512=[name=...,password=...]`. */
  readonly scramUsers: readonly string[];
  /** Also logs allowed operations, many lines a second: tests find unused rights in it. */
  readonly logsAllowed: boolean;
}

/** The server settings of one broker of a cluster. */
function brokerProperties(
  node: BrokerNode,
  cluster: readonly BrokerNode[],
  dataDirectory: string,
  security: BrokerSecurity | null,
): Record<string, string | number> {
  const secured = security?.listeners ?? [];
  const addresses = secured.map(({ name, port }) => `,${name}://${LOOPBACK}:${port}`).join('');
  const replicationFactor = Math.min(cluster.length, REPLICATION_FACTOR_MAX);
  const minInsyncReplicas = Math.max(1, replicationFactor - 1);
  return {
    'process.roles': 'broker,controller',
    'node.id': node.nodeId,
    listeners: `BROKER://${LOOPBACK}:${node.port},CONTROLLER://${LOOPBACK}:${node.controllerPort}${addresses}`,
    'advertised.listeners': `BROKER://${LOOPBACK}:${node.port}${addresses}`,
    'listener.security.protocol.map': [
      'BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT',
      ...secured.map(({ name, protocol }) => `${name}:${protocol}`),
    ].join(','),
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'controller.quorum.voters': cluster.map((voter) => `${voter.nodeId}@${LOOPBACK}:${voter.controllerPort}`).join(','),
    'broker.session.timeout.ms': BROKER_SESSION_TIMEOUT_MS,
    'broker.heartbeat.interval.ms': BROKER_HEARTBEAT_INTERVAL_MS,
    'log.dirs': dataDirectory,
    'auto.create.topics.enable': 'false',
    'default.replication.factor': replicationFactor,
    'min.insync.replicas': minInsyncReplicas,
    'offsets.topic.replication.factor': replicationFactor,
    'offsets.topic.num.partitions': INTERNAL_TOPIC_PARTITIONS,
    'transaction.state.log.replication.factor': replicationFactor,
    'transaction.state.log.min.isr': minInsyncReplicas,
    'transaction.state.log.num.partitions': INTERNAL_TOPIC_PARTITIONS,
    // Test groups must not wait for members that never come.
    'group.initial.rebalance.delay.ms': 0,
    // Tests of lost members need short sessions.
    'group.min.session.timeout.ms': 1000,
    // An abandoned transaction should end soon after its timeout, not up to 10 s later.
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': 1000,
    'message.max.bytes': MESSAGE_BYTES_MAX,
    'replica.fetch.max.bytes': MESSAGE_BYTES_MAX,
    // The default reserves 128 MB of the heap at the start.
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
    ...security?.properties,
  };
}

const LOGGING = [
  // Without it the log ends when the broker's shutdown begins.
  'shutdownHook=disable',
  'rootLogger.level=INFO',
  'rootLogger.appenderRef.console.ref=console',
  'appender.console.type=Console',
  'appender.console.name=console',
  'appender.console.layout.type=PatternLayout',
  'appender.console.layout.pattern=[%d] %p %m (%c)%n',
  '',
].join('\n');
const LOGGING_OF_RIGHTS = ['logger.authorizer.name=kafka.authorizer.logger', 'logger.authorizer.level=DEBUG', ''].join(
  '\n',
);

export interface KafkaPlaces {
  readonly java: string;
  /** Folder of Kafka's jars. */
  readonly jars: string;
  /** The engine's directory; broker i owns `broker-<i>/` and `logs/broker-<i>.log` in it. */
  readonly directory: string;
}

/** 16 random bytes in Kafka's id format. An id that starts with a dash would look like a flag. */
export function newClusterId(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, 'A');
}

/**
 * Writes a broker's settings and formats its storage, unless it is formatted.
 * @throws {EngineError} if Kafka refuses to format
 */
export async function prepareBroker(
  places: KafkaPlaces,
  node: BrokerNode,
  cluster: readonly BrokerNode[],
  clusterId: string,
  security: BrokerSecurity | null,
  changes: Readonly<Record<string, string>> = {},
): Promise<void> {
  const home = brokerHome(places, node);
  const data = join(home, 'data');
  await mkdir(data, { recursive: true });
  const properties = Object.entries({ ...brokerProperties(node, cluster, data, security), ...changes }).map(
    ([name, value]) => `${name}=${value}`,
  );
  await writeFile(join(home, 'server.properties'), `${properties.join('\n')}\n`);
  await writeFile(
    join(home, 'log4j2.properties'),
    security?.logsAllowed === true ? LOGGING + LOGGING_OF_RIGHTS : LOGGING,
  );
  const isFormatted = await stat(join(data, 'meta.properties')).then(
    () => true,
    () => false,
  );
  if (isFormatted) return;
  const format = await startProcess({
    title: `Formatting of Kafka broker ${node.nodeId}`,
    program: places.java,
    arguments: [
      ...javaArguments(places, home),
      'kafka.tools.StorageTool',
      'format',
      `--cluster-id=${clusterId}`,
      '--config',
      join(home, 'server.properties'),
      ...(security?.scramUsers ?? []).flatMap((user) => ['--add-scram', user]),
    ],
    logFile: logFile(places, node),
    workingDirectory: home,
  });
  const deadline = setTimeout(() => format.signal('SIGKILL'), FORMAT_MS_MAX);
  const code = await format.ended;
  clearTimeout(deadline);
  if (code === 0) return;
  throw new EngineError(
    `The storage of Kafka broker ${node.nodeId} in ${data} could not be formatted (code ${code}). ` +
      `The log is ${format.logFile}; the last lines:\n${await logTail(format.logFile)}`,
  );
}

/** Starts a prepared broker; it is not ready yet. @param flags further JVM flags */
export async function startBroker(
  places: KafkaPlaces,
  node: BrokerNode,
  flags: readonly string[] = [],
): Promise<SupervisedProcess> {
  const home = brokerHome(places, node);
  return startProcess({
    title: `Kafka broker ${node.nodeId}`,
    program: places.java,
    arguments: [
      '-Xmx512m',
      '-XX:+ExitOnOutOfMemoryError',
      ...flags,
      ...javaArguments(places, home),
      'kafka.Kafka',
      join(home, 'server.properties'),
    ],
    logFile: logFile(places, node),
    workingDirectory: home,
  });
}

function brokerHome(places: KafkaPlaces, node: BrokerNode): string {
  return join(places.directory, `broker-${node.nodeId}`);
}

function logFile(places: KafkaPlaces, node: BrokerNode): string {
  return join(places.directory, 'logs', `broker-${node.nodeId}.log`);
}

function javaArguments(places: KafkaPlaces, home: string): string[] {
  return [
    ...QUICK_START_FLAGS,
    ...archiveFlags(places.jars),
    `-Dlog4j2.configurationFile=${join(home, 'log4j2.properties')}`,
    '-cp',
    join(places.jars, '*'),
  ];
}
