/**
 * The cache of downloads, outside the checkout: one folder per pin, complete or absent.
 *
 * Stages of an installation: look for the complete folder -> lock -> look again -> download into a private folder -> write
 * the completion marker -> rename. The rename makes it safe; the lock only avoids a second download, and two Mavens in one
 * local repository. So it is safe to break a dead holder's lock, and to have two holders at once, as in two containers
 * that share a cache.
 */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineError } from './errors.ts';
import { download } from './maven.ts';
import type { MavenPin } from './pins.ts';

const MARKER = 'complete.json';

/** Time for two downloads over a slow line, ours and the one we wait for: 155 MB at 2 Mbit/s takes ten minutes. */
const LOCK_WAIT_MS_MAX = 30 * 60_000;
const LOCK_POLL_MS = 200;

/** No download runs this long. */
const LEFTOVER_AGE_MS_MIN = 2 * 60 * 60_000;

/** A lock file without a process id was just created, or its writer died at that moment. */
const EMPTY_LOCK_AGE_MS_MAX = 5_000;

/** `$PAYMENT_PROCESSOR_CACHE`, or `~/.cache/payment-processor`. */
function cacheDirectory(): string {
  const given = process.env.PAYMENT_PROCESSOR_CACHE ?? '';
  return given === '' ? join(homedir(), '.cache', 'payment-processor') : given;
}

/**
 * @param onProgress receives a line for each download or wait, none for a complete folder
 * @returns the folder that holds the pin's files
 * @throws {EngineError}
 */
export async function installed(pin: MavenPin, onProgress: (line: string) => void): Promise<string> {
  const cache = cacheDirectory();
  const digest = createHash('sha256').update(pin.coordinates.join('\n')).digest('hex').slice(0, 8);
  const folder = join(cache, `${pin.folder}-${digest}`);
  if (await isComplete(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const lockFile = `${folder}.lock`;
  await lock(lockFile, pin, onProgress);
  try {
    if (await isComplete(folder)) return folder;
    await removeLeftovers(cache, folder);
    onProgress(
      `Downloading ${pin.title} (${pin.coordinates.join(', ')}; about ${pin.downloadMegabytes} MB) from Maven Central. ` +
        `It is kept in ${folder} for the next time.`,
    );
    await downloadTo(folder, pin, onProgress);
    onProgress(`${pin.title} is ready to use.`);
    return folder;
  } finally {
    await rm(lockFile, { force: true });
  }
}

async function downloadTo(folder: string, pin: MavenPin, onProgress: (line: string) => void): Promise<void> {
  const unfinished = await mkdtemp(unfinishedPrefix(folder));
  try {
    await download(pin, unfinished, `${folder}.maven.log`, onProgress);
    await writeFile(join(unfinished, MARKER), `${JSON.stringify({ coordinates: pin.coordinates }, null, 2)}\n`);
    await rename(unfinished, folder).catch(async (error: unknown) => {
      // Another process was first, and its folder has the same content.
      if (!(await isComplete(folder))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

function unfinishedPrefix(folder: string): string {
  return `${folder}.download-`;
}

/** Removes downloads of dead processes, and a folder that someone partly emptied. */
async function removeLeftovers(cache: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const prefix = basename(unfinishedPrefix(folder));
  for (const name of await readdir(cache)) {
    if (!name.startsWith(prefix)) continue;
    const found = await stat(join(cache, name)).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > LEFTOVER_AGE_MS_MIN)
      await rm(join(cache, name), { recursive: true, force: true });
  }
}

async function isComplete(folder: string): Promise<boolean> {
  return stat(join(folder, MARKER)).then(
    () => true,
    () => false,
  );
}

async function lock(lockFile: string, pin: MavenPin, onProgress: (line: string) => void): Promise<void> {
  const startedAtMs = performance.now();
  let announced = false;
  while (performance.now() - startedAtMs < LOCK_WAIT_MS_MAX) {
    const taken = await writeFile(lockFile, String(process.pid), { flag: 'wx' }).then(
      () => true,
      (error: unknown) => {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw error;
      },
    );
    if (taken) return;
    const holder = await lockHolder(lockFile);
    if (holder.state === 'dead') {
      await rm(lockFile, { force: true });
      continue;
    }
    if (!announced && holder.state === 'alive') {
      onProgress(
        `Another process (${holder.pid}) is downloading ${pin.title}; waiting for it (lock file: ${lockFile}).`,
      );
      announced = true;
    }
    await sleep(LOCK_POLL_MS);
  }
  throw new EngineError(
    `Another process has been downloading ${pin.title} for too long; end it, or remove ${lockFile}.`,
  );
}

type LockHolder = { state: 'alive'; pid: number } | { state: 'unknown' } | { state: 'dead' };

async function lockHolder(lockFile: string): Promise<LockHolder> {
  const pid = Number(await readFile(lockFile, 'utf8').catch(() => ''));
  if (!Number.isInteger(pid) || pid <= 0) {
    const lockStat = await stat(lockFile).catch(() => null);
    const isOld = lockStat !== null && Date.now() - lockStat.mtimeMs > EMPTY_LOCK_AGE_MS_MAX;
    return { state: isOld ? 'dead' : 'unknown' };
  }
  try {
    process.kill(pid, 0);
    return { state: 'alive', pid };
  } catch (error) {
    // EPERM: it is alive under another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? { state: 'alive', pid } : { state: 'dead' };
  }
}
