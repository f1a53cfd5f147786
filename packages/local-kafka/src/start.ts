/**
 * A real Kafka and a real schema registry on this machine, for trying and testing.
 *
 * Stages: check tools and options -> fill the cache -> choose ports -> start all processes at once -> all ready -> stopped.
 * If a stage fails, all processes end, and the directory stays for its logs. The engine owns its processes, and its directory
 * unless the caller gave one. However this process dies, the engine's processes die too (supervised-process.ts); the engine's
 * own directory then stays in the temporary folder.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installed } from './cache.ts';
import { makeClassArchive, type ArchivedServer } from './class-archive.ts';
import { EngineError } from './errors.ts';
import {
  newClusterId,
  prepareBroker,
  startBroker,
  type BrokerNode,
  type BrokerSecurity,
  type KafkaPlaces,
} from './kafka.ts';
import { kafkaPin } from './pins.ts';
import { freePort, LOOPBACK, PORT_MAX, requireFree } from './ports.ts';
import { brokerProbe } from './readiness.ts';
import { installRegistry } from './registry.ts';
import { Server, type ServerControl } from './server.ts';
import { findJava } from './tools.ts';

/** Five brokers take 2 GB; nothing here needs more than three. */
export const BROKERS_MAX = 5;

/** Time for a broker to hand over its leaderships. If the others are gone it cannot, and is killed. */
const STOP_MS_MAX = 15_000;

export interface EngineOptions {
  /** 1 (default) to 5. With 3 or more: replication factor 3, min.insync.replicas 2. */
  readonly brokers?: number;
  /** Port of the first broker; the others take the following ones. Free ones by default. */
  readonly kafkaPort?: number;
  /** A free one by default. */
  readonly registryPort?: number;
  /**
   * Data and logs; stop() keeps them, and the next start reuses them. Default: a new temporary directory, which stop()
   * removes.
   */
  readonly directory?: string;
  /** Only with one broker: additional listeners and access control. Default: none. */
  readonly security?: BrokerSecurity;
  /** Server settings of a broker that differ from those of the engine. Default: none. */
  readonly changesOf?: (node: BrokerNode) => Readonly<Record<string, string>>;
  /** Receives a line for each download, and when the engine is ready. */
  readonly onProgress?: (line: string) => void;
}

export interface Engine {
  /** Bootstrap addresses, host:port, one per broker. */
  readonly brokers: string[];
  /** Base of the registry's Confluent-compatible interface, no trailing slash. */
  readonly registryUrl: string;
  /** Data and logs. */
  readonly directory: string;
  readonly registry: ServerControl;
  /** @param index from 0, in the order of `brokers` */
  broker(index: number): ServerControl;
  /** Ends all processes. A second call waits for the first. */
  stop(): Promise<void>;
}

/**
 * @returns when Kafka and the registry answer
 * @throws {EngineError} with a code, and the remedy in its message
 */
export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const onProgress = options.onProgress ?? (() => undefined);
  const brokerCount = options.brokers ?? 1;
  checkOptions(options, brokerCount);
  const java = await findJava();
  // One after the other, because both use Maven's local repository.
  const jars = await installed(kafkaPin(), onProgress);
  await makeClassArchive(jars, archivedBroker({ java, jars }), onProgress);
  const registryProgram = await installRegistry(java, onProgress);
  const nodes = await chooseNodes(brokerCount, options.kafkaPort);
  const registryPort =
    options.registryPort === undefined
      ? await freePort()
      : await requireFree(options.registryPort, 'the schema registry');

  const isOwnDirectory = options.directory === undefined;
  const directory = isOwnDirectory
    ? await mkdtemp(join(tmpdir(), 'payment-processor-engine-'))
    : resolve(options.directory);
  await mkdir(join(directory, 'logs'), { recursive: true });
  const clusterId = await clusterIdOf(directory, brokerCount);

  const places: KafkaPlaces = { java, jars, directory };
  const url = registryProgram.url(registryPort);
  const registry = registryProgram.server(directory, registryPort);
  const brokers = nodes.map(
    (node) =>
      // After a restart other brokers may be down: a broker is ready when it is back itself.
      new Server(
        `Kafka broker ${node.nodeId}`,
        () => startBroker(places, node),
        brokerProbe(node.port, node.nodeId, 1),
      ),
  );
  const startBrokers = async (): Promise<void> => {
    const { changesOf, security = null } = options;
    await settleAll(nodes.map((node) => prepareBroker(places, node, nodes, clusterId, security, changesOf?.(node))));
    await settleAll(brokers.map((broker) => broker.start()));
    await settleAll(
      brokers.map((broker, index) => broker.waitUntil(brokerProbe(portOf(nodes, index), index + 1, brokerCount))),
    );
  };
  const startedAtMs = performance.now();
  try {
    await settleAll([registry.start(), startBrokers()]);
  } catch (error) {
    await Promise.all([registry.end(0), ...brokers.map((broker) => broker.end(0))]);
    throw error;
  }
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
  onProgress(
    `Kafka (${brokerCount === 1 ? '1 broker' : `${brokerCount} brokers`}) and the schema registry are ready after ${seconds} s; logs in ${join(directory, 'logs')}`,
  );

  let stopping: Promise<void> | undefined;
  const stopAll = async (): Promise<void> => {
    // Data that will not be read again needs no orderly shutdown.
    const graceMs = isOwnDirectory ? 0 : STOP_MS_MAX;
    await Promise.all([registry.end(graceMs), ...brokers.map((broker) => broker.end(graceMs))]);
    if (isOwnDirectory) await rm(directory, { recursive: true, force: true });
  };
  return {
    brokers: nodes.map((node) => `${LOOPBACK}:${node.port}`),
    registryUrl: url,
    directory,
    registry,
    broker(index) {
      const broker = brokers[index];
      if (broker === undefined)
        throw new EngineError('INVALID_OPTIONS', `There is no broker ${index}; there are ${brokerCount}, from 0.`);
      return broker;
    },
    stop: () => (stopping ??= stopAll()),
  };
}

