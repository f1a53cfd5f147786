/**
 * Whether we can trust the files of an earlier process. The store is written without waiting for the disk. It survives
 * the death of its process, because the system keeps written data, but not the death of its machine.
 *
 *   opening   LMDB is about to map the file; if that fails or kills the process, the file is not opened again
 *   open      in use since this boot of the machine; processes that died soon after they opened it are counted
 *   doomed    found damaged in use, or the disk did not take its last writes; the reason is kept
 *   (none)    closed properly, with everything on the disk
 *
 * LMDB maps the file, and a file that is too short would kill the process: so we check its header first.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DATA_FILE } from './state-folder.ts';

const MARK_FILE = 'stage.json';
const NEW_MARK_FILE = 'stage.json.new';
const LOCK_FILE = 'lock.mdb';
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

interface Mark {
  readonly stage: 'opening' | 'open' | 'doomed';
  /** Id of the machine's boot; null if it has none: then we trust only a store that was closed properly. */
  readonly bootId: string | null;
  readonly reason?: string;
  /** How many processes in a row died within SOON_MS of opening it. */
  readonly earlyDeaths?: number;
}

/** A damaged page can kill each process that reads it (SIGSEGV, SIGBUS): only a rebuild ends that. */
const EARLY_DEATHS_MAX = 5;
const SOON_MS = 60_000;

/** @returns why the store must be rebuilt; null: it is sound, or there is none */
export function whyUnsound(folder: string): string | null {
  if (statSync(join(folder, DATA_FILE), { throwIfNoEntry: false }) === undefined) return null;
  const mark = readMark(folder);
  if (mark !== null) {
    if (mark.stage === 'doomed') return mark.reason ?? 'it was found damaged';
    if (mark.stage === 'opening') return 'the last attempt to open it failed, or killed the process';
    const bootId = currentBootId();
    if (bootId === null || mark.bootId !== bootId) return 'it was not closed, and the machine may have restarted since';
    const deaths = earlyDeaths(folder);
    if (deaths >= EARLY_DEATHS_MAX) return `${deaths} processes in a row died soon after they opened it`;
  }
  return whyFileUnsound(join(folder, DATA_FILE));
}

/** Removes the store, but not the claim on its folder. */
export function wipe(folder: string): void {
  for (const name of [DATA_FILE, LOCK_FILE, MARK_FILE, NEW_MARK_FILE]) rmSync(join(folder, name), { force: true });
}

/** @throws errors of the file system, such as ENOSPC or EACCES */
export function markStage(folder: string, stage: Mark['stage'], reason?: string): void {
  const stageIs = { stage, bootId: currentBootId(), earlyDeaths: earlyDeaths(folder) };
  const mark: Mark = reason === undefined ? stageIs : { ...stageIs, reason };
  // A full disk must not leave an empty mark in place of the former one.
  const written = join(folder, NEW_MARK_FILE);
  writeFileSync(written, JSON.stringify(mark));
  // Synced before anything is written to the store: the mark must survive a power cut.
  sync(written);
  renameSync(written, join(folder, MARK_FILE));
  sync(folder);
}

/** The store cannot be trusted: the next start rebuilds it. Never throws. */
export function markDoomed(folder: string, reason: string): void {
  try {
    markStage(folder, 'doomed', reason);
  } catch {
    discard(folder);
  }
}

/** Not even the mark could be written, so nothing may stay that the next start would trust. */
function discard(folder: string): void {
  try {
    rmSync(join(folder, DATA_FILE), { force: true });
  } catch {
    // A disk that refuses this, too, fails the next start.
  }
}

/**
 * The store was closed; from here on it is trusted, whatever happens to the machine.
 * @throws errors of the disk. After a failed fsync the system may have dropped what it had not written: the next start
 *   rebuilds the store
 */
export function markClosed(folder: string): void {
  try {
    sync(join(folder, DATA_FILE));
  } catch (error) {
    markDoomed(folder, `fsync of its last writes failed: ${(error as Error).message}`);
    throw error;
  }
  rmSync(join(folder, MARK_FILE), { force: true });
}

/** The last process counts if it left the store open, and its last write came within SOON_MS of opening it. */
function earlyDeaths(folder: string): number {
  const mark = readMark(folder);
  if (mark?.stage !== 'open') return mark?.earlyDeaths ?? 0;
  const written = statSync(join(folder, DATA_FILE), { throwIfNoEntry: false });
  if (written === undefined) return 0;
  const lastedMs = written.mtimeMs - statSync(join(folder, MARK_FILE)).mtimeMs;
  return lastedMs > SOON_MS ? 0 : (mark.earlyDeaths ?? 0) + 1;
}

function readMark(folder: string): Mark | null {
  let text: string;
  try {
    text = readFileSync(join(folder, MARK_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return JSON.parse(text) as Mark;
  } catch {
    return { stage: 'doomed', bootId: null, reason: `its ${MARK_FILE} cannot be read` };
  }
}

function currentBootId(): string | null {
  try {
    return readFileSync(BOOT_ID_FILE, 'utf8').trim();
  } catch {
    return null;
  }
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** LMDB's data format 2: two meta pages, each with the last page of its commit. */
const META_BYTES = 256;
const MAGIC = 0xbeefc0de;
const FORMAT = 2;
const AT = { magic: 24, format: 28, pageSize: 48, lastPage: 144, transaction: 152 };
const PAGE_SIZES = [4096, 8192, 16_384, 32_768, 65_536];
const OTHER_FORMAT = `its ${DATA_FILE} is damaged, or has another format than this release reads`;

function whyFileUnsound(file: string): string | null {
  const first = readAt(file, 0);
  const pageSize = first.readUInt32LE(AT.pageSize);
  if (!isMeta(first) || !PAGE_SIZES.includes(pageSize)) return OTHER_FORMAT;
  const second = readAt(file, pageSize);
  if (!isMeta(second)) return OTHER_FORMAT;
  const last = [first, second].sort(
    (left, right) => Number(right.readBigUInt64LE(AT.transaction)) - Number(left.readBigUInt64LE(AT.transaction)),
  )[0];
  const wantedBytes = (Number((last ?? first).readBigUInt64LE(AT.lastPage)) + 1) * pageSize;
  const bytes = statSync(file).size;
  return bytes < wantedBytes ? `its ${DATA_FILE} has ${bytes} of ${wantedBytes} bytes` : null;
}

function isMeta(page: Buffer): boolean {
  return page.readUInt32LE(AT.magic) === MAGIC && (page.readUInt32LE(AT.format) & 0xffff) === FORMAT;
}

function readAt(file: string, position: number): Buffer {
  const page = Buffer.alloc(META_BYTES);
  const descriptor = openSync(file, 'r');
  try {
    readSync(descriptor, page, 0, META_BYTES, position);
  } finally {
    closeSync(descriptor);
  }
  return page;
}
