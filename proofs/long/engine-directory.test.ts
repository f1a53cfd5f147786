/** An engine in a directory that is kept: what it takes over from one whose parent was killed, and what it leaves. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installed } from 'payment-processor-local-kafka/cache';
import { archiveOf } from 'payment-processor-local-kafka/jvm';
import { kafkaPin, registryPin } from 'payment-processor-local-kafka/pins';
import { startEngine } from 'payment-processor-local-kafka/start';
import { gone, isAlive, logContains, nextJsonLine, runScript } from '../../packages/local-kafka/test/processes.ts';

/** Starts of JVMs on a loaded machine. */
const TEST_MS_MAX = 240_000;

test(
  'the servers die with the parent; the next engine takes the directory over, and ends in order, however often it is told to',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'engine-test-'));
    const script = runScript('hold-engine.ts', [directory]);
    const { pids: killed } = await nextJsonLine<{ pids: number[] }>(script);
    expect(killed.map(isAlive)).toEqual([true, true]);
    script.child.kill('SIGKILL');
    await gone(killed);

    const engine = await startEngine({ directory });
    const pids = [engine.registry, engine.broker(0)].map(({ pid }) => pid ?? 0);
    expect(pids.map(isAlive)).toEqual([true, true]);
    // Archives of classes, for the starts to come.
    for (const pin of [kafkaPin(), registryPin()])
      if (pin !== null)
        expect((await stat(archiveOf(await installed(pin, () => undefined)))).size).toBeGreaterThan(1_000_000);
    await Promise.all([engine.stop(), engine.stop()]);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await logContains(directory, 'broker-1.log', 'shut down completed')).toBe(true);
    await expect(startEngine({ directory, brokers: 3 })).rejects.toThrow('holds a cluster of');
    await rm(directory, { recursive: true });
  },
  TEST_MS_MAX,
);