function archivedBroker({ java, jars }: Pick<KafkaPlaces, 'java' | 'jars'>): ArchivedServer {
  return async (directory, flag) => {
    const places = { java, jars, directory };
    const node = { nodeId: 1, port: await freePort(), controllerPort: await freePort() };
    await prepareBroker(places, node, [node], newClusterId(), null);
    return new Server('Kafka', () => startBroker(places, node, [flag]), brokerProbe(node.port, node.nodeId, 1));
  };
}

function checkOptions(options: EngineOptions, brokerCount: number): void {
  if (!Number.isInteger(brokerCount) || brokerCount < 1 || brokerCount > BROKERS_MAX) {
    throw new EngineError('INVALID_OPTIONS', `The number of brokers must be a whole number from 1 to ${BROKERS_MAX}.`);
  }
  const portMax = { kafkaPort: PORT_MAX - brokerCount + 1, registryPort: PORT_MAX };
  for (const name of ['kafkaPort', 'registryPort'] as const) {
    const port = options[name];
    if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= portMax[name])) {
      throw new EngineError('INVALID_OPTIONS', `${name} must be a whole number from 1 to ${portMax[name]}.`);
    }
  }
  const { kafkaPort, registryPort } = options;
  if (kafkaPort !== undefined && registryPort !== undefined) {
    if (registryPort >= kafkaPort && registryPort < kafkaPort + brokerCount) {
      throw new EngineError('INVALID_OPTIONS', `registryPort ${registryPort} is also the port of a broker.`);
    }
  }
}

async function chooseNodes(brokerCount: number, firstPort: number | undefined): Promise<BrokerNode[]> {
  const nodes: BrokerNode[] = [];
  for (let nodeId = 1; nodeId <= brokerCount; nodeId += 1) {
    const port =
      firstPort === undefined ? await freePort() : await requireFree(firstPort + nodeId - 1, `Kafka broker ${nodeId}`);
    nodes.push({ nodeId, port, controllerPort: await freePort() });
  }
  return nodes;
}

/** A reused directory keeps its cluster, which must have the same number of brokers. */
async function clusterIdOf(directory: string, brokerCount: number): Promise<string> {
  const file = join(directory, 'cluster.json');
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) {
    const clusterId = newClusterId();
    await writeFile(file, `${JSON.stringify({ clusterId, brokers: brokerCount })}\n`);
    return clusterId;
  }
  const cluster = JSON.parse(text) as { clusterId: string; brokers: number };
  if (cluster.brokers !== brokerCount) {
    throw new EngineError(
      'INVALID_OPTIONS',
      `${directory} holds a cluster of ${cluster.brokers} brokers, not ${brokerCount}. Use that number, or another directory.`,
    );
  }
  return cluster.clusterId;
}

function portOf(nodes: readonly BrokerNode[], index: number): number {
  const node = nodes[index];
  if (node === undefined) throw new RangeError(`No node ${index}`);
  return node.port;
}

/** Like Promise.all, but it rejects only after all promises have settled. */
async function settleAll(promises: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(promises);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
