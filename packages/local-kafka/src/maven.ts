/** Fetches a pin's files with the user's own Maven (its settings, mirrors and proxies apply). */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EngineError } from './errors.ts';
import { DEPENDENCY_PLUGIN, type MavenPin } from './pins.ts';
import { logTail, startProcess } from './supervised-process.ts';
import { findMaven } from './tools.ts';

/** Long enough for a slow line; a longer download is probably stuck. */
const DOWNLOAD_MS_MAX = 20 * 60_000;

/** Interval of the progress line. */
const PROGRESS_INTERVAL_MS = 5_000;

const UNPACK_MS_MAX = 120_000;

/**
 * Puts a pin's jars with their dependencies, or its unpacked archive, into a folder.
 * @param logFile Maven's log of this download only
 * @throws {EngineError}
 */
export async function download(
  pin: MavenPin,
  folder: string,
  logFile: string,
  onProgress: (line: string) => void,
): Promise<void> {
  const maven = await findMaven(pin.title);
  await rm(logFile, { force: true });
  const run = (goal: readonly string[]): Promise<void> => runMaven({ maven, goal, pin, folder, logFile, onProgress });
  switch (pin.kind) {
    case 'jars': {
      await writeFile(join(folder, 'pom.xml'), projectOf(pin.coordinates));
      const goal = [`${DEPENDENCY_PLUGIN}:copy-dependencies`, `-DoutputDirectory=${folder}`, '-DincludeScope=runtime'];
      await run(goal);
      return;
    }
    case 'archive': {
      // The plugin only copies, because it truncates long file names when it unpacks.
      const archives = join(folder, 'archive');
      await mkdir(archives);
      for (const coordinate of pin.coordinates) {
        const goal = [`${DEPENDENCY_PLUGIN}:copy`, `-Dartifact=${coordinate}`, `-DoutputDirectory=${archives}`];
        await run(goal);
      }
      for (const archive of await readdir(archives)) await unpack(join(archives, archive), folder, pin);
      await rm(archives, { recursive: true });
      return;
    }
  }
}

function projectOf(coordinates: readonly string[]): string {
  const dependencies = coordinates.map((coordinate) => {
    const [group = '', artifact = '', version = ''] = coordinate.split(':');
    return `    <dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  });
  return [
    '<project xmlns="http://maven.apache.org/POM/4.0.0">',
    '  <modelVersion>4.0.0</modelVersion>',
    '  <groupId>payment-processor</groupId><artifactId>engine</artifactId><version>1</version><packaging>pom</packaging>',
    '  <dependencies>',
    ...dependencies,
    '  </dependencies>',
    '</project>',
    '',
  ].join('\n');
}

interface MavenRun {
  readonly maven: string;
  readonly goal: readonly string[];
  readonly pin: MavenPin;
  readonly folder: string;
  readonly logFile: string;
  readonly onProgress: (line: string) => void;
}

async function runMaven({ maven, goal, pin, folder, logFile, onProgress }: MavenRun): Promise<void> {
  const startedAtMs = performance.now();
  const mavenProcess = await startProcess({
    title: 'Maven',
    program: maven,
    arguments: ['--batch-mode', ...goal],
    logFile,
    workingDirectory: folder,
  });
  const progress = setInterval(() => {
    void lastDownloaded(logFile).then(({ count, name }) => {
      const seconds = Math.round((performance.now() - startedAtMs) / 1000);
      if (!mavenProcess.hasEnded()) onProgress(`  ${pin.title}: ${count} files so far${name}, ${seconds} s`);
    });
  }, PROGRESS_INTERVAL_MS);
  const deadline = setTimeout(() => mavenProcess.signal('SIGKILL'), DOWNLOAD_MS_MAX);
  const code = await mavenProcess.ended;
  clearInterval(progress);
  clearTimeout(deadline);
  if (code === 0) return;
  const cause = performance.now() - startedAtMs >= DOWNLOAD_MS_MAX ? 'took too long' : `ended with code ${code}`;
  throw new EngineError(
    `${pin.title} could not be downloaded: Maven ${cause}. Check the network connection and Maven's settings ` +
      `(mirrors, proxy), then start again. Its log is ${logFile}; the last lines:\n${await logTail(logFile)}`,
  );
}

async function lastDownloaded(logFile: string): Promise<{ count: number; name: string }> {
  const text = await readFile(logFile, 'utf8').catch(() => '');
  const files = [...text.matchAll(/Downloaded from [^\n]*\/([^/\s]+) \(/g)];
  const last = files.at(-1)?.[1];
  return { count: files.length, name: last === undefined ? '' : ` (last: ${last})` };
}

async function unpack(archive: string, folder: string, pin: MavenPin): Promise<void> {
  await promisify(execFile)('tar', ['-xzf', archive, '-C', folder], { timeout: UNPACK_MS_MAX }).catch(
    (cause: unknown) => {
      throw new EngineError(`${pin.title} could not be unpacked with \`tar\`.`, { cause });
    },
  );
}
