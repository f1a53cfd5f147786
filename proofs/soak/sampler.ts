/** Looks every ten seconds at everything that must stay flat: each process, each store, and what the brokers have on disk. */
import { readdirSync, readlinkSync, statSync, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tcpSockets } from '../../test/support/held-connections.ts';
import type { RunningProcessor } from '../../test/support/processor.ts';
import { memoryOf } from '../bench/process-memory.ts';
import type { Member } from '../chaos/fleet.ts';
import { Series } from './flatness.ts';

const SAMPLE_MS = 10_000;
/** Walking through thousands of segments takes a while. */
const KAFKA_SAMPLE_EVERY = 6;
const METRICS_MS_MAX = 5_000;
const BLOCK_BYTES = 512;
const MEBIBYTE = 1024 ** 2;

export interface Sampled {
  readonly members: readonly Member[];
  readonly kafkaPorts: ReadonlySet<number>;
  readonly servicePort: number;
  readonly stateDirectory: string;
  readonly kafkaDirectory: string;
}

/** @returns once it is aborted */
export async function sampled(of: Sampled, end: AbortSignal): Promise<Series> {
  const series = new Series();
  const beganMs = performance.now();
  for (let look = 0; !end.aborted; look += 1) {
    const atMs = Math.round(performance.now() - beganMs);
    // Of a process that ends meanwhile nothing is known.
    await Promise.all(of.members.map((member) => lookAt(member, of, series, atMs).catch(() => undefined)));
    for (const { name } of entriesOf(of.stateDirectory)) {
      const bytes = allocatedBytes(join(of.stateDirectory, name, 'data.mdb'));
      series.add('store on disk, MiB', `store ${name}`, atMs, bytes / MEBIBYTE);
    }
    if (look % KAFKA_SAMPLE_EVERY === 0)
      series.add('Kafka on disk at its peak, MiB', 'Kafka', atMs, bytesBelow(of.kafkaDirectory) / MEBIBYTE);
    const dueMs = beganMs + (look + 1) * SAMPLE_MS;
    await delay(Math.max(0, dueMs - performance.now()), undefined, { signal: end }).catch(() => undefined);
  }
  return series;
}

async function lookAt(
  { name, processor }: Member,
  { kafkaPorts, servicePort }: Sampled,
  series: Series,
  atMs: number,
): Promise<void> {
  const { anonymous, resident } = memoryOf(processor.pid);
  series.add('memory without mapped files, MiB', name, atMs, anonymous);
  series.add('memory with mapped files, MiB', name, atMs, resident);
  const handles = handlesOf(processor.pid);
  const inodes = new Set(handles.flatMap((handle) => /^socket:\[(\d+)\]$/.exec(handle)?.[1] ?? []));
  const ports = tcpSockets().flatMap(({ inode, remotePort }) => (inodes.has(inode) ? [remotePort] : []));
  const toKafka = ports.filter((port) => kafkaPorts.has(port)).length;
  const toService = ports.filter((port) => port === servicePort).length;
  series.add('handles but sockets', name, atMs, handles.length - inodes.size);
  series.add('connections to Kafka', name, atMs, toKafka);
  series.add('connections to the service', name, atMs, toService);
  series.add('other sockets', name, atMs, inodes.size - toKafka - toService);
  const metrics = await metricsOf(processor);
  const scaled = (metric: string, factor: number): number | null => {
    const sum = sumOf(metrics, metric);
    return sum === null ? null : sum * factor;
  };
  series.add('heap once collected, MiB', name, atMs, scaled('nodejs_heap_size_used_bytes', 1 / MEBIBYTE));
  series.add('event loop, 99th percentile, ms', name, atMs, scaled('nodejs_eventloop_lag_p99_seconds', 1_000));
  // A process that is catching up has not all of them yet.
  if (sumOf(metrics, 'payments_lag_messages') !== null)
    series.add('keys remembered', 'both processes', atMs, sumOf(metrics, 'payments_keys_remembered'));
}

/** The sum of all series of a metric; null where there is none. */
export function sumOf(metrics: string, name: string): number | null {
  const values = [...metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))].map(([, value]) =>
    Number(value),
  );
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** What a process has open, as links. */
function handlesOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))];
    } catch {
      // Closed since it was listed.
      return [];
    }
  });
}

function bytesBelow(directory: string): number {
  return entriesOf(directory).reduce((sum, entry) => {
    const path = join(directory, entry.name);
    return sum + (entry.isDirectory() ? bytesBelow(path) : allocatedBytes(path));
  }, 0);
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

async function metricsOf({ httpUrl }: RunningProcessor): Promise<string> {
  const signal = AbortSignal.timeout(METRICS_MS_MAX);
  return fetch(`${httpUrl}/metrics`, { signal }).then(
    (response) => (response.ok ? response.text() : ''),
    () => '',
  );
}
