/** A memory limit as a container runtime sets it: a control group of our own, version 1 or 2. */
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MOUNT = '/sys/fs/cgroup';
/** A group stays busy until the kernel has removed its last process. */
const REMOVAL_ATTEMPTS_MAX = 50;
const REMOVAL_PAUSE_MS = 100;

export interface MemoryLimit {
  /** A process that writes its id here is limited from then on, and so are its children. */
  readonly processesFile: string;
  /** @returns the limit according to the kernel, bytes */
  limitBytes(): Promise<number>;
  /** @returns peak use, bytes; null if the kernel does not tell */
  mostUsedBytes(): Promise<number | null>;
  remove(): Promise<void>;
}

/** @returns the limit, or why this machine cannot set one */
export async function limitMemory(bytes: number): Promise<MemoryLimit | string> {
  const groups = (await readFile('/proc/self/cgroup', 'utf8')).trim().split('\n');
  const first = groups.find((line) => line.split(':')[1] === 'memory');
  const own = (first ?? groups.find((line) => line.startsWith('0::')) ?? '').split(':')[2] ?? '/';
  const names =
    first === undefined
      ? { folder: MOUNT, limit: 'memory.max', peak: 'memory.peak' }
      : { folder: join(MOUNT, 'memory'), limit: 'memory.limit_in_bytes', peak: 'memory.max_usage_in_bytes' };
  const group = join(names.folder, own, `payments-image-${process.pid}`);
  const remove = async (): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await rmdir(group);
        return;
      } catch (error) {
        if (attempt === REMOVAL_ATTEMPTS_MAX) throw error;
        await new Promise((resolve) => setTimeout(resolve, REMOVAL_PAUSE_MS));
      }
    }
  };
  let isMade = false;
  try {
    await mkdir(group);
    isMade = true;
    await writeFile(join(group, names.limit), String(bytes));
  } catch (error) {
    if (isMade) await remove();
    return `no control group with a limit can be made: ${(error as Error).message}`;
  }
  const read = async (name: string): Promise<number> => Number(await readFile(join(group, name), 'utf8'));
  return {
    processesFile: join(group, 'cgroup.procs'),
    limitBytes: () => read(names.limit),
    mostUsedBytes: () => read(names.peak).catch(() => null),
    remove,
  };
}
