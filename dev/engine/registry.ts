/** The schema registry: Apicurio, spoken to through its Confluent-compatible interface. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { QUICK_START_FLAGS } from './jvm.ts';
import { REGISTRY_JAR } from './pins.ts';
import { LOOPBACK } from './ports.ts';
import { startProcess, type SupervisedProcess } from './supervised-process.ts';

/** @returns the base URL that clients are given, without a trailing slash */
export function registryUrl(port: number): string {
  return `http://${LOOPBACK}:${port}/apis/ccompat/v7`;
}

/**
 * Starts the registry; it is not ready yet. Its database is a file, so that schema ids outlive a restart as the
 * messages that carry them do.
 * @param folder where the registry was unpacked
 * @param directory the engine's directory; the registry owns `registry/` and `logs/registry.log` in it
 */
export async function startRegistry(
  java: string,
  folder: string,
  directory: string,
  port: number,
): Promise<SupervisedProcess> {
  const home = join(directory, 'registry');
  await mkdir(home, { recursive: true });
  return startProcess({
    title: 'Schema registry',
    program: java,
    arguments: [
      '-Xmx256m',
      '-XX:+ExitOnOutOfMemoryError',
      ...QUICK_START_FLAGS,
      `-Dquarkus.http.host=${LOOPBACK}`,
      `-Dquarkus.http.port=${port}`,
      `-Dapicurio.datasource.url=jdbc:h2:file:${join(home, 'database')}`,
      '-jar',
      join(folder, REGISTRY_JAR),
    ],
    logFile: join(directory, 'logs', 'registry.log'),
    workingDirectory: home,
  });
}
