/** One look at everything that must stay flat: each process, each store, and what the brokers have on disk. */
import { readdirSync, statSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { memoryOf } from '../bench/process-memory.ts';
import { openHandlesOf, type OpenHandles, type Ports } from './process-handles.ts';

const METRICS_MS_MAX = 5_000;
const BLOCK_BYTES = 512;
const STORE_FILE = 'data.mdb';

/** One process at one moment. What its metrics did not say, because it was starting or busy, is null. */
export interface ProcessSample extends OpenHandles {
  /** Since the run began. */
  atMs: number;
  name: string;
  pid: number;
  /** MiB, as the kernel counts them; `anonymous` are those without mapped files. */
  memory: { resident: number; anonymous: number };
  heapUsedMebibytes: number | null;
  /** Of the time since the sample before. */
  eventLoopP99Ms: number | null;
  lagMessages: number | null;
  keysRemembered: number | null;
}

/** What the processes share, at one moment. */
export interface SharedSample {
  atMs: number;
  published: number;
  answered: number;
  /** By folder of the state directory: what the store takes on disk. */
  storeMebibytes: Record<string, number>;
  /** Of all segments and indexes of the broker; null where it was not looked at. */
  kafkaMebibytes: number | null;
}

/** @returns null when the process ended meanwhile */
export async function processSample(
  name: string,
  processor: RunningProcessor,
  ports: Ports,
  atMs: number,
): Promise<ProcessSample | null> {
  try {
    const { pid } = processor;
    const { anonymous, resident } = memoryOf(pid);
    const open = openHandlesOf(pid, ports, Number(new URL(processor.httpUrl).port));
    const metrics = await metricsOf(processor);
    const heapBytes = sumOf(metrics, 'nodejs_heap_size_used_bytes');
    const lagSeconds = sumOf(metrics, 'nodejs_eventloop_lag_p99_seconds');
    return {
      atMs,
      name,
      pid,
      memory: { resident, anonymous },
      heapUsedMebibytes: heapBytes === null ? null : heapBytes / 1024 ** 2,
      eventLoopP99Ms: lagSeconds === null ? null : lagSeconds * 1_000,
      lagMessages: sumOf(metrics, 'payments_lag_messages'),
      keysRemembered: sumOf(metrics, 'payments_keys_remembered'),
      ...open,
    };
  } catch {
    return null;
  }
}

/** The sum of all series of a metric; null where there is none. */
export function sumOf(metrics: string, name: string): number | null {
  const values = metrics
    .split('\n')
    .filter((line) => line.startsWith(name) && (line[name.length] === ' ' || line[name.length] === '{'))
    .map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)))
    .filter((value) => Number.isFinite(value));
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** By folder; what is allocated, MiB. */
export function storeMebibytesOf(stateDirectory: string): Record<string, number> {
  return Object.fromEntries(
    entriesOf(stateDirectory).map(({ name }) => [
      name,
      allocatedBytes(join(stateDirectory, name, STORE_FILE)) / 1024 ** 2,
    ]),
  );
}

/** All files below the directory, MiB allocated. */
export function directoryMebibytes(directory: string): number {
  const bytesOf = (path: string): number =>
    entriesOf(path).reduce((sum, entry) => {
      const child = join(path, entry.name);
      return sum + (entry.isDirectory() ? bytesOf(child) : allocatedBytes(child));
    }, 0);
  return bytesOf(directory) / 1024 ** 2;
}

/** What has gone since its folder was listed has no entries, and takes nothing. */
function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

function allocatedBytes(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES;
}

async function metricsOf(processor: RunningProcessor): Promise<string> {
  const response = await fetch(`${processor.httpUrl}/metrics`, { signal: AbortSignal.timeout(METRICS_MS_MAX) }).catch(
    () => null,
  );
  return response?.ok === true ? response.text() : '';
}
