/** An engine of one broker, as tests and the demo have it: what it offers, and how it ends. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installed } from 'payment-processor-local-kafka/cache';
import { archiveOf } from 'payment-processor-local-kafka/jvm';
import { kafkaPin, registryPin } from 'payment-processor-local-kafka/pins';
import { freePort } from 'payment-processor-local-kafka/ports';
import { startEngine, type Engine } from 'payment-processor-local-kafka/start';
import { gone, isAlive, logContains, nextJsonLine, runScript } from '../../packages/local-kafka/test/processes.ts';
import { clientOf, highOffset, makeTopic, publish } from '../../packages/local-kafka/test/topics.ts';

/** Longest until a broker that is back leads its partitions. */
const LEADER_MS_MAX = 15_000;
/** Starts of JVMs on a loaded machine. */
const START_MS_MAX = 120_000;

/** An idle broker answers within a few milliseconds. */
const PAUSE_MS = 300;

function pidsOf(engine: Engine): number[] {
  const servers = [engine.registry, ...engine.brokers.map((_, index) => engine.broker(index))];
  return servers.map((server) => server.pid).filter((pid) => pid !== null);
}

describe('an engine of one broker, in a directory of one whose parent was killed', () => {
  let directory: string;
  let engine: Engine;
  let kafka: Kafka;
  let ports: { kafkaPort: number; registryPort: number };
  const lines: string[] = [];

  beforeAll(async () => {
    ports = { kafkaPort: await freePort(), registryPort: await freePort() };
    directory = await mkdtemp(join(tmpdir(), 'engine-test-'));
    const script = runScript('hold-engine.ts', [directory]);
    const { pids } = await nextJsonLine<{ pids: number[] }>(script);
    expect(pids.map(isAlive)).toEqual([true, true]);
    script.child.kill('SIGKILL');
    // The servers die with it.
    await gone(pids);
    engine = await startEngine({ directory, ...ports, onProgress: (line) => lines.push(line) });
    kafka = clientOf(engine);
    await makeTopic(kafka, 'kept');
    await makeTopic(kafka, 'transactional');
  }, START_MS_MAX);

  afterAll(async () => {
    await engine.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('listens on the given ports and says when it is ready', () => {
    expect(engine.brokers).toEqual([`127.0.0.1:${ports.kafkaPort}`]);
    expect(engine.registryUrl).toBe(`http://127.0.0.1:${ports.registryPort}/apis/ccompat/v7`);
    expect(lines.at(-1)).toMatch(/ready/);
  });

  test('leaves archives of classes for the starts to come', async () => {
    for (const pin of [kafkaPin(), registryPin()]) {
      if (pin === null) continue;
      const jars = await installed(pin, () => undefined);
      expect((await stat(archiveOf(jars))).size).toBeGreaterThan(1_000_000);
    }
  });

  test('keeps the log of each server', async () => {
    expect(await logContains(engine.directory, 'broker-1.log', 'Kafka Server started')).toBe(true);
    expect(await logContains(engine.directory, 'registry.log', 'io.apicurio.registry')).toBe(true);
  });

  test('does not make topics that nobody created', async () => {
    await expect(
      publish(
        new Kafka({ brokers: engine.brokers, logLevel: logLevel.NOTHING, retry: { retries: 0 } }),
        'never-created',
        'x',
      ),
    ).rejects.toThrow();
  });

  test('serves transactions', async () => {
    const producer = kafka.producer({ transactionalId: 'engine-test', idempotent: true, maxInFlightRequests: 1 });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic: 'transactional', messages: [{ value: 'in a transaction' }] });
    await transaction.commit();
    await producer.disconnect();
  });

  test(
    'a broker that was killed comes back with its data, under the same address',
    async () => {
      await publish(kafka, 'kept', 'before');
      const before = await highOffset(kafka, 'kept');
      const pid = engine.broker(0).pid;
      await engine.broker(0).kill();
      expect(engine.broker(0).pid).toBeNull();
      await engine.broker(0).start();
      expect(engine.broker(0).pid).not.toBe(pid);
      // A broker that is back answers before it leads its partitions again.
      await expect
        .poll(() => highOffset(kafka, 'kept').catch((error: unknown) => String(error)), { timeout: LEADER_MS_MAX })
        .toBe(before);
    },
    START_MS_MAX,
  );

  test('a paused broker keeps silent, and answers again when it is resumed', async () => {
    engine.broker(0).pause();
    // Its threads stop one by one: on a busy machine it may still answer a request.
    let answer = Promise.resolve<unknown>(null);
    const nextAnswer = async (): Promise<unknown> => {
      answer = highOffset(kafka, 'kept');
      return Promise.race([answer, sleep(PAUSE_MS, 'silent')]);
    };
    await expect.poll(nextAnswer).toBe('silent');
    engine.broker(0).resume();
    expect(Number(await answer)).toBeGreaterThan(0);
  });

  test(
    'the registry keeps its schemas and their ids over a restart',
    async () => {
      const register = await fetch(`${engine.registryUrl}/subjects/example-value/versions`, {
        method: 'POST',
        headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
        body: JSON.stringify({ schema: JSON.stringify({ type: 'record', name: 'Example', fields: [] }) }),
      });
      const { id } = (await register.json()) as { id: number };
      await engine.registry.stop();
      await expect(fetch(`${engine.registryUrl}/subjects`)).rejects.toThrow();
      await engine.registry.start();
      const again = await fetch(`${engine.registryUrl}/schemas/ids/${id}`);
      expect(again.status).toBe(200);
      expect(((await again.json()) as { schema: string }).schema).toContain('Example');
    },
    START_MS_MAX,
  );

  test('stop ends every process in order and leaves the directory, however often it is called', async () => {
    const pids = pidsOf(engine);
    expect(pids).toHaveLength(2);
    await Promise.all([engine.stop(), engine.stop()]);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await logContains(directory, 'broker-1.log', 'shut down completed')).toBe(true);
    await expect(startEngine({ directory, brokers: 3 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  });
});
