/** The schema registry: Apicurio through its Confluent-compatible interface, or franz-go's srfake, which has only that. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installed } from './cache.ts';
import { makeClassArchive } from './class-archive.ts';
import { EngineError } from './errors.ts';
import { archiveFlags, QUICK_START_FLAGS } from './jvm.ts';
import { registryPin, type ApicurioPin } from './pins.ts';
import { freePort, LOOPBACK } from './ports.ts';
import { httpProbe } from './readiness.ts';
import { Server } from './server.ts';
import { startProcess, type SupervisedProcess } from './supervised-process.ts';

const TITLE = 'Schema registry';
const SRFAKE_SOURCE = fileURLToPath(new URL('../srfake', import.meta.url));
/** Long enough to compile Go's own packages on a busy machine. */
const BUILD_MS_MAX = 300_000;

export interface RegistryProgram {
  /** @returns the base URL for clients, without a trailing slash */
  url(port: number): string;
  /** A server that is not started yet. It owns `registry/` and `logs/registry.log` in the engine's directory. */
  server(directory: string, port: number): Server;
}

/** @throws {EngineError} if ENGINE_REGISTRY is wrong, Maven is missing, or the download fails */
export async function installRegistry(java: string, onProgress: (line: string) => void): Promise<RegistryProgram> {
  const pin = registryPin();
  if (pin === null) return srfake();
  const folder = await installed(pin, onProgress);
  const archivedRegistry = async (directory: string, flag: string): Promise<Server> =>
    apicurio(java, pin, folder, [flag]).server(directory, await freePort());
  await makeClassArchive(folder, archivedRegistry, onProgress);
  return apicurio(java, pin, folder, archiveFlags(folder));
}

/** Its database is a file: schema ids must survive a restart, because the messages that carry them do. */
function apicurio(java: string, pin: ApicurioPin, folder: string, flags: readonly string[]): RegistryProgram {
  const start = (directory: string, port: number): Promise<SupervisedProcess> =>
    startIn(directory, java, (home) => [
      '-Xmx256m',
      '-XX:+ExitOnOutOfMemoryError',
      ...QUICK_START_FLAGS,
      ...flags,
      `-Dquarkus.http.host=${LOOPBACK}`,
      `-Dquarkus.http.port=${port}`,
      `-D${pin.databaseSetting}=jdbc:h2:file:${join(home, 'database')}`,
      '-jar',
      join(folder, pin.jar),
    ]);
  return programOf((port) => `http://${LOOPBACK}:${port}/apis/ccompat/v7`, start);
}

/** In memory: a restart loses everything. */
function srfake(): RegistryProgram {
  const start = async (directory: string, port: number): Promise<SupervisedProcess> => {
    const program = join(directory, 'srfake');
    // Built at each start: Go's cache makes that fast.
    await promisify(execFile)('go', ['build', '-buildvcs=false', '-o', program, '.'], {
      cwd: SRFAKE_SOURCE,
      timeout: BUILD_MS_MAX,
    }).catch((cause: unknown) => {
      throw new EngineError('srfake could not be built with `go` (1.24 or later).', { cause });
    });
    return startIn(directory, program, () => [`${LOOPBACK}:${port}`]);
  };
  return programOf((port) => `http://${LOOPBACK}:${port}`, start);
}

function programOf(
  url: RegistryProgram['url'],
  start: (directory: string, port: number) => Promise<SupervisedProcess>,
): RegistryProgram {
  return {
    url,
    // It is ready when it lists its subjects.
    server: (directory, port) => new Server(TITLE, () => start(directory, port), httpProbe(`${url(port)}/subjects`)),
  };
}

async function startIn(
  directory: string,
  program: string,
  parameters: (home: string) => readonly string[],
): Promise<SupervisedProcess> {
  const home = join(directory, 'registry');
  await mkdir(home, { recursive: true });
  return startProcess({
    title: TITLE,
    program,
    arguments: parameters(home),
    logFile: join(directory, 'logs', 'registry.log'),
    workingDirectory: home,
  });
}
