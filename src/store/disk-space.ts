/** The disk of STATE_DIR: what is used, and whether it is full. */
import { statfsSync, statSync } from 'node:fs';

/** Bytes on the file system of STATE_DIR; the used bytes include the store's. */
export interface DiskUse {
  readonly freeBytes: number;
  readonly usedBytes: number;
  readonly storeBytes: number;
}

/** With less free space than this, a failure counts as a full disk: the largest batch may need more. */
const FREE_BYTES_MIN = 8 * 1024 * 1024;
/** POSIX counts a file's disk usage in units of this size, whatever the file system's own blocks are. */
const STAT_BLOCK_BYTES = 512;

export function diskUse(storeFile: string): DiskUse {
  const { bavail, bfree, blocks, bsize } = statfsSync(storeFile);
  const storeBytes = statSync(storeFile).blocks * STAT_BLOCK_BYTES;
  return { freeBytes: bavail * bsize, usedBytes: (blocks - bfree) * bsize, storeBytes };
}

export function isDiskFull(folder: string): boolean {
  return freeBytes(folder) < FREE_BYTES_MIN;
}

/** What an operator reads of a full disk. */
export function noSpace(folder: string, message: string): string {
  const left = `the file system of STATE_DIR has ${freeBytes(folder)} bytes left (${message})`;
  return `no space is left: ${left}. Enlarge the volume (store.size of the chart) or free space on it, then start again`;
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
