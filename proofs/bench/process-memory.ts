/** What the kernel says of a process's memory. */
import { readFileSync } from 'node:fs';

/** What a processor may take at most while it is poisoned, MiB: batches of 64 MiB are decompressed, and the store's pages count. */
export const POISONED_MIB_MAX = 500;

/** Resident memory of a process as the kernel counts it, MiB; pages of mapped files can be taken back at any time. */
export interface Memory {
  residentMax: number;
  resident: number;
  anonymous: number;
}

/** @throws when the process has ended */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) / 1024);
  return {
    residentMax: mebibytes('VmHWM'),
    resident: mebibytes('VmRSS'),
    anonymous: mebibytes('RssAnon'),
  };
}
