/**
 * A folder of its own for each process that shares a state directory: `<directory>/0`, `/1` and so on.
 *
 *   tried (the most useful first) -> claimed -> held while the process lives -> released, or abandoned when it dies
 *
 * A claim is a socket in the folder that its process listens on, under a name that is never used again. A process first
 * makes its claim and then looks for others. So of two processes at least one sees the other. A process that sees the
 * claim of a living one gives way. The socket of a killed process refuses connections, so it can be removed without a
 * race. This works between containers on one machine, where process ids mean nothing. Several machines must not share a
 * directory (LMDB itself needs a local disk).
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** More processes than this on one directory is a mistake. */
const FOLDERS_MAX = 64;
/** Rounds through all folders, for processes that start at the same moment and give way to each other. */
const ROUNDS_MAX = 20;
const ROUND_PAUSE_MS_MAX = 200;
/** A store last written this close to the newest one lacks only the end of the ledger. */
const RECENTLY_MS = 3_600_000;
/** Enough even for a stopped process (SIGSTOP): the kernel accepts connections on its behalf. */
const PROBE_MS_MAX = 1_000;
const CLAIM_PREFIX = 'claim-';
const UNREADY_PREFIX = 'new-';
/** Longest path of a socket that every system allows, in bytes. */
const SOCKET_PATH_BYTES_MAX = 100;
/** The store writes this file each time it writes applied records: its time of change says how current the store is. */
export const DATA_FILE = 'data.mdb';

/** The state directory cannot be used; the message says why. */
export class StateDirectoryError extends Error {}

export interface StateFolder {
  readonly path: string;
  /** From here on the folder may belong to another process. */
  release(): void;
}

/** @throws StateDirectoryError if the directory cannot be used, or all its folders are held */
export async function claimStateFolder(stateDirectory: string): Promise<StateFolder> {
  try {
    mkdirSync(stateDirectory, { recursive: true });
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      for (const name of candidates(stateDirectory)) {
        const path = join(stateDirectory, name);
        // Rows contain customers' data.
        mkdirSync(path, { recursive: true, mode: 0o700 });
        const claim = await claimOf(path);
        if (claim !== null) return { path, release: () => drop(claim) };
      }
      await delay(Math.random() * ROUND_PAUSE_MS_MAX);
    }
  } catch (error) {
    if (error instanceof StateDirectoryError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StateDirectoryError(`STATE_DIR ${stateDirectory} cannot be used: ${code ?? message}`, { cause: error });
  }
  throw new StateDirectoryError(`STATE_DIR ${stateDirectory}: all ${FOLDERS_MAX} folders are held by other processes`);
}

/**
 * Existing folders, the one that probably has most of the ledger first: the largest of those written recently, then the others by
 * their last write. Then folders that do not exist yet.
 */
function candidates(stateDirectory: string): string[] {
  const folders = Array.from({ length: FOLDERS_MAX }, (_, index) => {
    const file = statSync(join(stateDirectory, String(index), DATA_FILE), { throwIfNoEntry: false });
    return { name: String(index), writtenMs: file?.mtimeMs ?? 0, bytes: file?.size ?? 0 };
  });
  const recentlyMs = Math.max(...folders.map(({ writtenMs }) => writtenMs)) - RECENTLY_MS;
  const rank = folders.map((folder) => ({ ...folder, recentBytes: folder.writtenMs > recentlyMs ? folder.bytes : 0 }));
  rank.sort((left, right) => right.recentBytes - left.recentBytes || right.writtenMs - left.writtenMs);
  return rank.map(({ name }) => name);
}

interface Claim {
  readonly file: string;
  readonly server: Server;
}

/** @returns the claim; null if a living process has one on the folder too */
async function claimOf(folder: string): Promise<Claim | null> {
  const name = CLAIM_PREFIX + randomBytes(4).toString('hex');
  // Under another name until it listens: others would take a silent socket for a dead one.
  const server = await listen(join(folder, UNREADY_PREFIX + name));
  renameSync(join(folder, UNREADY_PREFIX + name), join(folder, name));
  const claim = { file: join(folder, name), server };
  for (const other of readdirSync(folder)) {
    if (!other.startsWith(CLAIM_PREFIX) || other === name) continue;
    if (await isAlive(join(folder, other))) {
      drop(claim);
      return null;
    }
    rmSync(join(folder, other), { force: true });
  }
  return claim;
}

async function listen(file: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath(file), resolve);
  });
  // A claim must not keep the process alive.
  server.unref();
  return server;
}

function drop(claim: Claim): void {
  claim.server.close();
  rmSync(claim.file, { force: true });
}

async function isAlive(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath(file));
    const settle = (alive: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(alive);
    };
    // In doubt the folder counts as taken: an extra folder costs a rebuild, sharing one would corrupt the store.
    const timer = setTimeout(() => settle(true), PROBE_MS_MAX);
    socket.once('connect', () => settle(true));
    socket.once('error', ({ code }: NodeJS.ErrnoException) => settle(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}

function socketPath(file: string): string {
  const short = relative(process.cwd(), file);
  const path = short.length < file.length ? short : file;
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX) {
    throw new StateDirectoryError(`STATE_DIR is too long: ${path} has more than ${SOCKET_PATH_BYTES_MAX} bytes`);
  }
  return path;
}
