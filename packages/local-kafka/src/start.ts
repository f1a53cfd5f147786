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
import { Server } from './server.ts';
import { findJava } from './tools.ts';

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
  readonly registry: Server;
  /** @param index from 0, in the order of `brokers` */
  broker(index: number): Server;
  /** Ends all processes. A second call waits for the first. */
  stop(): Promise<void>;
}

/**
 * @returns when Kafka and the registry answer
 * @throws {EngineError} with the remedy in its message
 */
export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const onProgress = options.onProgress ?? (() => undefined);
  const brokerCount = options.brokers ?? 1;
  checkPorts(options, brokerCount);
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
  const brokers = nodes.map((node) => {
    const seesAtLeast = (count: number) => brokerProbe(node.port, node.nodeId, count);
    // After a restart other brokers may be down: a broker is ready when it is back itself.
    const server = new Server(`Kafka broker ${node.nodeId}`, () => startBroker(places, node), seesAtLeast(1));
    return { server, seesAll: seesAtLeast(brokerCount) };
  });
  const startBrokers = async (): Promise<void> => {
    const { changesOf, security = null } = options;
    await settleAll(nodes.map((node) => prepareBroker(places, node, nodes, clusterId, security, changesOf?.(node))));
    await settleAll(brokers.map(({ server }) => server.start()));
    await settleAll(brokers.map(({ seesAll, server }) => server.waitUntil(seesAll)));
  };
  const startedAtMs = performance.now();
  try {
    await settleAll([registry.start(), startBrokers()]);
  } catch (error) {
    await Promise.all([registry.end(0), ...brokers.map(({ server }) => server.end(0))]);
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
    await Promise.all([registry.end(graceMs), ...brokers.map(({ server }) => server.end(graceMs))]);
    if (isOwnDirectory) await rm(directory, { recursive: true, force: true });
  };
  return {
    brokers: nodes.map((node) => `${LOOPBACK}:${node.port}`),
    registryUrl: url,
    directory,
    registry,
    broker(index) {
      const { server } = brokers[index] ?? {};
      if (server === undefined) throw new EngineError(`There is no broker ${index}; there are ${brokerCount}, from 0.`);
      return server;
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

function checkPorts({ kafkaPort, registryPort }: EngineOptions, brokerCount: number): void {
  if (kafkaPort === undefined) return;
  const last = kafkaPort + brokerCount - 1;
  if (last > PORT_MAX) throw new EngineError(`kafkaPort must be at most ${PORT_MAX - brokerCount + 1}.`);
  if (registryPort !== undefined && registryPort >= kafkaPort && registryPort <= last)
    throw new EngineError(`registryPort ${registryPort} is also the port of a broker.`);
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
      `${directory} holds a cluster of ${cluster.brokers} brokers, not ${brokerCount}. Use that number, or another directory.`,
    );
  }
  return cluster.clusterId;
}

/** Like Promise.all, but it rejects only after all promises have settled. */
async function settleAll(promises: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(promises);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
