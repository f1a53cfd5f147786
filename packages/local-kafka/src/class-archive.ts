/**
 * The classes of a broker, parsed once and kept beside Kafka's jars: with them a start costs 1.8 s of processor time, not 2.9.
 * A JVM passes over an archive of another version or of other jars by itself, and starts as it would without.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { archiveOf, newClusterId, prepareBroker, startBroker, type KafkaPlaces } from './kafka.ts';
import { freePort } from './ports.ts';
import { brokerProbe } from './readiness.ts';
import { Server } from './server.ts';

/** A JVM writes its archive as it ends; on a busy machine that takes many seconds. */
const WRITTEN_MS_MAX = 120_000;

/** Makes the archive where there is none: starts a broker once, and ends it. Never rejects: no archive is needed. */
export async function makeClassArchive(
  { java, jars }: Pick<KafkaPlaces, 'java' | 'jars'>,
  onProgress: (line: string) => void,
): Promise<void> {
  const archive = archiveOf(jars);
  if (existsSync(archive)) return;
  onProgress('Preparing Kafka for faster starts; this is done once.');
  const directory = await mkdtemp(join(tmpdir(), 'payment-processor-classes-'));
  const unfinished = `${archive}.${process.pid}`;
  try {
    await mkdir(join(directory, 'logs'));
    const places = { java, jars, directory };
    const node = { nodeId: 1, port: await freePort(), controllerPort: await freePort() };
    await prepareBroker(places, node, [node], newClusterId(), null);
    const start = () => startBroker(places, node, [`-XX:ArchiveClassesAtExit=${unfinished}`]);
    const broker = new Server('Kafka broker', start, brokerProbe(node.port, node.nodeId, 1));
    await broker.start();
    await broker.end(WRITTEN_MS_MAX);
    await rename(unfinished, archive);
  } catch {
    // An empty one is passed over, too, and keeps every start from trying again.
    await writeFile(archive, '').catch(() => undefined);
  } finally {
    for (const path of [directory, unfinished]) await rm(path, { recursive: true, force: true });
  }
}
